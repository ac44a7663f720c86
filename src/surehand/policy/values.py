"""From the final arguments of a call to what Cedar gets: only what policies read, and only what is exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias, cast

import orjson

from ..spec import canonical_json
from .argument_types import RESERVED, Attribute, CedarType, RecordOf, Scalar, SetOf
from .syntax import Path

_LONG: Final = range(-(2**63), 2**63)
_DECIMAL_ROUGHLY: Final = 2**60
"""Keeps the arithmetic below exact; the exact limits are those of `_LONG` in units of 0.0001."""
_FLAT: Final = frozenset({str, int, float, bool, type(None)})
"""Classes of values that hold no others."""
CacheKey: TypeAlias = tuple[object, ...]


class UnreadableError(Exception):
    """A value has no exact counterpart in Cedar. Never leaves this room.

    Attributes:
        path: Of the value, from the argument's name on.
        why: Ends the sentence "the argument ... ".
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path = path
        self.why = why


@dataclass(frozen=True, slots=True)
class Wanted:
    """The part of an object that policies look at."""

    whole: bool
    """Whether the value itself is used, and not only parts of it."""
    parts: Mapping[str, Wanted]


@dataclass(frozen=True, slots=True)
class LooksAt:
    """The arguments that policies look at, as a key needs them."""

    names: tuple[str, ...]
    """Of arguments whose value is used."""
    parts: tuple[Path, ...]
    """Paths inside an argument whose value is used."""
    presence: tuple[Path, ...]
    """Paths of which only matters whether they are there."""
    plain: frozenset[str]
    """Names of arguments that hold no keys of their own, by the schema: no reserved one either."""
    keeps: bool
    """Whether a decision may be kept: nothing looks at the time."""


def looks_at(values: Iterable[Path], presence: Iterable[Path], types: RecordOf, *, keeps: bool = True) -> LooksAt:
    """`values` are looked at as they are, of `presence` only whether they are there."""
    used = sorted(set(values))
    return LooksAt(
        plain=frozenset(name for name, attribute in types.attributes.items() if _is_plain(attribute.type)),
        keeps=keeps,
        names=tuple(path[0] for path in used if len(path) == 1),
        parts=tuple(path for path in used if len(path) > 1),
        presence=tuple(sorted(set(presence).difference(used))),
    )


def _is_plain(type_: CedarType | None) -> bool:
    return _is_plain(type_.element) if isinstance(type_, SetOf) else isinstance(type_, str)


def wanted(values: Iterable[Path], presence: Iterable[Path]) -> Wanted:
    """What to take from the arguments: `values` as they are, of `presence` only whether they are there."""
    tree: dict[str, Any] = {}
    whole: set[Path] = set(values)
    for path in (*whole, *presence):
        node = tree
        for name in path:
            node = node.setdefault(name, {})

    def build(node: dict[str, Any], path: Path) -> Wanted:
        parts = {name: build(inner, (*path, name)) for name, inner in sorted(node.items())}
        return Wanted(path in whole, parts)

    return build(tree, ())


def narrowed(want: Wanted, record: RecordOf) -> RecordOf:
    """The type of what `projected` gives. Two tools with the same one are the same to those policies."""
    attributes = {
        name: Attribute(_narrow(part, record.attributes[name].type), record.attributes[name].required)
        for name, part in want.parts.items()
        if name in record.attributes
    }
    return RecordOf(attributes)


def _narrow(part: Wanted, type_: CedarType | None) -> CedarType | None:
    if part.whole:
        return type_
    if not part.parts:
        return "Boolean"
    return narrowed(part, type_) if isinstance(type_, RecordOf) else type_


def projected(want: Wanted, record: RecordOf, arguments: Mapping[str, Any], path: Path = ()) -> dict[str, Any]:
    """What policies get to see of an object.

    Raises:
        UnreadableError: A value that they use has no exact counterpart.
    """
    out: dict[str, Any] = {}
    for name, part in want.parts.items():
        value = arguments.get(name)
        if value is None:
            continue
        here = (*path, name)
        attribute = record.attributes.get(name)
        type_ = None if attribute is None else attribute.type
        if part.whole:
            out[name] = _exact(type_, value, here)
        elif not part.parts:
            out[name] = True  # asked for with `has`, and never looked at
        elif isinstance(type_, RecordOf) and isinstance(value, Mapping):
            out[name] = projected(part, type_, cast("Mapping[str, Any]", value), here)
        else:
            raise UnreadableError(here, "is no object with known properties")
    return out


