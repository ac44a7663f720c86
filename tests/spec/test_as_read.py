"""Everybody sees the value that the handler gets: typed arguments, written as JSON and read again."""

import dataclasses
import json
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import pydantic
import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SecretBytes,
    SecretStr,
    WithJsonSchema,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
)

from surehand.errors import SpecError
from surehand.registry import Registry
from surehand.schema import compile_parameters
from surehand.secrets import Secret
from surehand.spec import Tool, tool


def taking(annotation: Any, *default: Any) -> Tool:
    """A tool with one argument `x`."""

    def take(x: Any) -> Any: ...

    take.__annotations__["x"] = annotation
    take.__defaults__ = default or None
    return tool(description="Takes.")(take)


def as_read(made: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Stage 3: what everybody sees; with the laws that it must keep."""
    assert made.bind is not None
    validator = compile_parameters(made.spec.parameters, "take")
    filled = validator.fill_defaults(validator.coerce(arguments)[0])
    assert validator.errors(filled) == []
    read = made.as_read(filled)
    assert validator.errors(read) == []
    assert json.dumps(made.as_read(read)) == json.dumps(read)
    return read


def bound(made: Tool, read: dict[str, Any]) -> Any:
    assert made.bind is not None
    return made.bind(json.dumps(read).encode())["x"]


class Hidden(BaseModel):
    a: int
    b: str = Field("d", exclude=True)


class Rounded(BaseModel):
    a: float

    @field_serializer("a")
    def shown(self, value: float) -> str:
        return f"{value:.1f}"


class German(BaseModel):
    day: Annotated[date, WithJsonSchema({"type": "string"})]

    @field_validator("day", mode="before")
    @classmethod
    def read(cls, value: Any) -> Any:
        return datetime.strptime(value, "%d.%m.%Y").date()  # noqa: DTZ007

    @field_serializer("day")
    def write(self, value: date) -> str:
        return value.strftime("%d.%m.%Y")


class Computed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: int

    @computed_field
    @property
    def twice(self) -> int:
        return 2 * self.a


class Renamed(BaseModel):
    a: int = Field(validation_alias="in", serialization_alias="out")
    b: int = Field(1, validation_alias=AliasChoices("b1", "b2"))


class Flat(BaseModel):
    a: int

    @model_serializer
    def flat(self) -> int:
        return self.a


class Sets(BaseModel):
    names: set[str]
    days: dict[str, frozenset[date]] = {}


class Private(BaseModel):
    a: int
    _lock: object = PrivateAttr(default_factory=object)


@dataclasses.dataclass
class Sum:
    a: int
    total: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.total = self.a + 1


class Opaque:
    def __init__(self, text: str) -> None:
        self.text = text


OPAQUE = Annotated[
    Opaque, PlainValidator(Opaque), PlainSerializer(lambda value: value.text), WithJsonSchema({"type": "string"})
]


@pytest.mark.parametrize(
    ("annotation", "written", "seen", "typed"),
    [
        (Hidden, {"a": 1, "b": "x"}, {"a": 1, "b": "x"}, Hidden(a=1, b="x")),
        (Rounded, {"a": 1.26}, {"a": 1.26}, Rounded(a=1.26)),
        (Rounded, {"a": 5.0}, {"a": 5}, Rounded(a=5)),
        (German, {"day": "31.12.2026"}, {"day": "31.12.2026"}, None),
        (Computed, {"a": 1}, {"a": 1}, Computed(a=1)),
        (list[Computed], [{"a": 1}], [{"a": 1}], [Computed(a=1)]),
        (Renamed, {"in": 1, "b1": 4}, {"in": 1, "b1": 4}, None),
        (Flat, {"a": 1}, {"a": 1}, Flat(a=1)),
        (Sum, {"a": 1}, {"a": 1}, Sum(1)),
        (Private, {"a": 1}, {"a": 1}, None),
        (OPAQUE, "a", "a", None),
        (set[str], ["c", "a", "b"], ["a", "b", "c"], {"a", "b", "c"}),
        (Sets, {"names": ["b", "a"]}, {"names": ["a", "b"], "days": {}}, Sets(names={"a", "b"})),
        (Annotated[str, AfterValidator(str.upper)], "a", "A", "A"),
        (float, 5.0, 5, 5.0),
        (float, 5, 5, 5.0),
        (float, -0.0, 0, 0.0),
        (float, 1e300, 1e300, 1e300),
        (float, 2**53 + 1, 2**53, 2.0**53),
        (list[float | None], [1, None, 1.5], [1, None, 1.5], [1.0, None, 1.5]),
    ],
)
def test_what_is_seen_is_what_is_read(annotation: Any, written: Any, seen: Any, typed: Any) -> None:
    made = taking(annotation)
    read = as_read(made, {"x": written})
    assert json.dumps(read) == json.dumps({"x": seen})
    if typed is not None:
        value = bound(made, read)
        assert value == typed
        assert type(value) is type(typed)


def test_a_tool_without_types_reads_what_is_there() -> None:
    arguments = {"x": 5}
    assert taking(int).as_read(arguments) is arguments


calls: list[int] = []


def counting(value: int) -> int:
    calls.append(value)
    return value + len(calls)


class Worse(BaseModel):
    """Reads what it wrote as something else."""

    a: int
    b: int = 0

    def __init__(self, **data: Any) -> None:
        super().__init__(**{**data, "b": data.get("b", 0) + 1})


@pytest.mark.parametrize(
    "annotation", [Annotated[int, AfterValidator(lambda v: v * 2)], Annotated[int, AfterValidator(counting)]]
)
def test_a_type_that_makes_another_value_each_time_is_refused(annotation: Any) -> None:
    with pytest.raises(ValueError, match=r"^\$\.x: the tool cannot take this value"):
        taking(annotation).as_read({"x": 7})
    with pytest.raises(ValueError, match=r"^\$\.x: the tool cannot take this value"):
        taking(Worse).as_read({"x": {"a": 1}})


def test_a_field_that_no_text_keeps_is_refused() -> None:
    class Lossy(BaseModel):
        a: Annotated[float, PlainSerializer(round)]

    assert taking(Lossy).as_read({"x": {"a": 2}}) == {"x": {"a": 2}}
    with pytest.raises(ValueError, match=r"^\$\.x: the tool cannot"):
        taking(Lossy).as_read({"x": {"a": 2.5}})


class Login(BaseModel):
    user: str
    password: SecretStr = SecretStr("changeme")
    tokens: list[Secret] = []
    raw: SecretBytes | None = None
    day: pydantic.Secret[date] | None = None


def test_secrets_reach_the_handler_as_they_are() -> None:
    made = taking(Secret)
    read = as_read(made, {"x": "hunter2"})
    assert read == {"x": "hunter2"}
    assert bound(made, read) == Secret("hunter2")
    assert made.spec.parameters["properties"]["x"] == {"type": "string", "format": "password", "writeOnly": True}
    assert as_read(taking(SecretStr), {"x": "hunter2"}) == {"x": "hunter2"}
    assert as_read(taking(dict[str, SecretStr]), {"x": {"a": "hunter2"}}) == {"x": {"a": "hunter2"}}
    made = taking(Login)
    written = {"user": "u", "password": "p", "tokens": ["t"], "raw": "r", "day": "2026-01-31"}
    read = as_read(made, {"x": written})
    assert read == {"x": written}
    login = bound(made, read)
    assert login.password.get_secret_value() == "p"
    assert login.tokens[0].reveal() == "t"
    assert login.raw.get_secret_value() == b"r"
    assert login.day.get_secret_value() == date(2026, 1, 31)


def test_the_mark_of_a_secret_is_no_secret() -> None:
    with pytest.raises(ValueError, match=r"^\$\.x: not a value"):
        taking(Secret).as_read({"x": "[secret]"})


def test_secret_defaults_are_filled_in_and_never_shown() -> None:
    for made in (taking(Login), taking(Login, Login(user="u")), taking(SecretStr, SecretStr("changeme"))):
        assert "changeme" not in json.dumps(made.spec.parameters)
        assert "***" not in json.dumps(made.spec.parameters)
    made = taking(Login, Login(user="u"))
    assert as_read(made, {})["x"]["password"] == "changeme"
    assert as_read(taking(Login), {"x": {"user": "u"}})["x"]["password"] == "changeme"
    assert as_read(taking(Secret, Secret("changeme")), {}) == {"x": "changeme"}


def test_every_secret_type_is_marked_in_the_schema() -> None:
    nodes = taking(Login).spec.parameters["$defs"]["Login"]["properties"]
    assert nodes["password"]["writeOnly"]
    assert nodes["tokens"]["items"]["writeOnly"]
    assert nodes["raw"]["anyOf"][0]["writeOnly"]
    assert nodes["day"]["anyOf"][0]["writeOnly"]


def test_the_order_of_a_set_does_not_depend_on_the_process() -> None:
    code = (
        "import sys, surehand as sh\n"
        "def take(x: set[str]) -> None: ...\n"
        "made = sh.tool(description='D.')(take)\n"
        "print(made.as_read({'x': ['b', 'a', 'd', 'c', 'e']}))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        ).stdout
        for seed in "012"
    }
    assert seen == {"{'x': ['a', 'b', 'c', 'd', 'e']}\n"}


def raising(error: Exception) -> Any:
    def validator(value: Any) -> Any:
        raise error

    return AfterValidator(validator)


@pytest.mark.parametrize("error", [KeyError("hunter2"), TypeError("hunter2"), ZeroDivisionError(), RecursionError()])
def test_whatever_a_validator_raises_is_a_value_error(error: Exception) -> None:
    def take(a: int, x: Annotated[int, raising(error)], b: Decimal = Decimal(1)) -> None: ...

    with pytest.raises(ValueError, match=r"^\$\.x: the type of this argument cannot take the value$"):
        tool(description="Takes.")(take).as_read({"a": 1, "x": 1})


def loud(value: Any) -> Any:
    raise ValueError(f"bad {value.get_secret_value() if isinstance(value, SecretStr) else value}")


class Loud(BaseModel):
    password: Annotated[SecretStr, AfterValidator(loud)]
    note: str = ""


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (Annotated[SecretStr, AfterValidator(loud)], "hunter2"),
        (Annotated[str, AfterValidator(loud), Field(json_schema_extra={"writeOnly": True})], "hunter2"),
        (Annotated[str, AfterValidator(loud), Field(json_schema_extra={"format": "password"})], "hunter2"),
        (Loud, {"password": "hunter2"}),
        (list[Loud], [{"password": "hunter2"}]),
        (Annotated[dict[str, date], Field(json_schema_extra={"writeOnly": True})], {"hunter2": "x"}),
    ],
)
def test_no_message_tells_of_a_secret(annotation: Any, written: Any) -> None:
    with pytest.raises(ValueError, match=r"^\$\.x.*: not a value that this argument can have$") as caught:
        taking(annotation).as_read({"x": written})
    assert "hunter2" not in str(caught.value)


def test_what_a_validator_says_of_other_arguments_is_for_the_model_and_short() -> None:
    made = taking(Annotated[str, AfterValidator(loud)])
    with pytest.raises(ValueError, match=r"bad no$"):
        made.as_read({"x": "no"})
    with pytest.raises(ValueError, match="bad aaa") as caught:
        made.as_read({"x": "a" * 10_000})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (Annotated[int, Field(le=100)], 1000),
        (int, Field(1000, le=100)),
        (int, None),
        (date, "2026-02-30"),
        (Annotated[str, Field(json_schema_extra={"format": "email"})], ""),
    ],
)
def test_a_default_that_its_schema_refuses_is_refused(annotation: Any, default: Any) -> None:
    with pytest.raises(SpecError, match=r"default at properties/x|default is not of the type"):
        Registry().register(taking(annotation, default))


def test_a_default_that_only_its_type_refuses_is_refused() -> None:
    for annotation, default in ((Annotated[Decimal, Field(le=100)], Decimal(1000)), (Decimal, Field("1000", le=100))):
        with pytest.raises(SpecError, match=r"a default is not of the type that it stands in: \$\.x: Input should be"):
            taking(annotation, default)


def test_a_default_inside_a_model_is_looked_at_too() -> None:
    class Inner(BaseModel):
        a: int = Field(1000, le=100)

    with pytest.raises(SpecError, match="the default at"):
        Registry().register(taking(Inner))


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (int, (Field(default_factory=lambda: 7),)),
        (Annotated[int, Field(default_factory=lambda: 7)], ()),
        (int, (Field(7),)),
        (Annotated[int, Field(7)], ()),
        (Annotated[int, Field(le=100)], (7,)),
        (float, (7.0,)),
    ],
)
def test_defaults_are_always_filled_in(annotation: Any, default: tuple[Any, ...]) -> None:
    made = taking(annotation, *default)
    assert "x" not in made.spec.parameters.get("required", [])
    filled = compile_parameters(made.spec.parameters, "take").fill_defaults({})
    assert json.dumps(made.as_read(filled)) == '{"x": 7}'


def test_a_factory_that_makes_what_does_not_fit_is_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match=r"\$\.x: Input should be less than"):
        taking(Annotated[int, Field(default_factory=lambda: 700, le=100)]).as_read({})
    with pytest.raises(SpecError, match="default_factory that takes other arguments"):
        taking(Annotated[int, Field(default_factory=lambda data: 1)])
