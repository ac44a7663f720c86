"""What applications pass to the engine's faces: a wrong argument is named, before anything is done."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from ..errors import ConfigError
from ..types import Caller

T = TypeVar("T")
LIMIT_MAX: Final = 1_000_000
_KINDS: Final[Mapping[str, tuple[type | tuple[type, ...], str]]] = {
    "str": (str, "a string"),
    "str | None": ((str, type(None)), "a string, or None"),
    "bool": (bool, "True or False"),
    "Caller": (Caller, "a Caller"),
}
"""Annotation -> what is meant, and its words. What else there is, the methods check themselves."""


def checked(face: type[T]) -> type[T]:
    """A class whose public async methods refuse arguments that are not what their annotations say.

    Raises:
        ConfigError: Out of each of these methods: a string, a flag or a caller is none, `limit` is no whole number from
            0 to 1,000,000, or one string stands where several are meant.
    """
    for name, method in list(vars(face).items()):
        if not name.startswith("_") and inspect.iscoroutinefunction(method):
            setattr(face, name, checking(method))
    return face


def checking(method: Callable[..., Awaitable[T]]) -> Callable[..., Any]:
    """One such method."""
    signature = inspect.signature(method)
    annotations = {name: str(one.annotation) for name, one in signature.parameters.items()}

    @functools.wraps(method)
    async def check(*args: Any, **kwargs: Any) -> T:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            wanted = _wanted(name, annotations[name], value)
            if wanted:
                raise ConfigError(f"{method.__name__}: {name} must be {wanted}, not {value!r:.80}")
        return await method(*args, **kwargs)

    return check


def _wanted(name: str, annotation: str, value: Any) -> str:
    """What an argument should have been; empty if it is that."""
    if name == "limit":
        whole = isinstance(value, int) and not isinstance(value, bool)
        return "" if whole and 0 <= value <= LIMIT_MAX else f"a whole number from 0 to {LIMIT_MAX:,}"
    if annotation == "Iterable[str]":
        return "several strings, such as a list" if isinstance(value, str) else ""
    kind, words = _KINDS.get(annotation, (object, ""))
    return "" if isinstance(value, kind) else words
