"""`@tool`: what it makes of a signature, and what it refuses."""

import dataclasses
import enum
import json
import subprocess
import sys
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, RootModel
from typing_extensions import TypedDict

from surehand.errors import SpecError
from surehand.registry import Registry
from surehand.schema import compile_parameters
from surehand.spec import DATA_SOURCES, RUNTIME_SOURCES, Injected, Retry, Tool, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Size:
    cm: int
    note: str = "-"


class Label(TypedDict, total=False):
    text: str


class Order(BaseModel):
    """An order."""

    number: int = Field(ge=1, description="Its number.", alias="no")
    sizes: list[Size] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow", title="Anything at all")

    title: str = "t"


class Numbers(RootModel[list[int]]):
    pass


class Node(BaseModel):
    kids: list["Node"] = []


@tool(version="1.2.0", risk="medium", read_only=True, permissions=["orders:read"], owner="shop", timeout_s=5)
async def find_orders(
    region: Literal["north", "south"],
    day: date,
    *,
    limit: Annotated[int, Field(ge=1, le=50, description="At most.")] = 10,
    tenant_id: Annotated[str, Injected("tenant")],
    log: Annotated[Any, Injected("logger")],
) -> list[Order]:
    """Finds orders of one day.

    Never returns names of customers.

    Args:
        region: Where they were
            ordered.
        day: When.
        limit: This text loses to that of the field.
        tenant_id: Hidden.
        log: Hidden too.
    """
    return []


def test_a_contract_from_a_signature() -> None:
    spec = find_orders.spec
    assert spec.id == "find_orders@1.2.0"
    assert spec.description == "Finds orders of one day.\n\nNever returns names of customers."
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "region": {"enum": ["north", "south"], "type": "string", "description": "Where they were ordered."},
            "day": {"type": "string", "format": "date", "description": "When."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "At most."},
        },
        "required": ["region", "day"],
        "additionalProperties": False,
    }
    assert spec.injected == {"tenant_id": "tenant", "log": "logger"}
    assert spec.output_schema is not None
    assert spec.output_schema["type"] == "array"
    assert (spec.risk, spec.permissions, spec.owner, spec.idempotency) == (
        "medium",
        ("orders:read",),
        "shop",
        "safe_retry",
    )
    assert spec.target.endswith("test_function:find_orders")
    assert isinstance(find_orders, Tool)


async def test_a_tool_is_still_callable() -> None:
    assert await find_orders("north", date(2026, 1, 1), tenant_id="t", log=None) == []


def test_c40_no_schema_tells_of_injected_arguments() -> None:
    spec = find_orders.spec
    told = json.dumps([spec.description, spec.parameters, spec.output_schema])
    for hidden in ("tenant", "log", "Hidden", "t1"):
        assert hidden not in told
    validator = compile_parameters(spec.parameters, "find_orders")
    good = {"region": "north", "day": "2026-01-31"}
    assert validator.is_valid(good)
    assert not validator.is_valid({**good, "tenant_id": "t2"})
    for bad in ({"region": 5}, {**good, "limit": "x"}, {**good, "page": 1}, {"region": "north"}):
        text = " ".join(map(str, validator.errors(bad)))
        assert text
        assert "tenant" not in text
        assert "log" not in text


