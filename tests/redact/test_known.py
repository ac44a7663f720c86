"""What one call's secret arguments are, and that nothing said about the call shows them."""

import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.redact import MARK, Redactor
from surehand.redact.gather import MAX_SECRETS
from surehand.secrets import Secret

PW = {"type": "string", "writeOnly": True}
ROOT = Redactor(["hunter2-known"])


@pytest.mark.parametrize(
    ("schema", "arguments", "secrets"),
    [
        ({"properties": {"a": PW}}, {"a": "x", "b": "y"}, {"x"}),
        ({"properties": {"a": {"format": "password"}}}, {"a": "x", "b": "y"}, {"x"}),
        ({"properties": {"a": {"format": "password"}}}, {"a": 5}, set()),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": 1234}, {"1234"}),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": 1e22}, {"1e+22", "1e22", str(10**22)}),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": 2500.0}, {"2500.0", "2500"}),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": 0.5}, {"0.5"}),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": [True, None, {"b": ["x", 7]}]}, {"x", "7"}),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": 10**5000}, set()),
        ({"properties": {"list": {"items": PW}}}, {"list": ["x", "y", "x"]}, {"x", "y"}),
        ({"properties": {"a": {"$ref": "#/$defs/p"}}, "$defs": {"p": PW}}, {"a": "x"}, {"x"}),
        ({"additionalProperties": PW, "properties": {"b": {}}}, {"a": "x", "b": "y"}, {"x"}),
        ({"writeOnly": True}, {"a": "x", "b": ["y"]}, {"x", "y"}),
        ({"properties": {"a": {}, "b": PW}}, {"a": Secret("x")}, {"x"}),
        ({"properties": {"a": {}}}, {"a": "x", "password": "y"}, set()),
        (None, {"a": "x", "password": "y"}, set()),
    ],
)
def test_secret_arguments(schema: dict[str, Any] | None, arguments: dict[str, Any], secrets: set[str]) -> None:
    assert set(ROOT.secrets_in(arguments, schema)) == secrets


def test_names_count_where_they_are_asked_to() -> None:
    arguments = {"user": "bob", "password": "x", "tokens": 512, "credentials": {"user": "b", "list": ["c", 5]}}
    assert ROOT.secrets_in(arguments, None) == []
    assert set(ROOT.secrets_in(arguments, None, names=True)) == {"x", "b", "c"}
    assert set(ROOT.secrets_in({"pin": "1", "token": "t"}, {"properties": {"pin": PW}}, names=True)) == {"1", "t"}


def test_so_many_secrets_are_bounded_and_the_longest_stay() -> None:
    arguments = {"a": ["x" * n for n in range(1, 3001)]}
    found = ROOT.secrets_in(arguments, {"properties": {"a": {"writeOnly": True}}})
    assert len(found) == MAX_SECRETS
    assert min(map(len, found)) == 3001 - MAX_SECRETS


def test_deep_arguments_are_no_problem() -> None:
    value: Any = "deep-secret"
    for _ in range(5000):
        value = [value]
    assert ROOT.secrets_in({"a": value}, {"properties": {"a": {"writeOnly": True}}}) == ["deep-secret"]


def test_a_redactor_of_one_call_hides_its_secrets_everywhere() -> None:
    redactor = ROOT.with_known(["p@ss wörd", "12345", "ab"])
    assert redactor.text("said p@ss wörd and hunter2-known") == f"said {MARK} and {MARK}"
    assert redactor.text("?q=p%40ss%20w%C3%B6rd") == f"?q={MARK}"
    assert redactor.text(orjson.dumps({"a": "p@ss wörd"}).decode()) == f'{{"a":"{MARK}"}}'
    assert redactor.value({"p@ss wörd": 1, "a": 12345, "b": ["x12345"], "c": "ab", "d": "abc"}) == {
        MARK: 1,
        "a": MARK,
        "b": [f"x{MARK}"],
        "c": MARK,
        "d": "abc",
    }
    assert redactor.summary({"a": "12345"}) == {"a": MARK}


def test_what_one_call_knows_stays_with_it() -> None:
    one, other = ROOT.with_known(["secret-one"]), ROOT.with_known(["secret-two"])
    for _ in range(2):
        assert one.name("secret-one") == other.name("secret-two") == MARK
        assert other.name("secret-one") == ROOT.name("secret-one") == "secret-one"
        assert one.name("hunter2-known") == MARK
    assert one.with_known(["more-of-it"]).text("secret-one more-of-it hunter2-known") == f"{MARK} {MARK} {MARK}"
    assert one.text("more-of-it") == "more-of-it"
    assert repr(one) == "Redactor(2 known)"


