"""Calls as the formats read them in answers and write them into requests."""

from __future__ import annotations

from typing import Any

from ..call import ToolCall
from .arguments import as_given, as_text, is_blank
from .export import Export
from .history import PairedCall
from .offering.names import resolve


def read_call(call_id: Any, name: Any, written: Any, export: Export) -> ToolCall:
    """A call of an answer, under our name and with the real names of its properties.

    Args:
        call_id: The model's. What is no text counts as absent, here and for the name.
        name: As the model wrote it.
        written: Its arguments: an object, or text, which stays as it was written.
        export: What the model was told.
    """
    found = resolve(name if isinstance(name, str) else "", export.wire_names)
    arguments = as_given(written)
    restoration = export.restorations.get(found)
    if restoration is not None:
        arguments = restoration.apply(arguments)
    return ToolCall(id=call_id if isinstance(call_id, str) else "", name=found, arguments=arguments)


def sent_text(written: Any, call: PairedCall) -> str:
    """Arguments of a provider's own call as it gets them back: always the text of one object.

    Servers that render them into a template parse them first.
    """
    if call.readable and isinstance(written, str) and not is_blank(written):
        return written
    return as_text(written if isinstance(written, dict) and call.readable else {})
