"""A message's content in `openai-chat`: a text, or the parts that some servers send instead."""

from __future__ import annotations

from typing import Any, Final

from ..json_value import copied, list_of_objects, text_of

_TEXT: Final = frozenset({"type", "text"})


def spoken(content: Any) -> str:
    """What is said in it."""
    if isinstance(content, str):
        return content
    return "".join(text_of(part.get("text")) for part in list_of_objects(content))


def thought(content: Any) -> str:
    """What parts of the kind `thinking` say, as Mistral sends them: each is a list of parts itself."""
    return "".join(spoken(part.get("thinking")) for part in list_of_objects(content))


def joined(before: Any, piece: Any) -> list[dict[str, Any]]:
    """The content as parts, with a piece after it: what goes on with the last part becomes one with it."""
    parts = _parts(before)
    for part in _parts(piece):
        last = parts[-1] if parts else {}
        if part.get("type") != last.get("type"):
            parts.append(part)
        elif part.keys() == last.keys() == _TEXT:
            last["text"] = text_of(last["text"]) + text_of(part["text"])
        elif part.get("type") == "thinking" and not (last.get("closed") or last.get("signature")):
            last |= {**part, "thinking": joined(last.get("thinking"), part.get("thinking"))}
        else:
            parts.append(part)
    return parts


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return copied(list_of_objects(content))
