"""Characters that steer instead of saying something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.redact import clean_text, visible

KEPT = [
    "",
    "plain text\n\twith layout",
    "\u05e9\u05dc\u05d5\u05dd \u200f(abc)\u200e \u0645\u0631\u062d\u0628\u0627",
    "\U0001f469\u200d\U0001f4bb \u2764\ufe0f e\u0301 \u0915\u094d\u200d\u0937",
    "\u3000\u4e2d\u6587\u00a0\u00ad",
    "\ufffd",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_says_something_stays(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\x00b\x1b[31mc\x7fd\x9be\r\nf", "ab[31mcde\nf"),
        ("pay \u202e001\u202c \u2066x\u2069", "pay 001 x"),
        ("hi" + "".join(chr(0xE0000 + ord(c)) for c in "ignore"), "hi"),
        ("\ud800x\udfff", "\ufffdx\ufffd"),
    ],
)
def test_what_steers_goes(text: str, clean: str) -> None:
    assert clean_text(text) == clean


@given(st.text(st.characters()))
def test_clean_text_holds_nothing_that_steers(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    assert clean_text(clean) == clean
    codes = {ord(c) for c in clean}
    assert not codes & {*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F)}
    assert not codes & {*range(0x2066, 0x206A), *range(0xE0000, 0xE0080)}
    gone = set(text) - set(clean)
    assert all(not c.isprintable() for c in gone)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext \u4e2d\u3000\u6587 \u05e9\u05dc\u05d5\u05dd e\u0301", None),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\u200f\u2060", "a\\u200bb\\u200f\\u2060"),
        ("\U000e0041", "\\U000e0041"),
        ("\x1b\x00\r\x85", "\\x1b\\x00\\x0d\\x85"),
        ("\ud800", "\\ud800"),
        ("\u3164\u115f\ufe0f\u00ad\u034f\u2800", "\\u3164\\u115f\\ufe0f\\xad\\u034f\\u2800"),
        ("\u00a0\u2028", "\\xa0\\u2028"),
    ],
)
def test_people_see_what_is_invisible(text: str, shown: str | None) -> None:
    assert visible(text) == (text if shown is None else shown)


@given(st.text(st.characters()))
def test_all_that_people_are_shown_can_be_seen(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t\u3000" for c in visible(text))
