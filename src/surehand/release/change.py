"""What differs between two JSON Schemas, in the words of who uses them: wider, narrower, renamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, Literal, TypeAlias, cast

import jsonschema_rs as rs
import msgspec

from ..redact import visible

Effect: TypeAlias = Literal["widened", "narrowed", "changed", "renamed", "up", "down", "blind", "text"]
"""`widened`: takes, or gives, all it did and more. `narrowed`: less. `changed`: some more and some less, or that cannot
be decided. `up`, `down`: of risk and of what it needs. `blind`: a policy reads what is not there any more. `text`:
only what people and models read."""
Schema: TypeAlias = Mapping[str, Any]

_TEXTS: Final = ("title", "description", "examples", "$comment")
"""Keywords that refuse no value."""
_PARTS: Final = frozenset({"type", "properties", "required", "additionalProperties", "default", *_TEXTS, "$defs"})
"""Keywords of an object that are compared one by one; one with others is compared as a whole."""
_CHARS: Final = 2_000
_DEPTH: Final = 32
_NODES: Final = 5_000
"""Places that are looked at, since references may multiply them."""
_CHANGES: Final = 200


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. Invisible and reordering characters of its texts are shown as escapes."""

    field: str
    """Such as `risk`, `parameters.order.lines` or `policy refund-large`."""
    effect: Effect
    before: str = ""
    after: str = ""
    text: str
    """What it means."""


