"""What a schema cannot say to a provider, said in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from ..arguments import as_text

_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|\n")
_WORDS: Final[dict[str, str]] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matches {}",
    "format": "format {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} properties",
    "maxProperties": "at most {} properties",
    "uniqueItems": "items all differ",
    "default": "default {}",
    "examples": "for example {}",
}


def told(keyword: str, value: Any) -> str:
    """One keyword in words."""
    if keyword == "examples" and isinstance(value, list):
        return _WORDS[keyword].format(", ".join(as_text(one) for one in cast("list[Any]", value)[:3]))
    return _WORDS[keyword].format(value if keyword in ("pattern", "format") else as_text(value))


def told_values(values: list[Any]) -> str:
    """The values that are accepted."""
    return f"one of {_brief(values)[1:-1]}" if len(values) != 1 else f"always {as_text(values[0])}"


def told_whole(schema: Any) -> str:
    """A schema that holds too, in its own words: they are brief, and models read them."""
    return f"satisfies {_brief(schema)}"


def extended(description: str, parts: Iterable[str]) -> str:
    """A description with what a schema cannot say."""
    said = "; ".join(parts)
    return f"{description.rstrip()} ({said})".lstrip() if said else description


def told_rule(keyword: str, value: Any) -> str:
    """A combinator at the root of a schema in words, such as: `give text, or url`."""
    names = {
        "anyOf": "At least one of these holds",
        "oneOf": "Exactly one of these holds",
        "allOf": "All of these hold",
    }
    if keyword not in names or not isinstance(value, list):
        return f"The arguments also satisfy {_brief({keyword: value})}."
    return f"{names[keyword]}: {'; '.join(_told_branch(branch) for branch in cast('list[Any]', value))}."


def _told_branch(branch: Any) -> str:
    if isinstance(branch, Mapping):
        required = cast("dict[str, Any]", branch).get("required")
        if isinstance(required, list) and required and not branch.keys() - {"required", "properties", "type"}:
            return "given " + " and ".join(f"`{name}`" for name in cast("list[Any]", required))
    return _brief(branch)


def _brief(value: Any) -> str:
    text = as_text(value)
    return text if len(text) <= 300 else text[:300] + "..."


def cut(description: str, rules: str, length_max: int | None) -> str:
    """A description with rules behind it, cut at the end of a sentence if it is too long. The rules are kept whole.

    Args:
        description: The tool's.
        rules: What its schema cannot say; may be empty.
        length_max: The provider's limit, if it has one.
    """
    whole = f"{description.rstrip()}\n\n{rules}" if rules else description
    if length_max is None or len(whole) <= length_max:
        return whole
    if not rules:
        return _cut(description, length_max)
    rules = _cut(rules, length_max * 3 // 4)
    return f"{_cut(description, length_max - len(rules) - 2)}\n\n{rules}"


def _cut(text: str, length_max: int) -> str:
    if len(text) <= length_max:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, length_max + 1) if found.end() <= length_max]
    if ends and ends[-1] > length_max // 2:
        return text[: ends[-1]].rstrip()
    return text[: length_max - 3].rstrip() + "..."
