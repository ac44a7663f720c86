"""Stage 2: the model's text to a JSON object, within bounds; strictly, unless the engine is lenient."""

from __future__ import annotations

from ..schema import ParseFailure, parse_arguments, parse_lenient
from ..spec.places import Places
from .passage import Passage, Stop
from .services import Services


def parse(p: Passage, s: Services) -> Stop | None:
    """Fills `arguments` and `written`. A call in which the model's output was cut off never runs, valid or not."""
    if p.call.truncated:
        return p.refuse(
            "ARGUMENTS_TRUNCATED",
            f"The output was cut off by its length limit in this call of `{p.spec.name}`; nothing was done. "
            "Call again with less in one call.",
        )
    if s.strictness == "lenient":
        parsed, p.liberties = parse_lenient(p.call.arguments, limits=s.limits.arguments)
    else:
        parsed = parse_arguments(p.call.arguments, limits=s.limits.arguments)
    if isinstance(parsed, ParseFailure):
        # The message quotes what stands there, which may be a secret argument.
        quotes = not Places(p.spec.parameters).holds_secret(())
        return p.refuse(
            parsed.code, parsed.message if quotes else "The arguments are not one JSON object; write them anew."
        )
    p.arguments = parsed
    if p.edit is None:
        p.written = parsed
    return None
