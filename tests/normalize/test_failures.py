"""What a model reads of a failure: a tool's own words made safe, or ours."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from surehand.errors import BusinessError, ToolError
from surehand.normalize import failures
from surehand.redact import MARK, Redactor
from surehand.secrets import Secret
from surehand.spec import ToolSpec

SPEC = ToolSpec(name="refund", version="2.0.0", description="Refunds.", parameters={"type": "object"})
REDACTOR = Redactor(["hunter2-known"])


class Bare(BusinessError):
    """Forgets `super().__init__()`."""

    def __init__(self) -> None:
        pass


class Silent(BusinessError):
    """Raises when asked for its text."""

    def __str__(self) -> str:
        raise LookupError("hunter2-known")


class NoText(BusinessError):
    """Has a text that is none."""

    def __str__(self) -> str:
        return 5  # pyright: ignore[reportReturnType]


class NoDetails(BusinessError):
    """Raises when asked for its details."""

    @property
    def details(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise LookupError("hunter2-known")

    @details.setter
    def details(self, value: Any) -> None:
        pass


class Broken(dict[str, Any]):
    """Raises when it is read."""

    def items(self) -> Any:
        raise LookupError("hunter2-known")


def with_details(details: Any) -> BusinessError:
    error = BusinessError("no")
    error.details = details
    return error


def doubled(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value, value]
    return value


def read(error: BusinessError) -> ToolError:
    said = failures.business(SPEC, error, REDACTOR)
    assert (said.code, said.tool, said.version, said.retryable) == ("TOOL_BUSINESS_ERROR", "refund", "2.0.0", False)
    assert msgspec.json.decode(msgspec.json.encode(said), type=ToolError) == said
    assert "hunter2" not in repr(said)
    assert len(said.message) <= failures.MESSAGE_CHARS
    assert len(msgspec.json.encode(said.details)) <= failures.DETAILS_BYTES
    return said


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BusinessError("the order was shipped"), "the order was shipped"),
        (BusinessError("a\x00b \ud800 \u202e hunter2-known"), f"ab \ufffd  {MARK}"),
        (BusinessError(""), "`refund` refused this call."),
        (Bare(), "`refund` refused this call."),
        (Silent("x"), "`refund` refused this call."),
        (NoText("x"), "`refund` refused this call."),
        (NoDetails("x"), "x"),
    ],
)
def test_a_tools_own_message(error: BusinessError, message: str) -> None:
    assert read(error).message == message


def test_a_long_message_is_cut() -> None:
    said = read(BusinessError("word " * 1_000_000)).message
    assert len(said) == failures.MESSAGE_CHARS
    assert said.startswith("word word ")
    assert said.endswith("[... cut]")


@pytest.mark.parametrize(
    ("details", "shown"),
    [
        ({"order": 5, "paid": True}, {"order": 5, "paid": True}),
        ({"a": math.nan, "b": -math.inf}, {"a": None, "b": None}),
        ({"a\x00": "\ud800\x1b[31m", "b": "hunter2-known"}, {"a": "\ufffd[31m", "b": MARK}),
        ({"hunter2-known": 1, "c": Secret("x")}, {MARK: 1, "c": "[secret]"}),
        ({"when": {1: (2, {3})}}, {"when": {"1": [2, [3]]}}),
        (None, {}),
        ({}, {}),
    ],
)
def test_details_are_json_without_secrets(details: Any, shown: dict[str, Any]) -> None:
    assert read(with_details(details)).details == shown


@pytest.mark.parametrize(
    ("details", "why"),
    [
        ([1], "they are not an object"),
        ("text", "they are not an object"),
        (5, "they are not an object"),
        ({"a": Silent("x")}, "they cannot be written as JSON of at most 8192 bytes"),
        (Broken(), "they cannot be written as JSON of at most 8192 bytes"),
        ({"a": object()}, "they cannot be written as JSON of at most 8192 bytes"),
        ({"a": "x" * 9000}, "they cannot be written as JSON of at most 8192 bytes"),
        ({"a": doubled(30)}, "they cannot be written as JSON of at most 8192 bytes"),
        ({"a": list(range(3000))}, "they cannot be written as JSON of at most 8192 bytes"),
        ({"a": [1234567] * 1500}, "they are larger than 8192 bytes"),
    ],
)
def test_details_that_do_not_fit_are_left_out(details: Any, why: str) -> None:
    assert read(with_details(details)).details == {"note": f"the details were left out: {why}"}


def test_details_that_cannot_be_read_are_left_out() -> None:
    assert "left out" in read(NoDetails("x")).details["note"]
    assert read(Bare()).details == {}


def test_no_two_errors_share_their_details() -> None:
    first, second = (ToolError(code="TOOL_ERROR", message="x", retryable=False, tool="t") for _ in range(2))
    first.details["a"] = 1
    assert second.details == {}


@pytest.mark.parametrize("cause", ["timeout", "cancelled", "error", "lost", "crash", "new"])
def test_an_unknown_outcome_needs_no_spec(cause: str) -> None:
    said = failures.unknown_of("refund", "2.0.0", cause)
    assert (said.code, said.tool, said.version, said.details) == (
        "TOOL_OUTCOME_UNKNOWN",
        "refund",
        "2.0.0",
        {"cause": cause},
    )
    assert "`refund`" in said.message
    assert failures.outcome_unknown(SPEC, cause).code == said.code


def test_the_timeout_is_told_where_it_is_known() -> None:
    assert f"within {SPEC.timeout_s:g} s (timeout)" in failures.outcome_unknown(SPEC, "timeout").message
    assert "in time (timeout)" in failures.unknown_of("refund", None, "timeout").message


@pytest.mark.parametrize(
    ("with_spec", "by_name"),
    [
        (lambda: failures.cancelled(SPEC), lambda: failures.cancelled_of("refund", "2.0.0")),
        (
            lambda: failures.output_invalid(SPEC, "it is too large"),
            lambda: failures.output_withheld("refund", "2.0.0", "it is too large"),
        ),
        (
            lambda: failures.outcome_unknown(SPEC, "lost"),
            lambda: failures.unknown_of("refund", "2.0.0", "lost"),
        ),
    ],
)
def test_a_tool_that_is_gone_is_told_of_alike(
    with_spec: Callable[[], ToolError], by_name: Callable[[], ToolError]
) -> None:
    assert with_spec() == by_name()


def test_a_read_has_no_effect_that_happened() -> None:
    assert "effect" not in failures.output_withheld("refund", None, "why", read_only=True).message


@pytest.mark.parametrize(
    ("said", "code", "retryable"),
    [
        (failures.unavailable(SPEC, "upstream"), "TOOL_UNAVAILABLE", True),
        (failures.crashed(SPEC), "TOOL_ERROR", False),
        (failures.crashed(SPEC, started=False), "TOOL_ERROR", False),
        (failures.timed_out(SPEC), "TOOL_TIMEOUT", True),
        (failures.cancelled(SPEC), "CANCELLED", False),
    ],
)
def test_our_own_words(said: ToolError, code: str, retryable: bool) -> None:
    assert (said.code, said.retryable, said.tool, said.version) == (code, retryable, "refund", "2.0.0")
    assert "`refund`" in said.message
