"""Calls as OpenAI's Chat Completions write them, and others after it: a function with a name and JSON text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..arguments import as_text
from ..calls import sent_text
from ..history import Entry, Exchange, PairedCall
from ..json_value import object_of
from ..message import SystemMessage


def conversation(
    entries: Iterable[Entry], exchanged: Callable[[Exchange], Iterable[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """A conversation as messages with a role and a text; `exchanged` writes a turn and its results."""
    written: list[dict[str, Any]] = []
    for entry in entries:
        if isinstance(entry, Exchange):
            written.extend(exchanged(entry))
        else:
            role = "system" if isinstance(entry, SystemMessage) else "user"
            written.append({"role": role, "content": entry.content})
    return written


def sent_call(entry: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    """An entry of `tool_calls` as it came, with the id and the name of this request, and arguments that can be read."""
    if "function" not in entry and entry.get("type") != "function":
        return {**entry, "id": call.id}
    return {**entry, "id": call.id, "function": sent_function(object_of(entry.get("function")), call)}


def sent_function(function: Mapping[str, Any], call: PairedCall) -> dict[str, Any]:
    """Its function."""
    return {**function, "name": call.name, "arguments": sent_text(function.get("arguments"), call)}


def new_call(call: PairedCall) -> dict[str, Any]:
    """A call in neutral terms."""
    function = {"name": call.name, "arguments": as_text(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}
