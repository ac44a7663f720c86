"""What a contract must say before it is released. Pure: looks at the contract and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..registry import Catalog, Entry
from ..registry.version import version_key
from ..spec import Tool, ToolSpec
from ..types import Stage
from .diff import Diff
from .report import Row, doubtful, met, unmet

_TOLD: Final = 12
_FIELDS: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("risk", ("risk",), "risk='low', 'medium' or 'high'"),
    ("permissions", ("permissions",), "permissions=[...], also if there are none"),
    ("idempotency", ("idempotency", "read_only"), "idempotency=..., or read_only=True"),
)
_SECRETLY: Final = ("down", "narrowed", "changed", "renamed")
"""Effects that somebody should have read."""


def check_declared(tool: Tool, to: Stage) -> Iterator[Row]:
    """Owner, risk, permissions, idempotency: written by somebody, and not only defaults."""
    spec = tool.spec
    wants = "somebody answers for it"
    if spec.owner.strip():
        yield met("owner", wants, f"{spec.owner} does")
    else:
        yield unmet("owner", wants, "nobody does; write owner='team'", to)
    for id, fields, write in _FIELDS:
        yield _declared(tool, id, fields, write, to)


def _declared(tool: Tool, id: str, fields: tuple[str, ...], write: str, to: Stage) -> Row:
    spec, wants = tool.spec, f"{id} is declared, not only defaulted"
    value = getattr(spec, id)
    told = ", ".join(value) or "none" if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    defaults = ToolSpec(name="default", description="Has all defaults.")
    if any(getattr(spec, one) != getattr(defaults, one) for one in fields):
        return met(id, wants, told)
    if tool.declared is None:
        text = f"{told} is the default, and nothing tells whether it was written; say {write} with @tool, or look"
        return doubtful(id, wants, text)
    if tool.declared.isdisjoint(fields):
        return unmet(id, wants, f"{told} is only the default; write {write}", to)
    return met(id, wants, told)


def previous_of(catalog: Catalog, entry: Entry) -> Entry | None:
    """The version that callers get now, else the latest before this one; `None` if there is none."""
    spec = entry.tool.spec
    current = catalog.resolve(spec.name)
    if current is not None and current.tool.spec.version != spec.version:
        return current
    before = [
        one
        for (name, version), one in catalog.entries.items()
        if name == spec.name and version_key(version) < version_key(spec.version) and not one.removed
    ]
    return max(before, key=lambda one: version_key(one.tool.spec.version), default=None)


def check_difference(found: Diff | None, to: Stage) -> Row:
    """The difference to the version before, in words."""
    wants = "the difference to the version before is known"
    if found is None:
        return met("difference", wants, "there is no version before")
    lines = [f"{one.field} {one.effect}: {one.text}" for one in found.changes]
    more = f"; and {len(lines) - _TOLD} more" if len(lines) > _TOLD else ""
    text = f"to {found.before}: {'; '.join(lines[:_TOLD]) or 'nothing but the version'}{more}"
    if found.of("blind"):
        return unmet("difference", wants, f"{text}. Correct the policies, or keep the argument", to)
    if found.of(*_SECRETLY):
        return doubtful("difference", wants, f"{text}. Let somebody read `surehand tools diff`")
    return met("difference", wants, text)


def check_rollback(catalog: Catalog, entry: Entry, rollback: str, to: Stage) -> Row:
    """Whether there is a way back."""
    wants, spec = "the version that takes over if this one fails is named and can be called", entry.tool.spec
    others = sorted(
        (v for (n, v), one in catalog.entries.items() if n == spec.name and v != spec.version and one.callable),
        key=version_key,
    )
    if not rollback:
        if not others:
            return met("rollback", wants, "there is no other version; the way back is to disable this one")
        return unmet("rollback", wants, f"none is named; name one of {', '.join(others[-5:])}", to)
    if rollback not in others:
        there = ", ".join(others[-5:]) or "none"
        return unmet("rollback", wants, f"{rollback} is not another version that can be called; there is {there}", to)
    return met("rollback", wants, rollback)
