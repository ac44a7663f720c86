"""What handlers return becomes one bounded JSON value, or one kind of error, whatever it is."""

import dataclasses
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from surehand.normalize import LIMIT_BYTES, LIMIT_NODES, Unwritable, read_value
from surehand.normalize.value import MAX_ATTACHMENTS
from surehand.secrets import Secret
from surehand.spec import Tool, tool
from surehand.types import Attachment, Output


def doubled(levels: int) -> list[Any]:
    """Small in memory, 2**levels values when written out."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value, value]
    return value


class Endless(Mapping[str, int]):
    """A mapping that never ends."""

    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield str(number)

    def __len__(self) -> int:
        return 1


class EndlessList(list[int]):
    """A list that never ends."""

    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


def cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any
    _hidden: str = "x"


class Record(msgspec.Struct):
    left: Any
    right: Any


class Model(BaseModel):
    left: Any = None
    right: Any = None


def raising(*names: str) -> Any:
    """An object whose methods of these names raise."""

    def broken(self: object, *args: object, **kwargs: object) -> Any:
        raise LookupError("hunter2")

    return type("Broken", (), {name: property(broken) if name == "__class__" else broken for name in names})()


class Evil(str):
    """A string that lies about itself."""

    def isprintable(self) -> bool:
        return True

    def __str__(self) -> str:
        raise LookupError("hunter2")


# In terms of JSON


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


@pytest.mark.parametrize(
    ("returned", "text", "structured"),
    [
        ("hello", "hello", None),
        ("", "(empty)", None),
        (None, "Done.", None),
        (math.nan, "null", None),
        ([1, 2.5, True, None], "[1,2.5,true,null]", [1, 2.5, True, None]),
        ({"a": (1,), 5: {2, 1}}, '{"a":[1],"5":[1,2]}', {"a": [1], "5": [1, 2]}),
        ({"a": math.inf, "b": Decimal("NaN"), "c": Decimal("sNaN")}, None, {"a": None, "b": None, "c": None}),
        ([Decimal("1.50"), Color.RED, Level.HIGH, Word.YES], None, ["1.50", "red", 3, "yes"]),
        ([date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)], None, ["2026-01-02", "2026-01-02T00:00:00+00:00"]),
        ([UUID(int=1), b"abc", bytearray(b"abc")], None, ["00000000-0000-0000-0000-000000000001", "YWJj", "YWJj"]),
        (Secret("hunter2"), "[secret]", None),
        (
            Pair(1, Record(2, Model(left=3))),
            None,
            {"left": 1, "right": {"left": 2, "right": {"left": 3, "right": None}}},
        ),
        ({"a\x00": 1, "a": 2, "a\x01": 3}, None, {"a": 1, "a (2)": 2, "a (3)": 3}),
        ({1: "x", "1": "y", Level.HIGH: "z"}, None, {"1": "x", "1 (2)": "y", "3": "z"}),
        (["a\x00b", "\ud800", "\u202egpj.exe"], None, ["ab", "\ufffd", "gpj.exe"]),
        ("a\x1b[31mb\ud800", "a[31mb\ufffd", None),
        ({"deep\x00": ["\x07"]}, None, {"deep": [""]}),
        (Output(text="a\x00b", structured={"n": 1}), "ab", {"n": 1}),
        ([2**70], "[1180591620717411303424]", [2**70]),
        ([Evil("evil\x00")], None, ["evil"]),
    ],
)
def test_values_in_terms_of_json(returned: Any, text: str | None, structured: Any) -> None:
    value = read_value(returned, None)
    assert value.structured == structured
    assert value.text == (msgspec.json.encode(structured).decode() if text is None else text)
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_what_is_not_finite_is_told() -> None:
    assert read_value([math.nan], None).not_finite
    assert not read_value([1.5], None).not_finite


def test_subclasses_of_plain_values_become_plain() -> None:
    class Odd(int):
        def __int__(self) -> int:
            raise LookupError

        __index__ = __int__

    class Loud(float):
        def __float__(self) -> float:
            raise LookupError

    value = read_value([Odd(5), Loud(1.5), Word.YES, Evil("x")], None)
    assert [type(one) for one in value.structured] == [int, float, str, str]


# Bounds


@pytest.mark.parametrize(
    "returned",
    [
        doubled(24),
        [0] * 8_000_000,
        {"a": [0] * 8_000_000},
        Endless(),
        EndlessList(),
        [EndlessList()],
        Pair(doubled(24), 1),
        Record(doubled(24), 1),
        Model(left=doubled(24)),
        [Model(left=doubled(24))],
        {n: n for n in range(300_000)},
        set(range(300_000)),
    ],
    ids=range(12),
)
def test_too_many_values_stop_early(returned: Any) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=f"^it is larger than {LIMIT_NODES} values$"):
        read_value(returned, None)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "returned",
    [
        "x" * 100_000_000,
        ["x" * 10_000_000] * 2,
        {"x" * 100_000_000: 1},
        ["\u00e9" * 9_000_000],
        b"x" * 20_000_000,
        [b"x" * 14_000_000],
        Output(text="x" * 20_000_000),
        Output(text="", attachments=(Attachment(body=b"x" * 9_000_000),) * 2),
        Output(text="x" * 9_000_000, structured="x" * 9_000_000),
        Model(left="x" * 20_000_000),
        '"' * 9_000_000 + "x" * 8_000_000,
        ['"' * 9_000_000],
    ],
    ids=range(12),
)
def test_too_much_text_stops_early(returned: Any) -> None:
    with pytest.raises(ValueError, match=f"^it is larger than {LIMIT_BYTES} bytes$"):
        read_value(returned, None)


def test_the_bound_can_be_chosen() -> None:
    assert read_value("x" * 100, None, limit_bytes=100).text == "x" * 100
    with pytest.raises(Unwritable, match="larger than 99 bytes"):
        read_value("x" * 100, None, limit_bytes=99)
    with pytest.raises(Unwritable, match="larger than 99 bytes"):
        read_value(b"x" * 100, None, limit_bytes=99)


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (cycle(), "it is nested more than 100 levels deep"),
        ([10**5000], "it holds a number of more than 4000 digits"),
        ({10**5000: 1}, "it holds a number of more than 4000 digits"),
        (Output(attachments=(Attachment(body=b""),) * (MAX_ATTACHMENTS + 1)), "it has more than 100 attachments"),
        (object(), "it holds a object, which JSON has no form for"),
        ([1j], "it holds a complex, which JSON has no form for"),
        (iter([1]), "it holds a list_iterator, which JSON has no form for"),
        (Model, "it holds a class, which JSON has no form for"),
        (Pair, "it holds a class, which JSON has no form for"),
        (datetime(2026, 1, 2, tzinfo=UTC).timetz(), "it holds a time, which JSON has no form for"),
        ({None: 1}, "it has a NoneType as a key; JSON keys are strings"),
        ({1.5: 1}, "it has a float as a key; JSON keys are strings"),
    ],
)
def test_what_cannot_be_written_says_why(returned: Any, why: str) -> None:
    with pytest.raises(Unwritable) as caught:
        read_value(returned, None)
    assert str(caught.value) == why


# Objects that fight back


@pytest.mark.parametrize(
    "make",
    [
        lambda: raising("model_dump"),
        lambda: raising("__str__", "__repr__"),
        lambda: raising("__getattr__"),
        lambda: raising("__getattribute__"),
        lambda: raising("__class__"),
        lambda: {raising("__str__", "__repr__"): 1},
        lambda: [type("Keys", (dict,), {"items": lambda self: 1 / 0})(a=1)],
        lambda: [type("Many", (list,), {"__len__": lambda self: 1 / 0})([1])],
        lambda: type("Reveals", (Output,), {"__init__": lambda self: None})(),
        lambda: type("Model", (), {"model_dump": lambda self, mode: self})(),
        lambda: type("Dump", (), {"model_dump": 5})(),
        lambda: type("Twice", (), {"model_dump": lambda self, mode: [self, self]})(),
    ],
    ids=range(12),
)
def test_objects_that_raise_are_one_kind_of_error(make: Any) -> None:
    with pytest.raises(Unwritable) as caught:
        read_value(make(), None)
    assert "hunter2" not in str(caught.value)


def test_a_users_own_value_error_is_reworded() -> None:
    class Sneaky:
        def model_dump(self, mode: str) -> Any:
            raise ValueError("hunter2")

    with pytest.raises(Unwritable, match=r"^an error was raised while it was read$") as caught:
        read_value(Sneaky(), None)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_still_does(stop: type[BaseException]) -> None:
    class Ends:
        def model_dump(self, mode: str) -> Any:
            raise stop

    with pytest.raises(stop):
        read_value(Ends(), None)


# With the tool's own types


def of(function: Any) -> Tool:
    return tool(version="1.0.0", read_only=True)(function)


def test_a_tools_own_type_writes_its_values() -> None:
    def day() -> Model:
        """Gives a day."""
        return Model()

    assert read_value(Model(left=date(2026, 1, 2)), of(day)).structured == {"left": "2026-01-02", "right": None}


def test_a_generator_is_read_within_bounds() -> None:
    def numbers() -> Iterable[int]:
        """Gives numbers."""
        return iter([1])

    bound = of(numbers)
    assert bound.dump is not None
    assert read_value(iter([1, 2]), bound).structured == [1, 2]
    with pytest.raises(Unwritable, match="larger than"):
        read_value((1 for _ in iter(int, 1)), bound)


@pytest.mark.parametrize(
    "returned",
    [
        Model(left=doubled(30)),
        Model(left=Pair(doubled(30), 1)),
        Model(left=Record(doubled(30), 1)),
        Model(left=Model(left=doubled(30))),
        Model(left=Endless()),
        Model(left={"a": [0] * 8_000_000}),
        Model(left="x" * 20_000_000),
        Model(left=[iter(int, 1)], right=Model),
    ],
    ids=range(8),
)
def test_what_a_type_would_write_out_is_bounded_before(returned: Any) -> None:
    def day() -> Model:
        """Gives a day."""
        return Model()

    began = time.process_time()
    with pytest.raises(Unwritable, match=r"larger than|an iterator"):
        read_value(returned, of(day))
    assert time.process_time() - began < 2


def test_a_value_of_another_type_than_promised_ends_too() -> None:
    def day() -> Model:
        """Gives a day."""
        return Model()

    for returned in (object(), doubled(24), cycle()):
        with pytest.raises(Unwritable):
            read_value(returned, of(day))


# Output and Attachment


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Output(text=5), "Output: text must be a string, or None"),  # pyright: ignore[reportArgumentType]
        (lambda: Output(attachments=5), "Output: attachments must be a tuple of Attachment, not int"),  # pyright: ignore[reportArgumentType]
        (lambda: Output(attachments=(b"x",)), "must be a tuple of Attachment, not bytes"),  # pyright: ignore[reportArgumentType]
        (lambda: Output(attachments=Attachment(body=b"")), "not Attachment"),  # pyright: ignore[reportArgumentType]
        (lambda: Attachment(body="text"), "Attachment: body must be bytes, not str"),  # pyright: ignore[reportArgumentType]
        (lambda: Attachment(body=b"", media_type=None), "media_type must be a string"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_wrong_outputs_are_refused_where_they_are_made(make: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        make()


def test_outputs_take_what_is_nearly_right() -> None:
    attachment = Attachment(body=bytearray(b"x"))  # pyright: ignore[reportArgumentType]
    assert attachment.body == b"x"
    assert type(attachment.body) is bytes
    assert Output(attachments=[attachment]).attachments == (attachment,)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("media_type", ["image/png", "text/csv; charset=utf-8", 'text/x;name="a b.txt"', "a/b+c.d-e"])
def test_media_types_stay(media_type: str) -> None:
    value = read_value(Attachment(body=b"x", media_type=media_type), None)
    assert (value.text, value.attachments) == ("(empty)", ((media_type, b"x"),))


@pytest.mark.parametrize(
    "media_type",
    [
        "",
        "x",
        "text/",
        "text/\ud800",
        "text/plain\n",
        "text/plain\r\nSet-Cookie: a=b",
        "a/b c",
        "a/" + "b" * 200,
        "é/b",
    ],
)
def test_what_is_no_media_type_is_any(media_type: str) -> None:
    value = read_value(Attachment(body=b"x", media_type=media_type), None)
    assert value.attachments == (("application/octet-stream", b"x"),)


@pytest.mark.parametrize(
    ("field", "wrong", "why"),
    [
        ("text", 5, "its text is not a string"),
        ("attachments", 5, "its attachments are not a tuple"),
        ("attachments", (5,), "one of its attachments is not bytes"),
    ],
)
def test_outputs_are_checked_again(field: str, wrong: Any, why: str) -> None:
    output = Output(text="x")
    object.__setattr__(output, field, wrong)
    with pytest.raises(Unwritable, match=why):
        read_value(output, None)


def test_attachments_are_checked_again() -> None:
    attachment = Attachment(body=b"x")
    object.__setattr__(attachment, "media_type", None)
    assert read_value(attachment, None).attachments == (("application/octet-stream", b"x"),)
    object.__setattr__(attachment, "body", "text")
    with pytest.raises(Unwritable, match="is not bytes"):
        read_value(attachment, None)


# Laws

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=8)
    | st.decimals()
    | st.datetimes()
    | st.builds(object)
    | st.builds(lambda: raising("model_dump"))
    | st.sampled_from([Color.RED, Word.YES, Level.HIGH]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters()) | st.integers(), inner, max_size=4)
        | st.builds(Pair, inner, inner)
        | st.builds(Record, inner, inner)
        | st.builds(Model, left=inner, right=inner)
        | st.builds(Output, structured=inner)
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(anything)
def test_whatever_is_returned_is_written_or_refused(returned: Any) -> None:
    try:
        value = read_value(returned, None)
    except ValueError:
        return
    again = msgspec.json.decode(msgspec.json.encode(value), type=type(value))
    assert again == value
    assert value.text
    assert "\x00" not in msgspec.json.encode(value).decode()
