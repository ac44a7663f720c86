"""What credentials look like in text.

Every pattern is linear in the text, on any text. The rules that make it so:

- A pattern starts with a literal, and an attempt that fails has read a bounded number of characters, or a run
  that holds no further start.
- Loops are over one character class, or possessive with parts that exclude each other.
- A pattern with an open end takes all it reads, so that nothing is read again.

Each pattern is tried only when one of its literals is in the text at all.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MARK = "[redacted]"
"""What stands where a secret was."""
MIN_PLAIN_CHARS = 20
"""No shorter credential is made of letters and digits alone."""


class Pattern(NamedTuple):
    """One form of a credential."""

    literals: tuple[str, ...]
    """One of these is in every match."""
    regex: re.Pattern[str]
    replacement: str = MARK


def _key(literal: str, rest: str) -> Pattern:
    return Pattern((literal,), re.compile(re.escape(literal) + rest))


CASED: tuple[Pattern, ...] = (
    # PEM private keys: to the end mark, or to the end of the text if that was cut off.
    Pattern(
        ("PRIVATE KEY",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[^-]++|-(?!----))*+(?:-----END [A-Z0-9 ]{0,40}-----)?"
        ),
    ),
    # scheme://user:password@host. The last @ before the host ends the password.
    Pattern(("://",), re.compile(r"://([^\s/?#@:\"'<>]*+:)[^\s/?#\"'<>]*@"), rf"://\1{MARK}@"),
    Pattern(("AKIA", "ASIA"), re.compile("A[KS]IA[A-Z0-9]{16}")),  # AWS access key ids
    Pattern(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile("gh[oprsu]_[A-Za-z0-9]{20,}")),
    _key("github_pat_", "[A-Za-z0-9_]{20,}"),
    _key("glpat-", "[A-Za-z0-9_-]{16,}"),
    Pattern(("xox",), re.compile("xox[a-z]-[A-Za-z0-9-]{10,}")),  # Slack
    _key("xapp-", "[A-Za-z0-9-]{10,}"),
    _key("hooks.slack.com/services/", "[A-Za-z0-9/]{20,}"),
    Pattern(("k_live_", "k_test_"), re.compile("[rs]k_(?:live|test)_[A-Za-z0-9]{10,}")),  # Stripe
    _key("whsec_", "[A-Za-z0-9+/=]{20,}"),
    Pattern(("sk-",), re.compile("(?<![A-Za-z])sk-[A-Za-z0-9_-]{20,}")),  # OpenAI, Anthropic and others
    _key("AIza", "[A-Za-z0-9_-]{35}"),  # Google
    _key("GOCSPX-", "[A-Za-z0-9_-]{20,}"),
    _key("ya29.", "[A-Za-z0-9_-]{20,}"),
    _key("npm_", "[A-Za-z0-9]{36}"),
    _key("pypi-AgE", "[A-Za-z0-9_-]{20,}"),
    _key("hf_", "[A-Za-z0-9]{30,}"),
    _key("SG.", r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"),  # SendGrid
)

_ASSIGNED = (
    "password", "passwd", "pwd", "passphrase", "secret", "api_key", "apikey", "access_token", "refresh_token",
    "private_key", "access_key", "accountkey", "accesskey",
)  # fmt: skip
_NAMES = f"(?:{'|'.join(_ASSIGNED)})"

_BEARER = Pattern(("bearer", "basic"), re.compile(r"(?:bearer|basic)(?:[ \t]{1,4}|%20)([a-z0-9._~+/=-]{8,})"))
FOLDED: tuple[Pattern, ...] = (
    _BEARER,
    # Authorization: Scheme credentials, as a header or a quoted field.
    Pattern(
        ("authorization",),
        re.compile(
            r"authorization\\{0,4}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,4}[\"']?(?:[a-z]{1,20}[ \t]{1,4})?"
            r"([^\s\"'\\,;]{4,})"
        ),
    ),
    # name="value" and "name": "value", also as they stand inside another JSON text.
    Pattern(
        _ASSIGNED,
        re.compile(
            rf"{_NAMES}(?:=|\\{{0,4}}[\"'][ \t]{{0,4}}[:=][ \t]{{0,4}})(?P<quote>\\{{0,4}}[\"'])"
            r"((?:(?!(?P=quote))(?:\\.|[^\n\\]))++)"
        ),
    ),
    # name=value in connection strings, query strings and environments.
    Pattern(_ASSIGNED, re.compile(rf"{_NAMES}=([^\s&;,\"'<>\\]+)")),
)
"""Searched in text in lower case, which is much faster than searching in any case. The last group is hidden."""

_CASED_LITERALS = tuple((literal, pattern) for pattern in CASED for literal in pattern.literals)
_DOTTED = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)++\.?")
_TOKEN = re.compile("[0-9=]|[a-z][A-Z]")
MIN_TOKEN_CHARS = 24


def redact_patterns(text: str) -> str:
    """Replaces what looks like a credential."""
    if len(text) < MIN_PLAIN_CHARS and text.isalnum():
        return text
    # A pattern of two literals that are both there is tried twice, which changes nothing.
    for literal, pattern in _CASED_LITERALS:
        if literal in text:
            text = pattern.regex.sub(pattern.replacement, text)
    folded = fold(text)
    for pattern in FOLDED:
        for literal in pattern.literals:
            if literal in folded:
                text = _redact_folded(pattern, text, folded)
                folded = fold(text)
                break
    return _DOTTED.sub(_without_jwt, text) if "eyJ" in text else text


def fold(text: str) -> str:
    """Lower case, with each character at its place: only one character has a longer lower case."""
    folded = text.lower()
    return folded if len(folded) == len(text) else text.replace("\u0130", "i").lower()


def _redact_folded(pattern: Pattern, text: str, folded: str) -> str:
    parts: list[str] = []
    position = 0
    for match in pattern.regex.finditer(folded):
        start, end = match.span(pattern.regex.groups)
        if pattern is _BEARER and not _is_token(text[start:end]):
            continue
        parts += [text[position:start], MARK]
        position = end
    return "".join((*parts, text[position:]))


def _is_token(word: str) -> bool:
    # Prose such as "basic user-friendliness" has no long words, no inner capitals and no digits.
    return max(map(len, word.split("-"))) >= MIN_TOKEN_CHARS or _TOKEN.search(word) is not None


def _without_jwt(match: re.Match[str]) -> str:
    # By hand, part by part: as one pattern, every "eyJ" of a long part would read that part again.
    position = 0
    for part in match[0].split(".")[:-1]:
        start = part.find("eyJ")
        if 0 <= start <= len(part) - 12:
            return match[0][: position + start] + MARK
        position += len(part) + 1
    return match[0]
