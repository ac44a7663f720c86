"""Text for models is capped, and text for people is filled in."""

from typing import Any

import pytest

from surehand.normalize import cap, display


def test_a_short_text_stays() -> None:
    assert cap("x" * 100, 100, reference="art_1") == "x" * 100


def test_a_long_text_keeps_head_and_tail() -> None:
    shown = cap("a" * 80 + "m" * 1000 + "z" * 80, 100, reference="art_1")
    assert shown == (f"{'a' * 75}\n[... 1060 characters left out; the whole text is artifact art_1 ...]\n{'z' * 25}")


@pytest.mark.parametrize(
    ("template", "arguments", "shown"),
    [
        ("", {"a": 1}, "refund"),
        ("Refunds {a} to {b}", {"a": 5, "b": "bob"}, "Refunds 5 to bob"),
        ("Refunds {missing} {none}", {"none": None}, "Refunds"),
        ("{a}", {"a": "x" * 100}, "x" * 57 + "..."),
        ("{a.b} {0}", {"a": 1}, "{a.b} {0}"),
    ],
)
def test_a_display_template(template: str, arguments: dict[str, Any], shown: str) -> None:
    assert display(template, "refund", arguments) == shown
