"""OpenAI's own interfaces. (D) its documentation, (S) the types of openai 3.57, (E) the text of errors of its API."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..profile import NUMBER_LIMITS, Profile, StrictRules

OPENAI_STRICT: Final = StrictRules(  # (D) Structured outputs, supported schemas
    all_required=True,
    keeps=NUMBER_LIMITS | {"pattern", "format", "minItems", "maxItems"},
    keeps_default=False,
    recursion=True,
    primitive_enums=False,
    properties_max=5000,
    depth_max=10,
    enum_values_max=1000,
    name_chars_max=120_000,
)
OPENAI_CHAT: Final = Profile(
    name="openai-chat",
    title="OpenAI Chat Completions",
    name_pattern=r"[a-zA-Z0-9_-]+",  # (S) FunctionDefinition.name
    name_max=64,
    id_pattern=r".+",
    id_max=40,  # (E) "string too long. Expected a string with maximum length 40", vercel/ai issue 5171
    tools_max=128,  # (E) "array too long", and the documentation
    description_max=1024,  # (E) string_above_max_length
    # (E) "must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level"
    root_forbids=frozenset({"oneOf", "anyOf", "allOf", "enum", "const", "not"}),
    strict=OPENAI_STRICT,
    images="user",  # (S) a tool message's content is text; a user message takes image_url
)
OPENAI_RESPONSES: Final = replace(
    OPENAI_CHAT,
    name="openai-responses",
    title="OpenAI Responses",
    id_max=64,  # (E) "Invalid 'input[95].call_id': string too long ... maximum length 64", AnswerDotAI/fastllm issue 45
    images="result",  # (S) FunctionCallOutput.output takes ResponseInputImageContentParam
)

AZURE_OPENAI: Final = replace(
    OPENAI_CHAT,
    name="azure-openai",
    title="Azure OpenAI",
    strict=StrictRules(  # (D) Structured outputs with Azure OpenAI: fewer properties and levels, no limits at all
        all_required=True,
        keeps=frozenset(),
        keeps_default=False,
        recursion=True,
        primitive_enums=False,
        properties_max=100,
        depth_max=5,
        enum_values_max=1000,
        name_chars_max=120_000,
    ),
)
