"""Images that a tool gave, as the model of a run is shown them."""

import base64
import json

import surehand as sh
from surehand.agent.images import REQUEST_BYTES
from surehand.testing import ScriptedModel

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@sh.tool(read_only=True)
async def chart(size: int = 1) -> sh.Output:
    """Draws the sales of a month."""
    return sh.Output(text="a chart", attachments=(sh.Attachment(body=PNG * size, media_type="image/png"),))


async def told(size: int, *, turns: int = 1) -> str:
    """What the model reads in its last request, as text."""
    steps = [{"calls": [{"name": "chart", "arguments": {"size": size + i}}]} for i in range(turns)]
    model = ScriptedModel([*steps, {"text": "done"}])
    caller = sh.Caller(id="ann", tenant="acme")
    async with sh.open_engine(store="sqlite://", tools=[chart]) as engine:
        events = [one async for one in sh.run(engine, model=model, caller=caller, messages=["draw"])]
    assert events[-1].data["reason"] == "completed", events[-1]
    return json.dumps(model.requests[-1])


async def test_an_image_is_shown_and_never_as_text() -> None:
    request = await told(1)
    assert f"data:image/png;base64,{base64.b64encode(PNG).decode()}" in request
    assert "cannot be shown" not in request


async def test_images_beyond_what_a_request_may_hold_are_told_of() -> None:
    size = REQUEST_BYTES * 6 // 10 // len(PNG)
    request = await told(size, turns=2)
    assert request.count("data:image/png;base64,") == 1
    assert base64.b64encode(PNG * (size + 1)).decode() in request  # the newest
    assert "[There is an image here that cannot be shown to you: image/png, kept as artifact " in request
