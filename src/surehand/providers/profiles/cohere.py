"""Cohere. (D) its documentation, (S) the types of cohere 7.3."""

from __future__ import annotations

from typing import Final

from ..profile import Profile, StrictRules

COHERE: Final = Profile(
    name="cohere",
    title="Cohere Chat",
    name_pattern=r"[a-zA-Z0-9_-]+",  # not stated; what all of its examples keep to
    name_max=64,
    id_pattern=r".+",
    id_max=64,
    root_forbids=frozenset({"oneOf", "anyOf", "allOf"}),  # (D) two of them are not supported anywhere
    strict=StrictRules(  # (D) Structured outputs, schema constraints and unsupported schema features
        all_required=False,
        keeps=frozenset({"format"}),  # a pattern may hold neither `^` nor `$`, so that it would mean something else
        formats=frozenset({"date-time", "uuid", "date", "time"}),
        keeps_default=False,
        needs_required=True,  # "every object in the schema must have at least one required field"
        recursion=False,  # references are supported, nothing is said of schemas that refer to themselves
        primitive_enums=True,
    ),
    strict_by_tool=False,  # (S) `strict_tools` is of the request
    strict_said=False,
    strict_properties_max=200,  # (D) "a maximum of 200 fields across all tools"
    abilities=frozenset({"none", "required"}),  # (S) V2ChatRequestToolChoice
    required_word="REQUIRED",
    images="user",  # (S) a tool message has text and documents; a user message takes image_url
)
