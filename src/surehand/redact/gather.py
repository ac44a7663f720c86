"""Finds the values at the secret places of a call's arguments, so that they can be known everywhere else."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast, runtime_checkable

import msgspec

from .names import is_secret_name
from .schemas import Schema, SchemaSecrets, hides

MAX_SECRETS = 1000
MAX_INT_BITS = 10_000
"""Python refuses to write out much more."""
_Here = tuple[Schema, ...]


@runtime_checkable
class Concealed(Protocol):
    """A value that is only shown when asked for, as `surehand.secrets.Secret` is."""

    def reveal(self) -> str:
        """The value itself."""
        ...


class Gather:
    """One pass over one call's arguments. Follows the same rules as redaction does, without its recursion."""

    def __init__(self, schema: SchemaSecrets | None, *, names: bool) -> None:
        self._schema = schema
        self._names = names

    def from_(self, arguments: Mapping[str, Any], start: _Here) -> list[str]:
        """The secret values, each once, in no order."""
        found: dict[str, None] = {}
        # Value, what the schema says of it, and whether it is below a secret place, or below a secret's name.
        waiting: list[tuple[Any, _Here, bool, bool]] = [(arguments, start, False, False)]
        while waiting:
            value, here, secret, named = waiting.pop()
            secret = secret or (bool(here) and hides(here, value))
            if isinstance(value, Mapping):
                for name, member in cast("Mapping[Any, Any]", value).items():
                    below = self._below(here, secret, str(name))
                    waiting.append((member, below, secret, named or (self._names and is_secret_name(str(name)))))
            elif isinstance(value, list | tuple):
                for index, member in enumerate(cast("list[Any]", value)):
                    waiting.append((member, self._below(here, secret, index), secret, named))
            else:
                found |= dict.fromkeys(_leaf(value, secret, named))
        return list(found) if len(found) <= MAX_SECRETS else heapq.nlargest(MAX_SECRETS, found, key=len)

    def _below(self, here: _Here, secret: bool, place: str | int) -> _Here:
        if secret or not here or self._schema is None:
            return ()
        if isinstance(place, int):
            return self._schema.item(here, place)
        return self._schema.property(here, place)


def _leaf(value: Any, secret: bool, named: bool) -> Iterable[str]:
    if isinstance(value, str):
        return (value,) if secret or named else ()
    if value is None or isinstance(value, bool):
        return ()
    if isinstance(value, float):
        return _numbers(value) if secret else ()
    if isinstance(value, int):
        return (str(value),) if secret and value.bit_length() < MAX_INT_BITS else ()
    return (value.reveal(),) if isinstance(value, Concealed) else ()


def _numbers(value: float) -> Iterable[str]:
    """As Python writes it, as JSON does, and without a point where it is whole."""
    yield repr(value)
    yield msgspec.json.encode(value).decode()
    if value.is_integer():
        yield str(int(value))
