"""Texts that steer: characters that nobody sees, and words to the model that are no description."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from ..redact import visible
from ..spec import ToolSpec
from .finding import Problem, Rule, texts

_LOOKS: Final = str.maketrans("аеорсухіјѕԁһոԛԝαενορτ", "aeopcyxijsdhnqwaevopt")
"""Cyrillic, Armenian and Greek letters that look like Latin ones."""
_UNSEEN: Final = re.compile("[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]")
_JOINERS: Final = "\u200c\u200d"
_TEXT_MAX: Final = 100_000
_INSTRUCTS: Final = (
    (
        r"\b(ignore|disregard|forget|override)\b.{0,30}\b(previous|prior|above|earlier|all|other|system|any)\b.{0,30}"
        r"\b(instructions?|prompts?|rules?|messages?|guidelines?|tools?)\b",
        "it tells the model to ignore what it was told",
    ),
    (
        r"\b(do not|don't|never|without)\b[^.!?]{0,20}"
        r"\b(tell|telling|inform|informing|mention|mentioning|reveal|notify|show|ask|asking)\b[^.!?]{0,40}\b(users?|humans?|anyone|anybody|operators?|persons?|people|this)\b",
        "it tells the model to keep something from people",
    ),
    (
        r"<\s*/?\s*(important|system|secret|hidden|instructions?|admin|assistant|user|tool_call|function_call)\b[^>]*>"
        r"|<!--|\[\s*/?\s*(inst|system)\s*\]|<\|[^|]{1,40}\|>",
        "it holds a tag that passes for a message of another role",
    ),
    (
        r"\b(system prompt|developer message|chain of thought|your (hidden|secret) instructions)\b",
        "it speaks of the model's own instructions",
    ),
    (
        r"\b(before|after|instead of|whenever)\b.{0,25}\b(using|calling|any|every|each)\b.{0,25}\b(other|another|any)\b"
        r".{0,15}\b(tools?|functions?)\b",
        "it tells the model how to use other tools",
    ),
    (
        r"\b(you (must|should|have to|need to)|always) (first )?"
        r"(read|open|include|attach|append|send|pass|copy|forward)\b"
        r".{0,60}(\.ssh|\.env|id_rsa|credentials?|secrets?|passwords?|api keys?|tokens?|conversation|chat history"
        r"|environment variables|config files?)",
        "it asks the model for secrets or for the conversation",
    ),
)
_PATTERNS: Final = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), why) for pattern, why in _INSTRUCTS)


def _hidden(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for where, text in texts(spec):
        bad = next((at for at, one in enumerate(text) if _is_unseen(one)), None)
        if bad is not None:
            around = visible(text[max(0, bad - 20) : bad + 20]).replace("\n", "\\n")
            yield Problem(
                where, f"it holds characters that are invisible or reorder text: {around!r:.200}; remove them"
            )


def _is_unseen(one: str) -> bool:
    if one in "\n\t" or (one.isascii() and one.isprintable()):
        return False
    return unicodedata.category(one) in ("Cc", "Cf", "Co", "Cn", "Cs") or bool(_UNSEEN.match(one)) or one in _JOINERS


def plain(text: str) -> str:
    """A text as a person would read it out: compatible forms, look-alike letters and unseen characters resolved."""
    seen = "".join(one for one in text[:_TEXT_MAX] if not _is_unseen(one))
    return " ".join(unicodedata.normalize("NFKC", seen).casefold().translate(_LOOKS).split())


def _instructs(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for where, text in texts(spec):
        said = plain(text)
        for pattern, why in _PATTERNS:
            found = pattern.search(said)
            if found is not None:
                yield Problem(where, f"{why}: {visible(found[0])!r:.160}; describe the tool and nothing else")


TEXT_RULES: Final = (
    Rule("text-hidden", "error", "No text holds invisible, bidirectional or control characters.", _hidden),
    Rule("text-instructs", "error", "No text gives the model orders or passes for another role.", _instructs),
)
