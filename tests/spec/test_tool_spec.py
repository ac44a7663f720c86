"""What a contract may say, and what its hashes cover."""

from dataclasses import replace
from typing import Any

import pytest

from surehand.errors import SpecError
from surehand.spec import Retry, Tool, ToolSpec


def spec(**fields: Any) -> ToolSpec:
    given: dict[str, Any] = {"name": "refund", "description": "Refunds.", **fields}
    return ToolSpec(**given)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": ""}, "name must match"),
        ({"name": "1st"}, "name must match"),
        ({"name": "a b"}, "name must match"),
        ({"version": ""}, "version"),
        ({"version": "1/2"}, "version"),
        ({"description": " \n"}, "description is empty"),
        ({"permissions": "a"}, "permissions must be a list"),
        ({"read_only": True, "idempotency": "single_effect"}, "read_only contradicts"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"cache_ttl_s": 5}, "read_only=True"),
        ({"retry": Retry(attempts=0)}, "attempts"),
        ({"key": ["order"]}, "'order'"),
        ({"injected": {"a": "tenant"}, "parameters": {"properties": {"a": {}}}}, "injected"),
    ],
)
def test_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec(**fields)
    assert why in str(caught.value)


def test_idempotency_follows_from_read_only() -> None:
    assert spec(read_only=True).idempotency == "safe_retry"
    assert spec().idempotency == "single_effect"
    assert [spec(idempotency=kind).repeatable for kind in ("safe_retry", "idempotency_key", "irreversible")] == [
        True,
        True,
        False,
    ]


CONTRACT: dict[str, Any] = {
    "version": "2",
    "description": "Other.",
    "parameters": {"type": "object"},
    "output_schema": {"type": "object"},
    "risk": "high",
    "read_only": True,
    "requires_approval": True,
    "permissions": ["a"],
    "idempotency": "irreversible",
    "owner": "team",
    "tags": ["x"],
    "stage": "draft",
    "source": "mcp",
    "injected": {"t": "tenant"},
}
BINDING: dict[str, Any] = {"target": "m:f", "runner": "inline", "credential": "svc"}


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_hash_covers(name: str) -> None:
    other = spec(**{name: CONTRACT[name]})
    assert other.contract_hash != spec().contract_hash
    assert other.binding_hash == spec().binding_hash


@pytest.mark.parametrize("name", BINDING)
def test_the_binding_hash_covers(name: str) -> None:
    other = spec(**{name: BINDING[name]})
    assert other.contract_hash == spec().contract_hash
    assert other.binding_hash != spec().binding_hash


def test_a_contract_does_not_change_with_what_it_was_made_of() -> None:
    parameters: dict[str, Any] = {"type": "object", "properties": {"a": {}}}
    made = spec(parameters=parameters, key=["a"])
    parameters["properties"]["b"] = {}
    assert made.parameters["properties"] == {"a": {}}
    assert made.id == "refund@1.0.0"
    assert replace(made, version="2").id == "refund@2"


def test_a_tool_is_callable_for_unit_tests() -> None:
    assert Tool(spec=spec(), handler=lambda a, *, b: a + b)(1, b=2) == 3
