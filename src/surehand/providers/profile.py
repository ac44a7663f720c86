"""`Profile`: what one provider accepts, as data. No code asks for a provider's name: it asks for a fact.

The facts themselves are rows in `profiles`, each with its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

NUMBER_LIMITS: Final = frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
STRICT_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
Ability = Literal["none", "required", "one", "serial"]
"""What a request can ask for beyond letting the model choose: no call, at least one, one named tool, one at a time."""
ALL_ABILITIES: Final[frozenset[Ability]] = frozenset({"none", "required", "one", "serial"})


class StrictRules(msgspec.Struct, frozen=True, kw_only=True):
    """The part of JSON Schema that a provider can hold a model to. Objects are closed under all of them."""

    all_required: bool
    """Whether every property must be required, so that an optional one has to accept null instead."""
    keeps: frozenset[str]
    """Of the keywords that limit numbers, strings and arrays, those that are accepted."""
    formats: frozenset[str] = STRICT_FORMATS
    keeps_default: bool
    needs_required: bool = False
    """Whether every object must have a property that is required."""
    min_items_max: int | None = None
    recursion: bool
    type_lists: bool = True
    """Whether `type` may be a list; if not, it becomes `anyOf`."""
    primitive_enums: bool
    """Whether values of `enum` and `const` must be primitive."""
    properties_max: int | None = None
    depth_max: int | None = None
    enum_values_max: int | None = None
    name_chars_max: int | None = None
    """Of property names, definition names, and `enum` and `const` values together."""


_PATTERNS: Final = ("name_pattern", "name_start", "property_pattern", "property_start", "id_pattern")
_ROOM: Final = 16
"""Names and ids that collide get a part of a hash, which needs room."""
_HASH: Final = 64
_LEAST: Final[dict[str, int]] = {
    **dict.fromkeys(("name_max", "property_max"), _ROOM),
    **dict.fromkeys(("name_min", "id_length", "tools_max", "description_max"), 1),
    **dict.fromkeys(("strict_tools_max", "strict_properties_max", "optional_max", "unions_max"), 0),
}
"""The least that numbers may be."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one provider. A provider that speaks another's format is a copy of its profile with other facts.

    Raises `TypeError` where a fact is missing: there are no guesses about names and ids.
    """

    name: str
    """What the provider is called: what `export`, `dialect` and models are given."""
    title: str
    """For people."""
    name_pattern: str
    """What a tool's name matches, in definitions and in the history. Tried character by character too."""
    name_start: str = ""
    """What its first character matches, where that is narrower."""
    name_min: int = 1
    name_max: int
    property_pattern: str | None = None
    property_start: str = ""
    property_max: int = 64
    id_pattern: str
    """What the id of a call matches in the history."""
    id_max: int
    id_length: int | None = None
    """How long each id has to be, where the provider takes only one length."""
    ids: bool = True
    """Whether a call has an id on the wire; if not, the ids of its answers are empty, and places pair the results."""
    tools_max: int | None = None
    description_max: int | None = None
    schema: Literal["json-schema", "openapi"] = "json-schema"
    """`openapi`: the subset of OpenAPI 3.0 that Gemini's `parameters` take, without references."""
    root_forbids: frozenset[str] = frozenset()
    """Keywords that may not stand at the root of a schema, strict or not."""
    strict: StrictRules | None = None
    """`None`: the provider cannot hold a model to a schema; `strict=True` gives every tool `unsupported`."""
    strict_by_tool: bool = True
    """Whether tools with and without strict can be in one request; if not, all are strict or none is."""
    strict_said: bool = True
    """Whether a tool's definition has a field for it."""
    strict_assumed: bool = False
    """Whether a definition that says nothing of strict mode is taken to be strict: then each one says it."""
    strict_tools_max: int | None = None
    optional_max: int | None = None
    """Optional properties in all strict schemas of a request together."""
    strict_properties_max: int | None = None
    """Properties in all strict schemas of a request together."""
    unions_max: int | None = None
    """Properties with several types or alternatives in all strict schemas of a request together."""
    abilities: frozenset[Ability] = ALL_ABILITIES
    """What of `Choice` a request can say."""
    required_word: str = "required"
    """The provider's word for at least one call."""
    images: Literal["result", "user", "none"] = "none"
    """Where images of results may stand: in the result itself, in a user message after it, or nowhere."""
    image_types: frozenset[str] = IMAGE_TYPES
    """The kinds of images that are taken; of others the model is told in words."""
    system_first: bool = False
    """Whether instructions may stand only before the rest of the conversation."""
    user_after_result: bool = True
    """Whether a user message may follow a result before the model has answered."""
    prefix_field: str = ""
    """The field of a last message by the model that asks to go on with it, where the provider wants that said."""
    returns_reasoning: bool = True
    """Whether the provider's own reasoning fields are sent back with a turn of its own."""
    call_signature: str = ""
    """What stands on the first call of a turn that another model made, where each step needs an opaque signature."""
    base_url: str = ""
    """Where its API is, for clients of a format that several providers speak. Empty: the SDK knows."""
    key_env: str = ""
    """Environment variable with the key, where the SDK does not know it."""

    def problem(self) -> str:
        """Why no export or history could keep to these facts; empty if nothing is wrong."""
        return next(self._problems(), "")

    def _problems(self) -> Iterator[str]:
        for fact in _PATTERNS:
            written: str | None = getattr(self, fact)
            try:
                re.compile(written or "")
            except re.error as error:
                yield f"{fact} is no pattern: {error}"
        for fact, least in _LEAST.items():
            number: int | None = getattr(self, fact)
            if number is not None and number < least:
                yield f"{fact} is {number}, and must be at least {least}"
        if self.id_length is None and self.id_max < _ROOM:
            yield f"id_max is {self.id_max}, and must be at least {_ROOM}"
        if self.id_length is not None and self.id_length > _HASH:
            yield f"id_length is {self.id_length}, and must be at most {_HASH}"
        if self.name_min > self.name_max:
            yield f"name_min is {self.name_min}, more than name_max, which is {self.name_max}"
        for fact in ("name_pattern", "property_pattern"):
            pattern: str | None = getattr(self, fact)
            if pattern is not None and not all(re.fullmatch(pattern, one) for one in "_0123456789abcdef"):
                yield f"{fact} must match `_`, digits and `a` to `f`: names that do not fit are made of them"

    def name_fits(self, name: str) -> bool:
        """Whether a tool may be called this."""
        return self.name_min <= len(name) <= self.name_max and re.fullmatch(self.name_whole, name) is not None

    @property
    def name_whole(self) -> str:
        """The pattern of a whole name, its first character included."""
        return _whole(self.name_start, self.name_pattern)

    @property
    def property_whole(self) -> str | None:
        """The pattern of a whole property name; `None` if any will do."""
        return None if self.property_pattern is None else _whole(self.property_start, self.property_pattern)


def _whole(start: str, pattern: str) -> str:
    return f"(?={start}){pattern}" if start else pattern
