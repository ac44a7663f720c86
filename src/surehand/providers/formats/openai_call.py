"""Calls as OpenAI's Chat Completions write them, and others after it: a function with a name and JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...call import ToolCall
from ..arguments import as_text, is_blank
from ..export import Export
from ..history import PairedCall
from ..json_value import object_of, text_of
from ..offering.names import resolve


def read_call(call_id: str, function: Mapping[str, Any], export: Export) -> ToolCall:
    """A call as a model wrote it: an object stays one, text stays as it is."""
    name = resolve(text_of(function.get("name")), export.wire_names)
    written = function.get("arguments")
    arguments: dict[str, Any] | str = cast("dict[str, Any]", written) if isinstance(written, dict) else text_of(written)
    if isinstance(arguments, str) and is_blank(arguments):
        arguments = ""
    restoration = export.restorations.get(name)
    return ToolCall(id=call_id, name=name, arguments=restoration.apply(arguments) if restoration else arguments)


def sent_call(entry: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    """An entry of `tool_calls` as it came, with the id and the name of this request, and arguments that can be read."""
    if "function" not in entry and entry.get("type") != "function":
        return {**entry, "id": call.id}
    return {**entry, "id": call.id, "function": sent_function(object_of(entry.get("function")), call)}


def sent_function(function: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    """Its function."""
    written = function.get("arguments")
    as_it_was = call.readable and isinstance(written, str) and not is_blank(written)
    return {**function, "name": call.name, "arguments": written if as_it_was else _arguments(function, call)}


def _arguments(function: Mapping[str, Any], call: PairedCall) -> str:
    """Always the text of one object: servers that render it into a template parse it first."""
    written = function.get("arguments")
    return as_text(written if isinstance(written, dict) and call.readable else {})


def new_call(call: PairedCall) -> dict[str, Any]:
    """A call in neutral terms."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": as_text(call.arguments)},
    }
