"""Names: of tools, unique and the same at each import; of arguments, which models may write."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

MAX_CHARS: Final = 64
"""The shortest limit among providers."""
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_]+")


def tool_names(source: str, operations: Sequence[tuple[str, str, str]]) -> list[str]:
    """A name for each operation: `SOURCE_operationId`.

    An id that is missing becomes method and path. Where names are too long or would look the same, all of them get a
    hash of method and path: no order of the description and no other operation decides whose name it is.

    Args:
        source: What the source is called.
        operations: `(operation id, method, path)`; method and path together are unique.
    """
    bases = [_base(source, *one) for one in operations]
    digits = [0 if len(base) <= MAX_CHARS else 8 for base in bases]
    while True:
        names = [_name(*given) for given in zip(bases, operations, digits, strict=True)]
        seen = Counter(name.casefold() for name in names)
        if all(count == 1 for count in seen.values()):
            return names
        digits = [count + 8 if seen[name.casefold()] > 1 else count for name, count in zip(names, digits, strict=True)]


def _base(source: str, operation_id: str, method: str, path: str) -> str:
    written = _fitted(operation_id) or _fitted(f"{method} {path}") or method
    return f"{source}_{written}"


def _name(base: str, operation: tuple[str, str, str], digits: int) -> str:
    if not digits:
        return base
    _, method, path = operation
    tail = hashlib.sha256(f"{method} {path}".encode("utf-8", "surrogatepass")).hexdigest()[: min(digits, 24)]
    return f"{base[: MAX_CHARS - len(tail) - 1].rstrip('_')}_{tail}"


def _fitted(written: str) -> str:
    return _UNFIT.sub("_", written).strip("_")


def argument_names(parameters: Iterable[tuple[str, str]], taken: str = "") -> list[str]:
    """A name for each parameter: its own, with its place behind it where several would have the same.

    Args:
        parameters: `(name, place)`, such as `("id", "path")`; unique together.
        taken: The name of the body's argument.
    """
    given = list(parameters)
    bases = [(_fitted(name) or place)[:MAX_CHARS] for name, place in given]
    seen = Counter([*(base.casefold() for base in bases), taken.casefold()])
    names: list[str] = []
    used = {taken.casefold()}
    for base, (_, place) in zip(bases, given, strict=True):
        name = base if seen[base.casefold()] == 1 else f"{base[: MAX_CHARS - len(place) - 1]}_{place}"
        count = 1
        wanted = name
        while name.casefold() in used:
            count += 1
            name = f"{wanted[: MAX_CHARS - 8]}_{count}"
        used.add(name.casefold())
        names.append(name)
    return names