def test_bare_form_of_a_sync_function() -> None:
    @tool
    def add(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    assert add.spec.output_schema == {"type": "integer"}
    assert (add.bind, add.canonical, add.dump) == (None, None, None)
    assert add(1) == 2
    Registry().register(add)


TYPES: list[tuple[Any, Any, Any]] = [
    (date, "2026-01-31", date(2026, 1, 31)),
    (datetime, "2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
    (Decimal, "12.50", Decimal("12.50")),
    (UUID, "7f0c1c1e-5a3b-4c44-9d3e-0b8a1c2d3e4f", UUID("7f0c1c1e-5a3b-4c44-9d3e-0b8a1c2d3e4f")),
    (Colour, "red", Colour.RED),
    (Size, {"cm": 1, "note": "-"}, Size(1)),
    (Label, {"text": "x"}, {"text": "x"}),
    (Order, {"no": 1, "sizes": [{"cm": 2, "note": "n"}]}, Order(no=1, sizes=[Size(2, "n")])),
    (Open, {"title": "x", "more": 1}, Open.model_validate({"title": "x", "more": 1})),
    (Numbers, [1, 2], Numbers([1, 2])),
    (Node, {"kids": [{"kids": []}]}, Node(kids=[Node()])),
    (Order | None, None, None),
    (list[date], ["2026-01-31"], [date(2026, 1, 31)]),
    (dict[str, Decimal], {"a": "1"}, {"a": Decimal(1)}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (set[int], [1], {1}),
    (Annotated[str, AfterValidator(str.upper)], "A", "A"),
]


@pytest.mark.parametrize(("annotation", "written", "typed"), TYPES, ids=str)
def test_typed_arguments(annotation: Any, written: Any, typed: Any) -> None:
    def take(x: Any) -> Any: ...

    take.__annotations__["x"] = annotation
    made = tool(description="Takes.")(take)
    assert made.bind is not None
    assert made.canonical is not None
    validator = compile_parameters(made.spec.parameters, "take")
    assert validator.errors({"x": written}) == []
    bound = made.bind(json.dumps({"x": written}).encode())
    assert bound == {"x": typed}
    assert made.canonical(bound) == {"x": written}


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (str, "a"),
        (int, 1),
        (bool, True),
        (Any, {"a": [1]}),
        (list, [1]),
        (list[int | None], [1, None]),
        (dict[str, list[str]], {"a": ["b"]}),
        (Literal["a", 1, None], 1),
        (JsonValue, [None]),
        (Annotated[str, Field(max_length=3, min_length=1)], "abc"),
        (Annotated[int | None, Field(description="d")], None),
    ],
    ids=str,
)
def test_plain_arguments_pass_as_they_are(annotation: Any, written: Any) -> None:
    def take(x: Any) -> Any: ...

    take.__annotations__["x"] = annotation
    made = tool(description="Takes.")(take)
    assert made.bind is None
    assert made.canonical is None
    assert compile_parameters(made.spec.parameters, "take").is_valid({"x": written})


def test_every_object_is_closed_unless_its_type_is_open() -> None:
    @tool(description="Takes.")
    def take(order: Order, node: Node | None, open_: Open, free: dict[str, Any], labels: list[Label]) -> None: ...

    schema = take.spec.parameters
    closed = {name: node.get("additionalProperties") for name, node in schema["$defs"].items()}
    assert closed == {"Order": False, "Size": False, "Node": False, "Open": True, "Label": False}
    assert schema["properties"]["free"] == {"type": "object", "additionalProperties": True}
    titles = [node.get("title") for node in schema["$defs"].values()]
    assert [title for title in titles if title] == ["Anything at all"]
    assert schema["$defs"]["Open"]["properties"]["title"] == {"type": "string", "default": "t"}


def test_enums_and_decimals() -> None:
    @tool(description="Takes.")
    def take(colour: Colour = Colour.RED, amount: Decimal = Decimal("1.50")) -> Colour: ...

    assert take.spec.parameters["$defs"]["Colour"] == {"enum": ["red", "blue"], "type": "string"}
    assert take.spec.parameters["properties"]["colour"]["default"] == "red"
    assert take.spec.parameters["properties"]["amount"]["default"] == "1.50"
    assert take.spec.output_schema == {"enum": ["red", "blue"], "type": "string"}
    validator = compile_parameters(take.spec.parameters, "take")
    assert not validator.is_valid({"amount": 1.5})
    assert validator.fill_defaults({}) == {"colour": "red", "amount": "1.50"}


def test_names_that_pydantic_would_not_take() -> None:
    @tool(description="Takes.")
    def take(_x: date, copy: int, schema: str, model_config: str, self_: bool = True) -> None: ...

    assert list(take.spec.parameters["properties"]) == ["_x", "copy", "schema", "model_config", "self_"]
    assert take.bind is not None
    bound = take.bind(b'{"_x": "2026-01-31", "copy": 1, "schema": "s", "model_config": "c"}')
    assert bound == {"_x": date(2026, 1, 31), "copy": 1, "schema": "s", "model_config": "c", "self_": True}


def test_an_alias_is_the_name_in_json() -> None:
    @tool(description="Takes.")
    def take(from_: Annotated[int, Field(alias="from")], to: int = Field(default=3, ge=1)) -> None: ...

    assert take.spec.parameters["required"] == ["from"]
    assert take.spec.parameters["properties"]["to"] == {"type": "integer", "minimum": 1, "default": 3}
    assert take.bind is not None
    assert take.canonical is not None
    assert take.bind(b'{"from": 1}') == {"from_": 1, "to": 3}
    assert take.canonical({"from_": 1, "to": 3}) == {"from": 1, "to": 3}


def test_binding_is_strict_and_says_where() -> None:
    @tool(description="Takes.")
    def take(order: Order, amount: Annotated[Decimal, Field(ge=1)] = Decimal(1)) -> None: ...

    assert take.bind is not None
    for written in ({"no": "1"}, {"no": True}, {"no": 1.0}, {"no": 1, "sizes": [{"cm": "hunter2"}]}):
        with pytest.raises(ValueError, match=r"\$\.order\.") as caught:
            take.bind(json.dumps({"order": written}).encode())
        assert "hunter2" not in str(caught.value)
    with pytest.raises(ValueError, match=r"\$\.amount: Input should be greater"):
        take.bind(b'{"order": {"no": 1}, "amount": "0.5"}')
    with pytest.raises(ValueError, match=r"\$\.order\.sizes\[0\]\.cm"):
        take.bind(b'{"order": {"no": 1, "sizes": [{}]}}')


def test_canonical_refuses_what_the_types_do_not_hold() -> None:
    @tool(description="Takes.")
    def take(day: date) -> None: ...

    assert take.canonical is not None
    with pytest.raises(ValueError, match="declares"):
        take.canonical({"day": "x"})
    assert take.canonical({"day": date(2026, 1, 1), "tenant_id": "ignored"}) == {"day": "2026-01-01"}


@tool(description="Takes.")
def typed_tool(order: Order, amount: Decimal, at: datetime) -> None: ...


@given(
    st.builds(
        Order,
        no=st.integers(1, 2**60),
        sizes=st.lists(
            st.builds(Size, st.integers(-(2**60), 2**60), st.text(st.characters(exclude_categories=["Cs"])))
        ),
    ),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9),
    st.datetimes(timezones=st.just(UTC)),
)
def test_types_survive_the_way_through_json(order: Order, amount: Decimal, at: datetime) -> None:
    assert typed_tool.bind is not None
    assert typed_tool.canonical is not None
    typed = {"order": order, "amount": amount, "at": at}
    written = typed_tool.canonical(typed)
    assert compile_parameters(typed_tool.spec.parameters, "typed").errors(written) == []
    assert typed_tool.bind(json.dumps(written).encode()) == typed


