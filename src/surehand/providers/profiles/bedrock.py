"""Amazon Bedrock. (D) its documentation, (S) the service model `bedrock-runtime` of botocore 1.44, (E) error texts."""

from __future__ import annotations

from typing import Final

from ..profile import STRICT_FORMATS, Profile, StrictRules

BEDROCK: Final = Profile(
    name="bedrock",
    title="Amazon Bedrock Converse",
    name_pattern=r"[a-zA-Z0-9_-]+",  # (S) ToolName
    name_max=64,
    # (E) "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"; without the dot in aaif-goose/goose issue 1804
    property_pattern=r"[a-zA-Z0-9_-]+",
    id_pattern=r"[a-zA-Z0-9_.:-]+",  # (S) ToolUseId
    id_max=64,
    root_forbids=frozenset({"oneOf", "anyOf", "allOf"}),  # as the models of Anthropic behind it refuse them
    strict=StrictRules(  # (D) Get validated JSON results from models
        all_required=False,
        keeps=frozenset({"format", "minItems"}),
        formats=STRICT_FORMATS | {"uri"},
        keeps_default=True,
        min_items_max=1,
        recursion=False,
        primitive_enums=True,
    ),
    # The complexity limits of Anthropic's models, which are the narrowest that are told of
    strict_tools_max=20,
    optional_max=24,
    unions_max=16,
    # (S) ToolChoice is auto, any or tool. There is no word for no call, tools may not be left out of a request whose
    # history has calls (E), and nothing says one call at a time.
    abilities=frozenset({"required", "one"}),
    required_word="any",
    images="result",  # (S) ToolResultContentBlock.image; ImageFormat is png, jpeg, gif or webp
)
