"""What the model of a run may do with its tools."""

from typing import Any

import surehand as sh
from surehand.testing import ScriptedModel

ANN = sh.Caller(id="ann", tenant="acme")


@sh.tool(read_only=True)
async def read() -> str:
    """Reads it."""
    return "read"


async def run(choice: sh.Choice, *steps: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The requests that the model got, and how the run ended."""
    model = ScriptedModel(list(steps))
    async with sh.open_engine(store="sqlite://", tools=[read]) as engine:
        events = [one async for one in sh.run(engine, model=model, caller=ANN, messages=["go"], choice=choice)]
    return [dict(one) for one in model.requests], events[-1].data


async def test_the_mode_is_for_the_first_answer_and_the_rest_for_all() -> None:
    choice = sh.Choice(mode="required", parallel=False)
    requests, end = await run(choice, {"calls": [{"name": "read"}]}, {"text": "done"})
    assert end["reason"] == "completed"
    assert [one.get("tool_choice") for one in requests] == ["required", None]
    assert [one["parallel_tool_calls"] for one in requests] == [False, False]


async def test_what_the_provider_cannot_be_told_ends_the_run_before_it_is_asked() -> None:
    requests, end = await run(sh.Choice(mode="one", tool="write"), {"text": "done"})
    assert requests == []
    assert end["reason"] == "failed"
    assert end["why"] == "the model cannot be told to call 'write': it is not among the tools of the request"
    assert end["resumable"] is False
