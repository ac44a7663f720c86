"""Stage 3: exact recorded coercions, defaults, then the schema of the pinned version."""

from __future__ import annotations

from typing import Any

import msgspec

from ..schema import Coercion
from ..spec.hashes import canonical_json
from .passage import Passage, Stop
from .services import Services


def validate(p: Passage, s: Services) -> Stop | None:
    """Makes `arguments` complete and right, or says which is wrong and what would be right."""
    assert p.entry is not None
    validator = p.entry.parameters
    arguments, coercions = validator.coerce(p.arguments)
    arguments = validator.fill_defaults(arguments)
    violations = validator.errors(arguments)
    if violations:
        return _wrong(
            p,
            *(f"{v.path}: {v.message}" for v in violations),
            violations=[{"path": v.path, "expected": v.expected, "allowed": v.allowed} for v in violations],
        )
    try:
        read = p.entry.tool.as_read(arguments)
    except ValueError as error:
        return _wrong(p, str(error))
    if read is not arguments:
        violations = validator.errors(read)
        if violations:
            return _wrong(p, *(f"{v.path}: {v.message}" for v in violations))
        coercions += _differences(arguments, read)
        arguments = read
    p.arguments, p.coercions = arguments, coercions
    return None


def _wrong(p: Passage, *lines: str, **details: Any) -> Stop:
    what = f"The arguments of `{p.spec.name}` are not right; nothing was done. Correct them and call again:"
    return p.refuse("TOOL_ARGUMENT_INVALID", "\n- ".join((what, *lines)), **details)


def _differences(before: dict[str, object], after: dict[str, object]) -> tuple[Coercion, ...]:
    """Which arguments their types wrote another way, such as a time in another zone."""
    return tuple(
        Coercion(path=f"$.{name}", before=before.get(name, msgspec.UNSET), after=value)
        for name, value in after.items()
        if name not in before or canonical_json(before[name]) != canonical_json(value)
    )
