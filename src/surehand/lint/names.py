"""Names and owners: which tool is meant, and who answers for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..spec import ToolSpec
from .finding import Problem, Rule

_LOOKS: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s", "-": "_", ".": "_"})
_PREFIX: Final = 64
"""What every provider keeps of a name; beyond it, names are told apart by a hash that says nothing."""


def _skeleton(name: str) -> str:
    """The name as it is read at a glance: `rn` looks like `m`, `vv` like `w`, 0 like o, 1 and i like l."""
    return name.casefold().translate(_LOOKS).replace("rn", "m").replace("vv", "w").strip("_")


def _collides(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    own = _skeleton(spec.name)
    for other in {one.name: one for one in among if one.name != spec.name}.values():
        theirs = _skeleton(other.name)
        if own == theirs:
            yield Problem("name", f"{spec.name!r} looks like {other.name!r}; choose another name")
        elif own[:_PREFIX] == theirs[:_PREFIX] and len(own) > _PREFIX:
            yield Problem("name", f"its first {_PREFIX} characters are those of {other.name!r}; providers cut the rest")


def _alike(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    """One letter apart, and from somewhere else: how a stranger's tool takes over the calls of a known one."""
    for other in {one.name: one for one in among if one.source != spec.source}.values():
        if len(spec.name) > 4 and _skeleton(spec.name) != _skeleton(other.name) and _one_apart(spec.name, other.name):
            yield Problem("name", f"{spec.name!r} of {spec.source} is one letter from {other.name!r} of {other.source}")


def _one_apart(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest = long[at + 1 :]
    swapped = len(short) == len(long) and short[at : at + 2] == long[at : at + 2][::-1]
    return rest in (short[at:], short[at + 1 :]) or (swapped and short[at + 2 :] == long[at + 2 :])


def _no_owner(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    if not spec.owner.strip():
        yield Problem("owner", "nobody owns it; write owner= with the team that answers for it")


NAME_RULES: Final = (
    Rule("name-collides", "error", "No two names look the same after normalising, or share what is kept.", _collides),
    Rule("name-alike", "warning", "No name is one letter from that of a tool of another source.", _alike),
    Rule("owner-missing", "warning", "Each tool has an owner.", _no_owner),
)
