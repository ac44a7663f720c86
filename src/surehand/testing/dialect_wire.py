"""How a provider says things: what `DialectContract` needs to know, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from ..providers import Dialect, Export
from ..spec import ToolSpec
from ..spec.hashes import content_hash
from ..view import ToolView, ViewEntry

Cut: TypeAlias = Callable[[str], list[str]]
"""Cuts a text into pieces."""


class WrittenCall(msgspec.Struct, frozen=True):
    """A call as a model writes it."""

    id: str
    """Left out by a provider whose calls have none: `Profile.ids`."""
    name: str
    arguments: str = "{}"
    """JSON text; a provider that sends objects sends this one."""


class SentCall(msgspec.Struct, frozen=True):
    """A call in a request."""

    id: str
    name: str
    arguments: Any
    """As JSON, parsed from where the provider keeps text."""


class SentResult(msgspec.Struct, frozen=True):
    """A result in a request."""

    id: str
    content: str


class SentTool(msgspec.Struct, frozen=True):
    """A tool in an export."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool


class WireFormat(Protocol):
    """How a provider says what the suite needs."""

    dialect: Dialect
    words: Mapping[str, str]
    """The provider's words for `stop`, `tool_calls`, `length`, and where it has one, `content_filter`."""

    def response(self, text: str, calls: Sequence[WrittenCall], stop: str) -> dict[str, Any]:
        """A whole response."""
        ...

    def stream(self, response: Mapping[str, Any], cut: Cut) -> list[dict[str, Any]]:
        """The events of the same response; `cut` is asked how to cut each text that is streamed."""
        ...

    def tools(self, export: Export) -> list[SentTool]:
        """The tools of an export."""
        ...

    def assistants(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The model's messages in a request."""
        ...

    def calls(self, request: Mapping[str, Any]) -> list[SentCall]:
        """The calls in a request, in order."""
        ...

    def results(self, request: Mapping[str, Any]) -> list[SentResult]:
        """The results in a request, in order, each after its call and before any other message."""
        ...


def view_of(*specs: ToolSpec) -> ToolView:
    """A view of contracts, as a caller would see them."""
    ordered = sorted(specs, key=lambda spec: spec.name)
    return ToolView(
        tools=tuple(ViewEntry(spec=spec) for spec in ordered),
        hidden={},
        digest=content_hash([[spec.id, spec.contract_hash] for spec in ordered]),
    )


def spec_of(name: str, parameters: dict[str, Any] | None = None, description: str = "Does it.") -> ToolSpec:
    """A contract."""
    schema: dict[str, Any] = {"type": "object", "properties": {}} if parameters is None else parameters
    return ToolSpec(name=name, description=description, parameters=schema, read_only=True)


BOX: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tag": {"type": "string"},
        "box": {"type": "object", "properties": {"w": {"type": "integer"}}},
    },
    "required": ["tag"],
    "additionalProperties": True,
}
MAP: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"counts": {"type": "object", "additionalProperties": {"type": "integer"}}},
}
EITHER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"ws": {"type": "string"}},
    "required": ["ws"],
    "anyOf": [
        {"properties": {"text": {"type": "string"}}, "required": ["text"]},
        {"properties": {"url": {"type": "string"}}, "required": ["url"]},
    ],
}
COMBINATORS: Final = {"anyOf", "oneOf", "allOf"}
STREAMED: Final[tuple[tuple[str, tuple[WrittenCall, ...]], ...]] = (
    ("Just text, über alles 🎈.", ()),
    ("", (WrittenCall("c1", "read", '{"path":"a\\"}b","n":[1,2.5,null]}'),)),
    ("Both: ", (WrittenCall("c1", "read", '{"path":"x"}'), WrittenCall("c2", "list_all", "{}"))),
    ("", tuple(WrittenCall(f"c{i}", "read", f'{{"i":{i}}}') for i in range(5))),
)