def _exact(type_: CedarType | None, value: Any, path: Path) -> Any:
    if type_ is None:
        raise UnreadableError(path, "has no single type in the tool's schema")
    if isinstance(type_, RecordOf):
        return _record(type_, value, path)
    if isinstance(type_, SetOf):
        if not isinstance(value, list | tuple):
            raise UnreadableError(path, "is not an array")
        elements = cast("list[Any]", value)
        return [_exact(type_.element, element, (*path, str(i))) for i, element in enumerate(elements)]
    return _scalar(type_, value, path)


def _record(type_: RecordOf, value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UnreadableError(path, "is not an object")
    out: dict[str, Any] = {}
    for name, inner in cast("Mapping[str, Any]", value).items():
        attribute = type_.attributes.get(name)
        if inner is None and attribute is not None:
            continue
        if attribute is None:
            raise UnreadableError((*path, name), "is not in the tool's schema")
        out[name] = _exact(attribute.type, inner, (*path, name))
    return out


def _scalar(type_: Scalar, value: Any, path: Path) -> Any:
    kind: type = value.__class__
    if kind is float and type_ == "Long" and value.is_integer():
        kind, value = int, int(value)
    if type_ == "String" and isinstance(value, str):
        return _text(value, path)
    if type_ == "Boolean" and kind is bool:
        return value
    if type_ == "Long" and kind is int:
        if value in _LONG:
            return value
        raise UnreadableError(path, "does not fit 64 bits")
    if type_ == "decimal" and kind in (int, float):
        return {"__extn": {"fn": "decimal", "arg": _decimal(value, path)}}
    raise UnreadableError(path, "has another type than the tool's schema says")


def _text(value: str, path: Path) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnreadableError(path, "is not valid text") from None
    return value


def _decimal(value: float, path: Path) -> str:
    if not -_DECIMAL_ROUGHLY < value < _DECIMAL_ROUGHLY:  # NaN too
        raise UnreadableError(path, "is out of the range of decimals")
    scaled = Decimal(repr(value)) * 10_000
    units = int(scaled)
    if units != scaled:
        raise UnreadableError(path, "has more than 4 digits after the point")
    if units not in _LONG:
        raise UnreadableError(path, "is out of the range of decimals")
    whole, fraction = divmod(abs(units), 10_000)
    return f"{'-' if units < 0 else ''}{whole}.{fraction:04d}"


def forged_key(arguments: Mapping[str, Any]) -> str | None:
    """A reserved key anywhere in the arguments, or `None`. Fast when there is none."""
    try:
        text = orjson.dumps(arguments)
    except TypeError:
        return _forged(arguments)
    return _forged(arguments) if b'"__e' in text else None


def _forged(value: object) -> str | None:
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            items = cast("Mapping[str, Any]", value)
            for key in items:
                if key in RESERVED:
                    return key
            stack.extend(items.values())
        elif isinstance(value, list | tuple):
            stack.extend(cast("list[Any]", value))
    return None


def cache_key(looks: LooksAt, arguments: Mapping[str, Any]) -> CacheKey | None:
    """Everything that policies can see of the arguments, typed: 1, 1.0 and True differ. `None`: do not cache."""
    key: list[object] = []
    try:
        for name in looks.names:
            value = arguments.get(name)
            kind = value.__class__
            key.append(kind)
            key.append(value if kind in _FLAT else canonical_json(value))
        if looks.parts or looks.presence:
            key += _inside(looks, arguments)
    except (TypeError, ValueError):
        return None
    return tuple(key)


def _inside(looks: LooksAt, arguments: Mapping[str, Any]) -> Iterable[object]:
    for path in looks.parts:
        value = _at(arguments, path)
        yield value.__class__
        yield value if value.__class__ in _FLAT else canonical_json(value)
    for path in looks.presence:
        yield _at(arguments, path) is None


def _at(arguments: Mapping[str, Any], path: Path) -> Any:
    value: Any = arguments
    for name in path:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise TypeError("a part of something that has no parts")
        value = cast("Mapping[str, Any]", value).get(name)
    return value