def shown(value: object) -> str:
    """A value of a contract as people can safely read it."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    text = visible(text)
    return text if len(text) <= _CHARS else f"{text[:_CHARS]}... ({len(text)} characters)"


def schema_changes(field: str, old: Schema, new: Schema) -> list[Change]:
    """What differs, property by property; at most 200 differences.

    Args:
        field: `parameters`, which refuse what they do not name, or `output_schema`.
        old: The schema before.
        new: The schema after.
    """
    old, new = deepcopy(old), deepcopy(new)  # the library that compares them knows plain lists only
    comparison = _Comparison(old, new, closed=field == "parameters")
    found: list[Change] = []
    for change in comparison.walk(field, old, new, 0):
        if len(found) == _CHANGES:
            found.append(Change(field=field, effect="changed", text="there are more differences; compare the schemas"))
            break
        found.append(change)
    return found or comparison.unseen(field)


class _Comparison:
    """Of two documents, to which references inside them lead."""

    def __init__(self, old: Schema, new: Schema, *, closed: bool) -> None:
        self._old = old
        self._new = new
        self._closed = closed
        self._same_definitions = old.get("$defs") == new.get("$defs")
        self._inside: set[tuple[int, int]] = set()
        self._left = _NODES

    def unseen(self, field: str) -> list[Change]:
        """What no part shows, so that nothing that differs is told to be the same."""
        if self._old == self._new:
            return []
        implied = {"additionalProperties": False} if self._closed else {}
        effect = self._effect({**implied, **self._old}, {**implied, **self._new})
        if effect is None:
            return [Change(field=field, effect="text", text="is written otherwise and takes the same values")]
        return [_value_change(field, effect, _bare(self._old), _bare(self._new))]

    def walk(self, path: str, old: Any, new: Any, depth: int) -> Iterator[Change]:
        beside = [_as_schema(one) for one in (old, new)]
        if beside[0] and beside[1] and "$ref" in {*beside[0], *beside[1]}:
            yield from _texts(path, beside[0], beside[1])
        old, new = _resolved(old, self._old), _resolved(new, self._new)
        pair = (id(old), id(new))
        self._left -= 1
        if pair in self._inside or self._left < 0 or (self._same_definitions and old == new):
            return
        self._inside.add(pair)
        yield from self._walk(path, old, new, depth)
        self._inside.discard(pair)

    def _walk(self, path: str, old: Any, new: Any, depth: int) -> Iterator[Change]:
        mine, other = _as_schema(old), _as_schema(new)
        if mine is not None and other is not None:
            yield from _texts(path, mine, other)
            if depth < _DEPTH and _by_parts(mine) and _by_parts(other):
                yield from self._object(path, mine, other, depth)
                return
            if depth < _DEPTH and _is_list(mine) and _is_list(other) and _rest(mine, "items") == _rest(other, "items"):
                yield from self.walk(f"{path}[]", mine["items"], other["items"], depth + 1)
                return
        effect = self._effect(old, new)
        if effect is not None:
            yield _value_change(path, effect, _bare(old), _bare(new))

    def _object(self, path: str, old: Schema, new: Schema, depth: int) -> Iterator[Change]:
        was, now = _properties(old), _properties(new)
        closed, open_now = self._is_closed(old, depth), not self._is_closed(new, depth)
        gone, added = [name for name in was if name not in now], [name for name in now if name not in was]
        for name, other in _renamed(gone, added, old, new):
            gone.remove(name)
            added.remove(other)
            text = f"is called {shown(other)} now; whoever writes the old name is refused"
            yield Change(
                field=f"{path}.{shown(name)}", effect="renamed", before=shown(name), after=shown(other), text=text
            )
        for name in gone:
            effect: Effect = "widened" if open_now else "narrowed"
            yield _value_change(f"{path}.{shown(name)}", effect, was[name], None)
        for name in added:
            effect = "narrowed" if name in _required(new) or not closed else "widened"
            yield _value_change(f"{path}.{shown(name)}", effect, None, now[name], required=name in _required(new))
        for name in (one for one in was if one in now):
            here = f"{path}.{shown(name)}"
            if (name in _required(old)) != (name in _required(new)):
                narrowed = name in _required(new)
                text = "must be there now" if narrowed else "may be left out now"
                yield Change(field=here, effect="narrowed" if narrowed else "widened", text=text)
            yield from self.walk(here, was[name], now[name], depth + 1)
        if not closed and open_now:
            others, others_now = (one.get("additionalProperties", True) for one in (old, new))
            yield from self.walk(f"{path}.*", others, others_now, depth + 1)
        if closed == open_now:
            text = "other properties are let in now" if open_now else "other properties are refused now"
            yield Change(field=path, effect="widened" if open_now else "narrowed", text=text)

    def _is_closed(self, schema: Schema, depth: int) -> bool:
        others = schema.get("additionalProperties", not (self._closed and depth == 0))
        return others is False

    def _effect(self, old: Any, new: Any) -> Effect | None:
        if _bare(old) == _bare(new) and self._same_definitions:
            return None
        wider, narrower = _covers(new, self._new, old, self._old), _covers(old, self._old, new, self._new)
        if wider and narrower:
            return None
        return "widened" if wider else "narrowed" if narrower else "changed"


def _covers(one: Any, one_in: Schema, other: Any, other_in: Schema) -> bool:
    return covers(one, one_in, other, other_in) is True


def covers(one: Any, one_in: Schema, other: Any, other_in: Schema) -> bool | None:
    """Whether one schema takes every value that another takes; `None` if that cannot be decided."""
    try:
        answer = _canonical(one, one_in).covers(_canonical(other, other_in))
    except (ValueError, rs.ReferencingError):  # errors of canonicalization are such
        return None
    return {rs.canonical.Containment.YES: True, rs.canonical.Containment.NO: False}.get(answer)


def exclude(one: Schema, other: Schema) -> bool:
    """Whether it is proved that no value is taken by both schemas."""
    try:
        both = _canonical(one, one).intersect(_canonical(other, other))
        return both.satisfiability() is rs.canonical.Satisfiability.NO
    except (ValueError, rs.ReferencingError):
        return False


def _canonical(schema: Any, document: Schema) -> rs.CanonicalSchema:
    whole = schema if isinstance(schema, bool) else {"$defs": document.get("$defs", {}), **_bare(schema)}
    # The limits that calls are validated under; see `schema.validator`.
    return rs.canonicalize(
        whole, draft=rs.Draft202012, validate_formats=True, offline=True, pattern_options=rs.RegexOptions()
    )


def _resolved(schema: Any, document: Schema) -> Any:
    """What a reference inside the document leads to, a few steps far."""
    definitions = _as_schema(document.get("$defs")) or {}
    for _ in range(_DEPTH):
        reference = (_as_schema(schema) or {}).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/$defs/") or _rest(schema, "$ref"):
            break
        target = definitions.get(reference.removeprefix("#/$defs/"))
        if target is None:
            break
        schema = target
    return schema


def _as_schema(value: object) -> Schema | None:
    return cast("Schema", value) if isinstance(value, Mapping) else None


def _texts(path: str, old: Schema, new: Schema) -> Iterator[Change]:
    for name in ("title", "description", "examples"):
        if old.get(name) != new.get(name):
            yield Change(
                field=f"{path}: {name}",
                effect="text",
                before=shown(old.get(name)),
                after=shown(new.get(name)),
                text="a model reads this",
            )
    if old.get("default") != new.get("default") or ("default" in old) != ("default" in new):
        before, after = (shown(json.dumps(one["default"])) if "default" in one else "" for one in (old, new))
        text = "calls that leave it out mean something else"
        yield Change(field=f"{path}: default", effect="changed", before=before, after=after, text=text)


def _value_change(path: str, effect: Effect, old: Any, new: Any, *, required: bool = False) -> Change:
    words = {
        "widened": "takes all that it took, and more",
        "narrowed": "refuses what it took before",
        "changed": "refuses some of what it took and takes some of what it refused, or that cannot be decided",
    }
    text = words.get(effect, "")
    if old is None:
        text = "is new and must be there" if required else "is new"
    elif new is None:
        text = "is gone"
    return Change(field=path, effect=effect, before=shown(old), after=shown(new), text=text)


def _renamed(gone: list[str], added: list[str], old: Schema, new: Schema) -> list[tuple[str, str]]:
    """Pairs of a property that went and one that came, alike but for the name; only where there is one such pair."""

    def form(name: str, schema: Schema) -> str:
        return json.dumps([_bare(_properties(schema)[name]), name in _required(schema)], sort_keys=True, default=str)

    pairs = [(one, [other for other in added if form(other, new) == form(one, old)]) for one in gone]
    taken = [others[0] for _, others in pairs if len(others) == 1]
    return [(one, others[0]) for one, others in pairs if len(others) == 1 and taken.count(others[0]) == 1]


def _bare(schema: object) -> Any:
    """A schema without what refuses no value."""
    if not isinstance(schema, Mapping):
        return schema
    return {name: value for name, value in cast("Schema", schema).items() if name not in (*_TEXTS, "default")}


def _rest(schema: Any, *names: str) -> dict[str, Any]:
    return {name: value for name, value in _bare(schema).items() if name not in (*names, "$defs")}


def _by_parts(schema: Schema) -> bool:
    return schema.get("type") == "object" and schema.keys() <= _PARTS and bool(_properties(schema))


def _is_list(schema: Schema) -> bool:
    return schema.get("type") == "array" and "items" in schema


def _properties(schema: Schema) -> dict[str, Any]:
    return cast("dict[str, Any]", schema.get("properties") or {})


def _required(schema: Schema) -> list[str]:
    return cast("list[str]", schema.get("required") or [])
