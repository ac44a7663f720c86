"""Texts that steer: characters that nobody sees, and words to the model that are no description."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from typing import Final
from urllib.parse import unquote

from ..redact import visible
from ..spec import ToolSpec
from .finding import Problem, Rule, texts

_LOOKS: Final = str.maketrans(
    "аеорсухіјѕԁһոԛԝαενορτᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "aeopcyxijsdhnqwaevoptabcdefghijklmnoprstuvwyz"
)
"""Cyrillic, Armenian and Greek letters that look like Latin ones, and small capitals."""
_FOREIGN: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")
"""Scripts with letters that pass for Latin ones."""
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{16,4096}={0,2}")
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
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
        mixed = next((word for word in _WORD.findall(text[:_TEXT_MAX]) if _is_mixed(word)), None)
        if mixed is not None:
            yield Problem(where, f"the word {mixed!a:.160} mixes Latin letters with some that look like them")


def _is_mixed(word: str) -> bool:
    """Letters of a script that passes for Latin among small Latin ones. Acronyms and units are no such words."""
    if word.isascii() or len(word) < 4:
        return False
    latin = sum("a" <= one <= "z" for one in word)
    return latin > 0 and any(unicodedata.name(one, "").startswith(_FOREIGN) for one in word)


def _is_unseen(one: str) -> bool:
    if one in "\n\t" or (one.isascii() and one.isprintable()):
        return False
    return unicodedata.category(one) in ("Cc", "Cf", "Co", "Cn", "Cs") or bool(_UNSEEN.match(one)) or one in _JOINERS


def plain(text: str) -> str:
    """A text as a person would read it out: compatible forms, look-alike letters and unseen characters resolved."""
    seen = "".join(one for one in unquote(unescape(text[:_TEXT_MAX])) if not _is_unseen(one))
    bare = "".join(one for one in unicodedata.normalize("NFKD", seen) if unicodedata.category(one) != "Mn")
    words = bare.casefold().translate(_LOOKS).split()
    return " ".join(words) if len(words) > 1 else re.sub("[_.-]+", " ", "".join(words))


def _decoded(text: str) -> str:
    """What a text says in base64 or in hexadecimal digits; empty if nothing in it does."""
    found = _ENCODED.findall(text[:_TEXT_MAX])
    said = (_read(decode, one) for one in found for decode in (_from_base64, bytes.fromhex))
    return next((one for one in said if one.isprintable() and " " in one.strip()), "")


def _read(decode: Callable[[str], bytes], text: str) -> str:
    try:
        return decode(text).decode("utf-8")
    except ValueError:
        return ""


def _from_base64(text: str) -> bytes:
    bare = text.rstrip("=")
    return b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_" if {"-", "_"} & set(bare) else None)


def _instructs(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    for where, text in texts(spec):
        if len(text) > _TEXT_MAX:
            yield Problem(where, f"it has more than {_TEXT_MAX:,} characters; say it in fewer")
        encoded = _decoded(text)
        if encoded:
            yield Problem(where, f"it holds words that are encoded: {visible(encoded)!r:.160}; write them as they are")
        said = plain(text)
        for pattern, why in _PATTERNS:
            found = pattern.search(said)
            if found is not None:
                yield Problem(where, f"{why}: {visible(found[0])!r:.160}; describe the tool and nothing else")


TEXT_RULES: Final = (
    Rule("text-hidden", "error", "No text holds characters that nobody sees, or that pass for others.", _hidden),
    Rule(
        "text-instructs", "error", "No text gives the model orders, passes for another role, or is encoded.", _instructs
    ),
)
