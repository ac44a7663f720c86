"""Anthropic. (D) its documentation, (S) the types of anthropic 2.14, (E) the text of errors of its API."""

from __future__ import annotations

from typing import Final

from ..profile import STRICT_FORMATS, Profile, StrictRules

# (D) Structured outputs, JSON Schema limitations; (S) anthropic.lib._parse._transform
ANTHROPIC_STRICT: Final = StrictRules(
    all_required=False,
    keeps=frozenset({"pattern", "format", "minItems"}),
    formats=STRICT_FORMATS | {"uri"},
    keeps_default=True,
    min_items_max=1,
    recursion=False,
    type_lists=False,  # (S) the transform knows a single word only
    primitive_enums=True,
)
ANTHROPIC: Final = Profile(
    name="anthropic",
    title="Anthropic Messages",
    name_pattern=r"[a-zA-Z0-9_-]+",  # (D) Define tools; several code bases allow 128 characters, 64 is the safe bound
    name_max=64,
    property_pattern=r"[a-zA-Z0-9_.-]+",  # (E) "Property keys should match pattern"
    id_pattern=r"[a-zA-Z0-9_-]+",  # (E) "String should match pattern '^[a-zA-Z0-9_-]+$'", HKUDS/nanobot pull 4356
    id_max=64,
    # (E) "input_schema does not support oneOf, allOf, or anyOf at the top level", anthropics/claude-code issue 44788
    root_forbids=frozenset({"oneOf", "anyOf", "allOf"}),
    strict=ANTHROPIC_STRICT,
    strict_tools_max=20,  # (D) Schema complexity limits, these three
    optional_max=24,
    unions_max=16,
    required_word="any",  # (S) ToolChoiceAnyParam
    images="result",  # (S) ToolResultBlockParam.content
)
