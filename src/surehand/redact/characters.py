"""Characters that steer a reader or a terminal instead of saying something."""

from __future__ import annotations

import re

# C0 and C1 controls but tab and newline; bidi embeddings, overrides and isolates; Unicode tags.
_DROPPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Said to be printable, yet show nothing: fillers, joiners, variation selectors, blank braille.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)  # fmt: skip
_SHOWN = "\n\t\u3000"


def clean_text(text: str) -> str:
    """Drops what can hide or reorder text; call it before redaction, since it may join what was apart.

    Dropped: control characters other than newline and tab, bidi embeddings, overrides and isolates, Unicode
    tags (U+E0000-E007F). Surrogates become U+FFFD. All else stays: right-to-left text with its marks, joined
    emoji, combining characters.
    """
    if text.isprintable():
        # Printable excludes every character that is dropped or replaced.
        return text
    return _SURROGATE.sub("\ufffd", _DROPPED.sub("", text))


def visible(text: str) -> str:
    r"""Shows invisible and reordering characters to people as escapes such as `\u202e`.

    Newline, tab and the ideographic space stay. Joiners inside emoji are escaped too: what an approver reads
    must have no unseen part.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _is_shown(c) else _escape(c) for c in text)


def _is_shown(character: str) -> bool:
    return (character.isprintable() and not _BLANK.match(character)) or character in _SHOWN


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
