"""JSON that nobody changes: what hooks, views and handlers are shown of a contract is the contract itself."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Never, cast


def frozen(value: Any) -> Any:
    """The same JSON, of dicts and lists that refuse to be changed. Copies of them can be."""
    if isinstance(value, dict):
        return FrozenDict((key, frozen(item)) for key, item in cast("dict[Any, Any]", value).items())
    if isinstance(value, list):
        return FrozenList(frozen(item) for item in cast("list[Any]", value))
    return value


def _refuse(self: object, *args: object, **kwargs: object) -> Never:
    raise TypeError("a contract cannot be changed; make another with dataclasses.replace(spec, parameters={...})")


class FrozenDict(dict[Any, Any]):
    """Reads like any dict."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        """A dict that can be changed."""
        return {key: deepcopy(item, memo) for key, item in self.items()}

    def __copy__(self) -> dict[Any, Any]:
        """A dict that can be changed; what is in it cannot."""
        return dict(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, it is a dict."""
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """Reads like any list."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        """A list that can be changed."""
        return [deepcopy(item, memo) for item in self]

    def __copy__(self) -> list[Any]:
        """A list that can be changed; what is in it cannot."""
        return list(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, it is a list."""
        return list, (list(self),)
