"""One form for equal numbers, so that 5 and 5.0 are the same key, the same digest and the same call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

EXACT: Final = 2**53
"""Up to here every integer has its own float."""
_LOOKED_AT: Final[frozenset[type]] = frozenset({float, dict, list})

Changed: TypeAlias = Callable[[tuple[str | int, ...], float, int], None]


def one_form(value: Any, changed: Changed | None = None, path: tuple[str | int, ...] = ()) -> Any:
    """A JSON value in which each integral float up to 2**53 is the integer that it equals; -0.0 is 0.

    Args:
        value: Not changed; what does not change is shared with the result.
        changed: Told of each change: where, the float, the integer.
        path: Where the value is.
    """
    kind = cast("type[object]", type(value))
    if kind is float:
        if not (value.is_integer() and abs(value) <= EXACT):
            return value
        if changed is not None:
            changed(path, value, int(value))
        return int(value)
    if kind is dict:
        members = {
            name: new
            for name, old in cast("dict[str, Any]", value).items()
            if type(old) in _LOOKED_AT and (new := one_form(old, changed, (*path, name))) is not old
        }
        return {**value, **members} if members else value
    if kind is list:
        items = [
            one_form(old, changed, (*path, index)) if type(old) in _LOOKED_AT else old
            for index, old in enumerate(cast("list[Any]", value))
        ]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