@pytest.mark.parametrize("annotation", [None, Any, str])
def test_returns_that_promise_nothing(annotation: Any) -> None:
    def give() -> Any: ...

    give.__annotations__["return"] = annotation
    made = tool(description="Gives.")(give)
    assert (made.spec.output_schema, made.dump) == (None, None)

    def silent(): ...

    assert tool(description="Gives.")(silent).spec.output_schema is None


def test_returns_are_dumped() -> None:
    @tool(description="Gives.")
    def give() -> list[Order]: ...

    @tool(description="Gives.")
    def plain() -> dict[str, int]: ...

    assert give.dump is not None
    assert give.dump([Order(no=1, sizes=[Size(2)])]) == [{"no": 1, "sizes": [{"cm": 2, "note": "-"}]}]
    assert plain.dump is None
    assert plain.spec.output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    Registry().register(give)


def test_fields_of_the_contract() -> None:
    def check(arguments: dict[str, Any]) -> None: ...
    def undo() -> None: ...

    @tool(
        name="pay",
        description="Pays.",
        display="Paying {amount}",
        risk="high",
        requires_approval=True,
        idempotency="idempotency_key",
        key=["order"],
        key_retention_s=60,
        retry=Retry(kind="exponential", attempts=5),
        sequential=True,
        runner="inline",
        tags=["money"],
        stage="draft",
        check=check,
        undo=undo,
    )
    def transfer(order: str, amount: int) -> None: ...

    spec = transfer.spec
    assert (spec.name, spec.description, spec.display) == ("pay", "Pays.", "Paying {amount}")
    assert (spec.key, spec.retry.attempts, spec.sequential, spec.stage) == (("order",), 5, True, "draft")
    assert (transfer.check, transfer.undo, transfer.status_check) == (check, undo, None)
    assert tool(retry="simple", description="A.")(undo).spec.retry == Retry(kind="simple")


class NoJson:
    pass


def refused(function: Any, **fields: Any) -> str:
    given: dict[str, Any] = {"description": "D.", **fields}
    with pytest.raises(SpecError) as caught:
        tool(**given)(function)
    return str(caught.value)


