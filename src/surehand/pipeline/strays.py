"""Arguments of names that a tool with secrets does not have: one may be a secret's, written wrong."""

from __future__ import annotations

from typing import Any

from ..redact import MARK, Redactor
from ..spec import ToolSpec

_OTHER_NAMES = (
    "additionalProperties", "unevaluatedProperties", "patternProperties",
    "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "$ref", "$dynamicRef",
)  # fmt: skip
"""Keywords by which a schema may have arguments that its `properties` do not name."""
_SECRET = {"writeOnly": True}


def recordable(arguments: dict[str, Any], spec: ToolSpec, redactor: Redactor) -> dict[str, Any]:
    """The arguments, for records and for people, without the values of such names."""
    strays = _strays(arguments, spec, redactor)
    return {name: MARK if name in strays else value for name, value in arguments.items()} if strays else arguments


def secrets_in(arguments: dict[str, Any], spec: ToolSpec, redactor: Redactor) -> list[str]:
    """The values of secret arguments and of such names, as `Redactor.secrets_in` gives them."""
    found = redactor.secrets_in(arguments, spec.parameters)
    strays = _strays(arguments, spec, redactor)
    return [*found, *redactor.secrets_in({name: arguments[name] for name in strays}, _SECRET)] if strays else found


def _strays(arguments: dict[str, Any], spec: ToolSpec, redactor: Redactor) -> set[str]:
    schema = spec.parameters
    strays = arguments.keys() - schema.get("properties", {}).keys()
    if not strays or not redactor.has_secrets(schema):
        return set()
    return set() if any(schema.get(keyword, False) is not False for keyword in _OTHER_NAMES) else strays
