"""Google. (D) documentation of the Gemini API and of Google Cloud, (S) the types of google-genai 3.6.1, (E) errors."""

from __future__ import annotations

from typing import Final

from ..offering.openapi import ROOT_FORBIDS
from ..profile import Profile, StrictRules

# (D) Function calling mode VALIDATED: calls are held to the declarations by constrained decoding. What a declaration
# can say, it is held to; so these are the fields of (S) types.Schema, and `openapi` decides which of them are written.
GEMINI_STRICT: Final = StrictRules(
    all_required=False,
    keeps=frozenset(
        {"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
        | {"pattern", "format"}
    ),
    formats=frozenset({"date-time", "int32", "int64", "float", "double"}),
    keeps_default=True,
    recursion=False,
    primitive_enums=True,
    depth_max=28,
)
GEMINI: Final = Profile(
    name="gemini",
    title="Gemini generateContent",
    # (S) FunctionDeclaration.name takes dots, colons and 128 characters, (D) of Google Cloud 64 without colons for some
    # models; and (E) Gemini itself writes `default_api:NAME` and `default_api.NAME`: a dot or colon of ours is avoided.
    name_pattern=r"[a-zA-Z0-9_-]+",
    name_start=r"[a-zA-Z_]",
    name_max=64,
    property_pattern=r"[a-zA-Z0-9_]+",  # (S) FunctionDeclaration.parameters
    property_start=r"[a-zA-Z_]",
    property_max=64,
    id_pattern=r"[a-zA-Z0-9_.:-]+",  # not documented: ids of the API itself look like this
    id_max=64,
    tools_max=512,  # (D) Agent Platform REST, Tool.functionDeclarations
    schema="openapi",
    root_forbids=ROOT_FORBIDS,
    strict=GEMINI_STRICT,
    strict_by_tool=False,  # (S) FunctionCallingConfig.mode is the request's
    strict_said=False,
    abilities=frozenset({"none", "required", "one"}),  # (S) no field says one call at a time
    required_word="ANY",
    images="result",  # (S) FunctionResponse.parts
    # (D) Thought signatures, frequently asked: for a history of another model
    call_signature="skip_thought_signature_validator",
)
