"""Mistral. (S) the types of mistralai 3.7, (V) the validator of mistral-common 1.8, which its API answers errors of."""

from __future__ import annotations

from typing import Final

from ..profile import Profile, StrictRules

MISTRAL: Final = Profile(
    name="mistral",
    title="Mistral",
    name_pattern=r"[a-zA-Z0-9_-]+",  # (V) "must be a-z, A-Z, 0-9, or contain underscores and dashes", at most 64
    name_max=64,
    id_pattern=r"[a-zA-Z0-9]+",  # (V) "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9"
    id_max=9,
    id_length=9,
    root_forbids=frozenset({"oneOf", "anyOf", "allOf"}),  # nothing says that they are taken
    # (S) Function.strict, and extra.utils closes every object. What else it can hold a model to is not said anywhere:
    # only what no grammar needs to count is kept.
    strict=StrictRules(
        all_required=False,
        keeps=frozenset(),
        keeps_default=True,
        recursion=False,
        primitive_enums=True,
    ),
    required_word="any",  # (S) ToolChoiceEnum: it and `required` say the same
    images="user",  # (V) a tool message's content is text; (S) a user message takes image_url
    system_first=True,  # (V) system may not follow assistant or tool
    user_after_result=False,  # (V) "Unexpected role 'user' after role 'tool'"
    prefix_field="prefix",  # (V) "Expected last role User or Tool (or Assistant with prefix True)"
    base_url="https://api.mistral.ai/v1",
    key_env="MISTRAL_API_KEY",
)
