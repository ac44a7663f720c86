"""What a rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import msgspec

from ..schema.keywords import Schema, pointer, walk
from ..spec import ToolSpec

Severity: TypeAlias = Literal["error", "warning"]
"""`error`: it misleads or cannot be used. `warning`: it makes a wrong call likelier."""

_NODES_MAX: Final = 5_000


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that one rule says of one contract."""

    rule: str
    severity: Severity
    tool: str
    """`name@version`."""
    where: str
    """Such as `description` or `parameters/properties/amount`."""
    text: str
    """What is wrong and what to write; what it quotes is escaped."""


class Problem(NamedTuple):
    """What a rule says, before its name is put on it."""

    where: str
    text: str


Check: TypeAlias = Callable[[ToolSpec, Sequence[ToolSpec]], Iterator[Problem]]
"""Looks at one contract, among all that are linted together."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    id: str
    severity: Severity
    text: str
    """What it asks for."""
    check: Check


def schemas(spec: ToolSpec) -> Iterator[tuple[str, str, Schema]]:
    """Every schema of the arguments: where it is, the name of the property that it is of, and the schema."""
    for count, (path, node) in enumerate(walk(dict(spec.parameters))):
        if count >= _NODES_MAX:
            return
        named = [str(path[at + 1]) for at in range(len(path) - 1) if path[at] == "properties"]
        yield f"parameters/{pointer(path)}" if path else "parameters", named[-1] if named else "", node


def texts(spec: ToolSpec) -> Iterator[tuple[str, str]]:
    """Every text of a contract that a model or a person reads, with its place."""
    yield "description", spec.description
    yield from (("display", one) for one in (spec.display,) if one)
    yield from (("owner", one) for one in (spec.owner,) if one)
    yield from (("tags", one) for one in spec.tags)
    seen: set[str] = set()
    for name, schema in (("parameters", spec.parameters), ("output_schema", spec.output_schema or {})):
        for where, text in _strings(schema, name):
            if text not in seen:
                seen.add(text)
                yield where, text


def _strings(root: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every name and text in a schema, whatever keyword it is under: a model may be shown them all."""
    waiting: list[tuple[str, Any]] = [(name, root)]
    for _ in range(_NODES_MAX):
        if not waiting:
            return
        where, value = waiting.pop()
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, Mapping):
            items = [(f"{where}/{pointer((key,))}", key, one) for key, one in cast("Mapping[str, Any]", value).items()]
            yield from ((place, key) for place, key, _ in items)
            waiting += reversed([(place, one) for place, _, one in items])
        elif isinstance(value, list | tuple):
            waiting += reversed([(where, one) for one in cast("list[Any]", value)])