class Refused:
    """Functions that cannot be tools."""

    @staticmethod
    def args(*names: str) -> None: ...
    @staticmethod
    def kwargs(**names: str) -> None: ...
    @staticmethod
    def positional(name: str, /) -> None: ...
    @staticmethod
    def bare(name) -> None: ...  # pyright: ignore[reportMissingParameterType]
    @staticmethod
    def default(tenant: str = Injected("tenant")) -> None: ...  # pyright: ignore[reportArgumentType]
    @staticmethod
    def unknown(a: int, b: NoJson) -> None: ...
    @staticmethod
    def member(a: Literal[Colour.RED]) -> None: ...
    @staticmethod
    def opaque(a: int = NoJson()) -> None: ...  # pyright: ignore[reportArgumentType]
    @staticmethod
    def returns() -> NoJson: ...
    @staticmethod
    def missing(a: "Missing") -> None: ...  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
    @staticmethod
    def value(a: 5) -> None: ...  # pyright: ignore[reportGeneralTypeIssues]
    @staticmethod
    def twice(b: int, a: int = Field(alias="b")) -> None: ...
    @staticmethod
    def broken(a: Any) -> None: ...
    @staticmethod
    def many(a: int) -> Any:
        yield a

    broken.__annotations__["a"] = "list["


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("args", ["'args'", "*names", "list[...]"]),
        ("kwargs", ["'kwargs'", "**names", "dict[str, ...]"]),
        ("positional", ["'positional'", "'name'", "'/'"]),
        ("bare", ["'bare'", "'name'", "name: str"]),
        ("default", ["'tenant'", "Annotated[..., Injected('tenant')]"]),
        ("unknown", ["'unknown'", "parameter 'b'"]),
        ("member", ["'a'", "Literal"]),
        ("opaque", ["'opaque'", "parameter 'a'", "not JSON serializable"]),
        ("returns", ["'returns'", "return type"]),
        ("missing", ["'missing'", "'Missing'"]),
        ("value", ["'value'", "parameter 'a'"]),
        ("twice", ["'twice'", "same name in JSON"]),
        ("broken", ["'broken'", "cannot be read"]),
        ("many", ["generator"]),
    ],
)
def test_refused_signatures(name: str, words: list[str]) -> None:
    text = refused(getattr(Refused, name))
    assert all(word in text for word in words), text


def test_refused_fields() -> None:
    async def slow(a: int) -> None: ...

    assert "runner='thread'" in refused(slow, runner="thread")
    assert "description is empty" in refused(slow, description="")
    assert "name must match" in refused(lambda: None)
    assert "'order'" in refused(slow, key=["order"])
    assert "did you mean 'simple'" in refused(slow, retry="simpel")


class Holder:
    @classmethod
    def method(cls) -> None: ...


@pytest.mark.parametrize(
    "make",
    [
        lambda: tool(5),  # pyright: ignore[reportArgumentType, reportCallIssue]
        lambda: tool("name"),  # pyright: ignore[reportArgumentType, reportCallIssue]
        lambda: tool()(5),  # pyright: ignore[reportArgumentType]
        lambda: tool()(Holder.__dict__["method"]),
        lambda: tool(description="D.")(dict),
        lambda: tool(description="D.", name=5)(Holder.method),  # pyright: ignore[reportArgumentType]
        lambda: tool(description="D.", name="")(Holder.method),
        lambda: tool(description="D.", check=5)(Holder.method),  # pyright: ignore[reportArgumentType]
        lambda: tool(description="D.", retry=5)(Holder.method),  # pyright: ignore[reportArgumentType]
        lambda: tool(description="D.", source="mcp")(Holder.method),  # pyright: ignore[reportCallIssue]
    ],
)
def test_what_is_no_tool_is_a_spec_error(make: Any) -> None:
    with pytest.raises(SpecError):
        make()


def test_a_field_that_does_not_exist() -> None:
    assert "there is no field 'rsk'; did you mean 'risk'?" in refused(Holder.method, rsk="high")


@pytest.mark.parametrize("annotation", ["1 / 0", "Colour.GREEN", "{}['x']", "Annotated[str, Field(pattern='(')]"])
def test_annotations_that_raise(annotation: str) -> None:
    def take(x: Any) -> None: ...

    take.__annotations__["x"] = annotation
    assert refused(take)


def test_injected_sources_are_closed() -> None:
    assert {Injected(source).source for source in DATA_SOURCES + RUNTIME_SOURCES} == {
        *("tenant", "caller.id", "agent", "environment"),
        *("caller", "call_id", "idempotency_key", "deadline", "progress", "logger", "tools"),
    }
    with pytest.raises(SpecError, match=r"'tenant', 'caller\.id'"):
        Injected("secret")


def test_types_that_are_defined_in_a_function_are_found() -> None:
    class Local(BaseModel):
        a: int

    @tool(description="Takes.")
    def take(x: "Local") -> None: ...

    assert take.spec.parameters["$defs"]["Local"]["required"] == ["a"]


def test_making_tools_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @tool(description="Takes.")
        def take(json: str, dict: int, validate: bool) -> None: ...

    assert list(take.spec.parameters["properties"]) == ["json", "dict", "validate"]


def test_pydantic_is_imported_by_the_first_tool_only() -> None:
    code = (
        "import sys, surehand.registry; assert 'pydantic' not in sys.modules and 'docstring_parser' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
