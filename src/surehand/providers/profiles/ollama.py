"""Ollama. (S) the types of ollama 0.6, (V) the server's own types, `api/types.go`, August 2026."""

from __future__ import annotations

from typing import Final

from ..profile import Profile

OLLAMA: Final = Profile(
    name="ollama",
    title="Ollama",
    # No rule is stated. The models' templates write names into text; these characters survive them all.
    name_pattern=r"[a-zA-Z0-9_-]+",
    name_max=64,
    id_pattern=r".+",  # (V) ToolCall.ID is any text, or absent
    id_max=64,
    root_forbids=frozenset({"oneOf", "anyOf", "allOf"}),  # (V) ToolFunctionParameters has none of them
    strict=None,  # (V) ToolFunction has no such field
    abilities=frozenset(),  # (V) ChatRequest has no tool choice
    images="user",  # (S) Message.images
)
