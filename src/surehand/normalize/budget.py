"""How much of what a handler returned is looked at, and how much of it is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from ..redact import clean_text


class Unwritable(ValueError):
    """A value that is too large or has no form in JSON. The message ends "its output was withheld: ..."."""


class Budget:
    """What is left of a walk over one value."""

    __slots__ = ("_limit_bytes", "_limit_nodes", "bytes", "nodes", "not_finite")

    def __init__(self, limit_nodes: int, limit_bytes: int) -> None:
        self._limit_nodes = self.nodes = limit_nodes
        self._limit_bytes = self.bytes = limit_bytes
        self.not_finite = False
        """Whether a NaN or an infinity was met."""

    def copy(self) -> Budget:
        """The same budget, to be spent apart from this one."""
        other = Budget(self._limit_nodes, self._limit_bytes)
        other.nodes, other.bytes = self.nodes, self.bytes
        return other

    def node(self) -> None:
        """Counts one value.

        Raises:
            Unwritable: There are too many.
        """
        self.nodes -= 1
        if self.nodes < 0:
            raise Unwritable(f"it is larger than {self._limit_nodes} values")

    def room(self, count: int) -> None:
        """Looks ahead: as many values are to come.

        Raises:
            Unwritable: There are too many.
        """
        if count > self.nodes:
            raise Unwritable(f"it is larger than {self._limit_nodes} values")

    def take(self, size: int, *, but_room_for: int = 0) -> None:
        """Counts bytes, or looks ahead at them.

        Raises:
            Unwritable: There are too many.
        """
        self.bytes -= size
        if self.bytes < but_room_for:
            raise Unwritable(f"it is larger than {self._limit_bytes} bytes")

    def text(self, text: str) -> str:
        """Counts and cleans a text.

        Raises:
            Unwritable: It is too long.
        """
        if text.__class__ is not str:
            text = str.__str__(text)
        if text.isascii():
            self.take(len(text))
        else:
            self.take(0, but_room_for=len(text))
            self.take(len(text.encode("utf-8", "surrogatepass")))
        return clean_text(text)

    def encoded(self, value: Any) -> str:
        """A JSON value as text; its parts were counted already.

        Raises:
            Unwritable: Written out, it is longer than all of it may be.
        """
        text = msgspec.json.encode(value)
        if len(text) > self._limit_bytes:
            raise Unwritable(f"it is larger than {self._limit_bytes} bytes")
        return text.decode()


def measure(value: Any, budget: Budget) -> None:
    """Looks whether a value may fit, without making anything of it: what writes it out knows no limits.

    Raises:
        Unwritable: It does not.
    """
    left = budget.copy()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str | bytes | bytearray):
            left.take(len(item))
        elif isinstance(item, Iterator):
            raise Unwritable("it holds an iterator; make a list of it")
        else:
            # Counted when they are found, so that what waits is bounded too.
            for part in _inside(item):
                left.node()
                waiting.append(part)


def _inside(item: Any) -> Iterable[Any]:
    """What a container or a record holds; of any other object nothing."""
    if item is None or isinstance(item, int | float):
        return ()
    if isinstance(item, Mapping):
        return (part for pair in cast("Mapping[Any, Any]", item).items() for part in pair)
    if isinstance(item, list | tuple | set | frozenset):
        return cast("list[Any]", item)
    if isinstance(item, msgspec.Struct):
        return (getattr(item, name) for name in item.__struct_fields__)
    if isinstance(item, type):
        return ()
    if dataclasses.is_dataclass(item):
        return (getattr(item, field.name, None) for field in dataclasses.fields(item))
    if hasattr(item, "model_dump"):
        return (cast("dict[str, Any]", vars(item)), getattr(item, "__pydantic_extra__", None))
    return ()
