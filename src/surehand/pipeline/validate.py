"""Stage 3: exact recorded coercions, defaults, then the schema of the pinned version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from ..registry import Entry
from ..schema import Coercion, Strictness, Violation
from ..spec.hashes import canonical_json
from .passage import Passage, Stop
from .services import Services


def validate(p: Passage, s: Services) -> Stop | None:
    """Makes `arguments` complete and right, or says which is wrong and what would be right."""
    assert p.entry is not None
    completed = complete(p.entry, p.arguments, s.strictness)
    if isinstance(completed, Wrong):
        what = f"The arguments of `{p.spec.name}` are not right; nothing was done. Correct them and call again:"
        found = [{"path": v.path, "expected": v.expected, "allowed": v.allowed} for v in completed.violations]
        details: dict[str, Any] = {"violations": found} if found else {}
        return p.refuse("TOOL_ARGUMENT_INVALID", "\n- ".join((what, *completed.lines)), **details)
    p.arguments, p.coercions = completed
    return None


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why a tool does not take some arguments."""

    lines: tuple[str, ...]
    """For the model."""
    violations: tuple[Violation, ...] = ()
    """Of the schema, by what was written."""


def complete(
    entry: Entry, written: dict[str, Any], strictness: Strictness
) -> tuple[dict[str, Any], tuple[Coercion, ...]] | Wrong:
    """The whole stage, for whoever does not make the call too.

    Args:
        entry: The tool.
        written: Not changed.
        strictness: `strict`: no value gets another type.

    Returns:
        Complete and right arguments with each change but defaults, or why they are not right.
    """
    validator = entry.parameters
    arguments, coercions = validator.coerce(written, numbers=strictness == "strict")
    arguments = validator.fill_defaults(arguments)
    violations = tuple(validator.errors(arguments))
    if violations:
        return Wrong(tuple(map(str, violations)), violations)
    try:
        read = entry.tool.as_read(arguments)
    except ValueError as error:
        return Wrong((str(error),))
    if read is arguments:
        return arguments, coercions
    violations = tuple(validator.errors(read))
    if violations:
        return Wrong(tuple(map(str, violations)))
    return read, coercions + _differences(arguments, read)


def _differences(before: dict[str, object], after: dict[str, object]) -> tuple[Coercion, ...]:
    """Which arguments their types wrote another way, such as a time in another zone."""
    return tuple(
        Coercion(path=f"$.{name}", before=before.get(name, msgspec.UNSET), after=value)
        for name, value in after.items()
        if name not in before or canonical_json(before[name]) != canonical_json(value)
    )
