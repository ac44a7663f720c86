"""Every format with every kind of turn: read from its wire, answered by a real engine, written by its SDK's types."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import surehand as sh
from surehand.agent.history import Answer, History, Turn
from surehand.agent.images import with_images
from surehand.providers import CallResult, Export, Message, ModelTurn, ResultMessage, UserMessage
from surehand.schema.keywords import walk
from surehand.spec.places import follow
from surehand.testing.dialect_wire import WireFormat, WrittenCall, spec_of, view_of
from tests.providers.accepting import ACCEPTED
from tests.providers.test_contract import WIRES

pytestmark = pytest.mark.timeout(120)
ANN = sh.Caller(id="ann", tenant="acme")
PNG = base64.b64decode("iVBORw0KGgo=")
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["name", "kids"],
        }
    },
}
GO = UserMessage(content="go")


@sh.tool(read_only=True)
async def look(n: int = 0) -> str:
    """Looks."""
    return f"seen {n}"


@sh.tool(read_only=True)
async def boom(n: int = 0) -> str:
    """Fails."""
    raise sh.BusinessError("the shelf is empty")


@sh.tool(read_only=True)
async def blank(n: int = 0) -> str:
    """Says nothing."""
    return ""


@sh.tool(read_only=True)
async def chart(n: int = 0) -> sh.Output:
    """Draws."""
    return sh.Output(text="a chart", attachments=(sh.Attachment(body=PNG, media_type="image/png"),))


DENY = sh.PolicySource(
    "deny.cedar",
    '@id("no") @reason("not today") forbid (principal, action == Action::"call/look", resource) '
    "when { context.arguments has n && context.arguments.n == 13 };",
)
SCENARIOS: dict[str, tuple[tuple[tuple[str, str], ...], tuple[str, ...], tuple[bool, ...]]] = {
    "no tool": ((), (), ()),
    "one call": ((("look", '{"n":1}'),), ("seen 1",), (False,)),
    "two at once": ((("look", '{"n":1}'), ("look", '{"n":2}')), ("seen 1", "seen 2"), (False, False)),
    "denied": ((("look", '{"n":13}'),), ("not today",), (True,)),
    "error": ((("boom", "{}"), ("look", '{"n":2}')), ("the shelf is empty", "seen 2"), (True, False)),
    "image": ((("chart", "{}"), ("look", '{"n":2}')), ("a chart", "seen 2"), (False, False)),
    "nothing": ((("blank", "{}"),), ("(empty)",), (False,)),
}
"""What the model calls, what each result says, and whether it is an error."""


@pytest.fixture(params=WIRES, ids=lambda wire: wire.dialect.profile.name)
def wire(request: pytest.FixtureRequest) -> WireFormat:
    """Every format."""
    return request.param


def accepted(wire: WireFormat, messages: list[Message], export: Export) -> Mapping[str, Any]:
    """The request that comes of a conversation, as the SDK takes it; the same once more."""
    request = wire.dialect.request(messages, export)
    ACCEPTED[wire.dialect.profile.name](request)
    assert str(wire.dialect.request(messages, export)) == str(request)
    return request


async def answered(engine: sh.Engine, turn: ModelTurn, view: sh.ToolView) -> list[Message]:
    """The conversation after a turn, with the results that the engine gives, as a run tells them."""
    results = await engine.call_many(list(turn.calls), ANN)
    history = History([GO])
    pins = {entry.name: entry.version for entry in view.tools}
    answer = Answer(model=turn, pins=pins, left=())
    history.turns.append(Turn(answer, view.digest, list(results), 0.0))
    return await with_images(engine, ANN, history.messages())


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_turn_and_its_results(wire: WireFormat, name: str) -> None:
    calls, says, failed = SCENARIOS[name]
    tools = [look, boom, blank, chart] if calls else []
    async with sh.open_engine(store="sqlite://", tools=tools, policies=[DENY] if calls else []) as engine:
        view = await engine.view(ANN)
        export = wire.dialect.export(view)
        accepted(wire, [GO], export)
        written = [
            WrittenCall(f"call0000{n}" if wire.dialect.profile.ids else "", tool, arguments)
            for n, (tool, arguments) in enumerate(calls)
        ]
        response = wire.response("" if calls else "Hello.", written, wire.words["tool_calls" if calls else "stop"])
        turn = wire.dialect.decode(response, export)
        fold = wire.dialect.fold(export)
        for event in wire.stream(response, list):
            fold.feed(event)
        assert fold.end() == turn
        assert [call.name for call in turn.calls] == [tool for tool, _ in calls]
        messages = await answered(engine, turn, view)
        request = accepted(wire, [*messages, UserMessage(content="and now?")], export)
        results = wire.results(request)
        assert [one.id for one in results] == [call.id for call in wire.calls(request)]
        assert [call.arguments for call in wire.calls(request)] == [json.loads(arguments) for _, arguments in calls]
        assert [says[n] in str(one.content) for n, one in enumerate(results)] == [True] * len(says)
        told = messages[-1]
        errors = [one.is_error for one in told.results] if isinstance(told, ResultMessage) else []
        assert errors == list(failed)


async def test_C58_an_image_is_never_text(wire: WireFormat) -> None:
    """It is an image where the provider takes one, told of where it does not, and sent once."""
    async with sh.open_engine(store="sqlite://", tools=[chart]) as engine:
        view = await engine.view(ANN)
        export = wire.dialect.export(view)
        call_id = "call00001" if wire.dialect.profile.ids else ""
        response = wire.response("", [WrittenCall(call_id, "chart")], wire.words["tool_calls"])
        request = accepted(wire, await answered(engine, wire.dialect.decode(response, export), view), export)
    texts = [text for text in _texts(request) if "iVBORw0KGgo=" in text]
    shown = [text for text in texts if text in ("iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgo=")]
    sent = shown or [one for one in _bytes(request) if one == PNG]
    assert texts == shown
    assert len(sent) == (0 if wire.dialect.profile.images == "none" else 1)
    assert bool(sent) is not ("cannot be shown" in str(request))


def _texts(value: Any) -> list[str]:
    return [one for one in _leaves(value) if isinstance(one, str)]


def _bytes(value: Any) -> list[bytes]:
    return [one for one in _leaves(value) if isinstance(one, bytes)]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one)]  # pyright: ignore[reportUnknownVariableType]
    return [value]


def test_a_view_of_100_tools(wire: WireFormat) -> None:
    names = [f"shop.item-{n:03}" for n in range(100)]
    export = wire.dialect.export(view_of(*map(spec_of, names)))
    accepted(wire, [GO], export)
    assert len(wire.tools(export)) == len(export) == 100
    assert sorted(export.wire_names.values()) == names


@pytest.mark.parametrize("strict", [False, True])
def test_a_schema_that_refers_to_itself(wire: WireFormat, strict: bool) -> None:
    """C02: every reference of the export leads somewhere in it, and the other tool is as if it were alone."""
    export = wire.dialect.export(view_of(spec_of("plant", TREE), spec_of("ping")), strict=strict)
    accepted(wire, [GO], export)
    ping, plant = sorted(wire.tools(export), key=lambda tool: tool.name)
    nodes = [node for _, node in walk(plant.parameters)]
    references = [node["$ref"] for node in nodes if "$ref" in node]
    assert all(follow(plant.parameters, one) is not None for one in references)
    assert bool(references) is (wire.dialect.profile.schema == "json-schema")
    alone = wire.tools(wire.dialect.export(view_of(spec_of("ping")), strict=strict))
    strictly = wire.dialect.profile.strict_by_tool or not strict
    assert not strictly or [ping] == alone
    assert not strict or export.verdicts.keys() == {"plant", "ping"}


def test_strict_mode_is_said_or_its_absence(wire: WireFormat) -> None:
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    export = wire.dialect.export(view_of(spec_of("read", closed)), strict=True)
    accepted(wire, [GO], export)
    has_strict = wire.dialect.profile.strict is not None
    assert export.verdicts == {"read": "lossless" if has_strict else "unsupported"}
    assert [tool.strict for tool in wire.tools(export)] == [has_strict]


@pytest.mark.parametrize("other", WIRES, ids=lambda wire: wire.dialect.profile.name)
async def test_a_run_may_change_its_provider(wire: WireFormat, other: WireFormat) -> None:
    """A turn of one, with a result, goes to any other: its calls and results, and nothing that is only its own."""
    view = view_of(spec_of("read"))
    export = wire.dialect.export(view)
    written = [WrittenCall("call00001" if wire.dialect.profile.ids else "", "read", "{}")]
    turn = wire.dialect.decode(wire.response("Hm.", written, wire.words["tool_calls"]), export)
    results = ResultMessage(results=(CallResult(tool_call_id=turn.calls[0].id, content="done"),))
    request = accepted(other, [GO, turn, results], other.dialect.export(view))
    assert [(one.name, one.arguments) for one in other.calls(request)] == [("read", {})]
    assert [one.content for one in other.results(request)] == ["done"]


def test_every_format_is_here() -> None:
    from surehand.providers import FORMATS, PROVIDERS

    names = {wire.dialect.profile.name for wire in WIRES}
    assert names == set(ACCEPTED)
    kinds: set[Callable[..., Any]] = {type(PROVIDERS[name]) for name in names}
    assert kinds == set(FORMATS.values())
