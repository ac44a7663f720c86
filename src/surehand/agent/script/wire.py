"""`Wire`: the provider's side of a dialect, as far as a script needs it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from .step import Seen, Step


class Wire(Protocol):
    """Reads requests and writes answers of one dialect."""

    def seen(self, request: Mapping[str, Any], /) -> Seen:
        """What a script looks at."""
        ...

    def whole(self, step: Step, number: int, name: str, /) -> dict[str, Any]:
        """The answer at once. `number` is the step's, from 1; `name` the model's."""
        ...

    def events(self, step: Step, number: int, name: str, chars: int, /) -> Iterable[dict[str, Any]]:
        """The same answer as the events of a stream, text cut into pieces of `chars` characters."""
        ...


def pieces(text: str, chars: int) -> list[str]:
    """The text, cut."""
    return [text[at : at + chars] for at in range(0, len(text), chars)]


def written(arguments: dict[str, Any] | str) -> str:
    """Arguments as a model writes them."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if part.get("type") == "text")
