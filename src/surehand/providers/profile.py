"""What each provider accepts, as data. No code asks for a provider's name: it asks for a fact.

Every fact has its source: (D) the provider's documentation, (S) the types of its own SDK (openai 3.57, anthropic 2.14),
(E) the text of an error of its API, as several projects report it. Read in November 2026.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_NUMBERS: Final = frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


class StrictRules(msgspec.Struct, frozen=True, kw_only=True):
    """The part of JSON Schema that a provider can hold a model to. Objects are closed under all of them."""

    all_required: bool
    """Whether every property must be required, so that an optional one has to accept null instead."""
    keeps: frozenset[str]
    """Of the keywords that limit numbers, strings and arrays, those that are accepted."""
    formats: frozenset[str] = _FORMATS
    keeps_default: bool
    min_items_max: int | None = None
    recursion: bool
    primitive_enums: bool
    """Whether values of `enum` and `const` must be primitive."""
    properties_max: int | None = None
    depth_max: int | None = None
    enum_values_max: int | None = None
    name_chars_max: int | None = None
    """Of property names, definition names, and `enum` and `const` values together."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one provider."""

    name: str
    name_pattern: str
    """What a tool's name matches, in definitions and in the history."""
    name_max: int
    property_pattern: str | None = None
    property_max: int = 64
    id_pattern: str
    """What the id of a call matches in the history."""
    id_max: int
    tools_max: int | None = None
    description_max: int | None = None
    root_forbids: frozenset[str]
    """Keywords that may not stand at the root of a schema, strict or not."""
    strict: StrictRules
    strict_tools_max: int | None = None
    optional_max: int | None = None
    """Optional properties in all strict schemas of a request together."""
    unions_max: int | None = None
    """Properties with several types or alternatives in all strict schemas of a request together."""

    def name_fits(self, name: str) -> bool:
        """Whether a tool may be called this."""
        return len(name) <= self.name_max and re.fullmatch(self.name_pattern, name) is not None


OPENAI_CHAT: Final = Profile(
    name="openai-chat",
    name_pattern=r"[a-zA-Z0-9_-]+",  # (S) FunctionDefinition.name
    name_max=64,
    id_pattern=r".+",
    id_max=40,  # (E) "string too long. Expected a string with maximum length 40", vercel/ai issue 5171
    tools_max=128,  # (E) "array too long", and the documentation
    description_max=1024,  # (E) string_above_max_length
    # (E) "must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level"
    root_forbids=frozenset({"oneOf", "anyOf", "allOf", "enum", "const", "not"}),
    strict=StrictRules(  # (D) Structured outputs, supported schemas
        all_required=True,
        keeps=_NUMBERS | {"pattern", "format", "minItems", "maxItems"},
        keeps_default=False,
        recursion=True,
        primitive_enums=False,
        properties_max=5000,
        depth_max=10,
        enum_values_max=1000,
        name_chars_max=120_000,
    ),
)

ANTHROPIC: Final = Profile(
    name="anthropic",
    name_pattern=r"[a-zA-Z0-9_-]+",  # (D) Define tools; several code bases allow 128 characters, 64 is the safe bound
    name_max=64,
    property_pattern=r"[a-zA-Z0-9_.-]+",  # (E) "Property keys should match pattern"
    id_pattern=r"[a-zA-Z0-9_-]+",  # (E) "String should match pattern '^[a-zA-Z0-9_-]+$'", HKUDS/nanobot pull 4356
    id_max=64,
    # (E) "input_schema does not support oneOf, allOf, or anyOf at the top level", anthropics/claude-code issue 44788
    root_forbids=frozenset({"oneOf", "anyOf", "allOf"}),
    strict=StrictRules(  # (D) Structured outputs, JSON Schema limitations; (S) anthropic.lib._parse._transform
        all_required=False,
        keeps=frozenset({"pattern", "format", "minItems"}),
        formats=_FORMATS | {"uri"},
        keeps_default=True,
        min_items_max=1,
        recursion=False,
        primitive_enums=True,
    ),
    strict_tools_max=20,  # (D) Schema complexity limits, these three
    optional_max=24,
    unions_max=16,
)
