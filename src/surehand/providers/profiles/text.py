"""Models without tool calling: nobody's rules but those of our own text."""

from __future__ import annotations

from typing import Final

from ..profile import Profile

TEXT: Final = Profile(
    name="text",
    title="Tools in the text",
    name_pattern=r"[a-zA-Z0-9_-]+",
    name_max=64,
    id_pattern=r".+",
    id_max=64,
    root_forbids=frozenset({"oneOf", "anyOf", "allOf"}),  # words are plainer
    ids=False,
    strict=None,
    abilities=frozenset(),
    returns_reasoning=False,
)