def test_secrets_go_as_text_is_cleaned_and_trimmed() -> None:
    redactor = ROOT.with_known(["  pass\x00word \n", "a\nb c"])
    assert redactor.polish("it was pass\x00word!", 100) == f"it was {MARK}!"
    assert redactor.polish("it was 'password'", 100) == f"it was '{MARK}'"
    assert redactor.text('{"a":"a\\nb c"}') == f'{{"a":"{MARK}"}}'


def test_overlapping_values_leave_nothing() -> None:
    assert Redactor(["abcdef"]).with_known(["cdefgh"]).text("xabcdefghx") == f"x{MARK}x"
    assert Redactor(["cdefgh"]).with_known(["abcdef"]).text("xabcdefghx") == f"x{MARK}x"
    assert Redactor(["abcdef", "cdefgh"]).text("xabcdefghx abcdef") == f"x{MARK}x {MARK}"
    assert Redactor(["abcd", "efgh"]).text("abcdefgh") == MARK * 2


def test_many_known_values_and_many_places_go_too() -> None:
    redactor = Redactor([f"value-{n}" for n in range(200)])
    assert redactor.text("value-7 value-199 value-200") == f"{MARK} {MARK} {MARK}0"
    for known in (ROOT.with_known(["abcd", "abcdx"]), Redactor([f"abcd{n}" for n in range(60)] + ["abcd"])):
        assert known.text("abcd " * 150_000) == f"{MARK} " * 150_000


def test_clashing_names_keep_their_values_and_take_no_time() -> None:
    value = {"ghp_" + "a" * 20 + str(n): n for n in range(20_000)}
    began = time.process_time()
    shown = ROOT.value(value)
    assert time.process_time() - began < 2
    assert isinstance(shown, dict)
    assert list(shown.values()) == list(range(20_000))
    assert list(shown)[:3] == [MARK, f"{MARK}'", f"{MARK}'2"]


def test_a_redactor_of_one_call_costs_little() -> None:
    def best(run: Any) -> float:
        times: list[float] = []
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(200):
                run()
            times.append((time.perf_counter() - began) / 200)
        return min(times)

    # Some microseconds; the bound is for slow and busy machines.
    assert best(lambda: ROOT.with_known(["hunter2!", "12345", "another secret"])) < 100e-6


secret_text = st.text(st.characters(codec="utf-8"), min_size=4, max_size=12)


@given(secret_text, st.text(st.characters(), max_size=10), st.text(st.characters(), max_size=10))
def test_no_secret_argument_survives(secret: str, before: str, after: str) -> None:
    schema = {"properties": {"a": PW}}
    redactor = ROOT.with_known(ROOT.secrets_in({"a": secret}, schema))
    assert redactor.value({"a": secret}, schema) == {"a": MARK}
    for said in (secret, f"{before}{secret}{after}"):
        # What is left of a mark may itself be the secret, such as "redacted".
        if secret not in MARK:
            assert not any(secret in part for part in redactor.text(said).split(MARK))


# The last step


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\x1b[31m \ud800\u202e", "a[31m \ufffd"),
        ("say hunter2-known", f"say {MARK}"),
        ("hunter2\x00-known", MARK),
        (Secret("x"), "[secret]"),
        (ValueError("no hunter2-known"), f"no {MARK}"),
        (5, "5"),
        (None, "None"),
    ],
)
def test_polished_text_is_clean_and_without_secrets(text: Any, shown: str) -> None:
    assert ROOT.polish(text, 100) == shown


@pytest.mark.parametrize("limit", [0, 1, 9, 10, 11, 50, 4000])
@pytest.mark.parametrize("size", [0, 1, 10, 51, 5_000, 200_000])
def test_polished_text_is_bounded(limit: int, size: int) -> None:
    shown = ROOT.polish("y" * size, limit)
    assert len(shown) == min(size, limit)
    if size > limit > 10:
        assert shown.endswith(" [... cut]")


def test_no_part_of_a_secret_is_left_at_a_cut() -> None:
    for offset in range(0, 40):
        text = "y" * (16 * 100 + 4096 - offset) + "hunter2-known" * 20
        assert "hunter" not in ROOT.polish(text, 100)
    # Long secrets become short marks: what comes behind moves to the front.
    known = "s" * 1000
    assert "ss" not in Redactor([known]).polish(known * 1000, 100)
    known = "s" * 30_000
    assert "ss" not in ROOT.with_known([known]).polish(known * 30, 100)


def test_objects_that_raise_have_no_text() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise LookupError

    class Sly(str):
        def __str__(self) -> str:
            return self

        def isprintable(self) -> bool:
            return True

    assert ROOT.polish(Broken(), 10) == ""
    assert ROOT.polish(Sly("a\x00"), 10) == "a"


def test_long_text_takes_no_time() -> None:
    began = time.process_time()
    ROOT.polish("password=" * 10_000_000, 4000)
    assert time.process_time() - began < 2
