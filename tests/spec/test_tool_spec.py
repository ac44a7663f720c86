"""What a contract may say, and what its hashes cover."""

from dataclasses import fields, replace
from typing import Any

import pytest

from surehand.errors import SpecError
from surehand.spec import Retry, Tool, ToolSpec
from surehand.spec.tool_spec import _SPEC


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
        ({"retry": "simple"}, "retry must be a Retry"),
        ({"key": ["order"]}, "'order'"),
        ({"injected": {"a": "tenant"}, "parameters": {"properties": {"a": {}}}}, "injected"),
        ({"injected": {"a": "tenent"}}, "did you mean 'tenant'?"),
        ({"injected": {"a": "__class__"}}, "one of 'tenant', 'caller.id'"),
        ({"injected": {"a": ["tenant"]}}, "one of 'tenant', 'caller.id'"),
        ({"injected": ["tenant"]}, "injected must be a mapping"),
        ({"name": 5}, "name must be a string"),
        ({"version": 1}, "version must be a string"),
        ({"description": None}, "description must be a string"),
        ({"description": "\ud800"}, "description must be a string of valid Unicode"),
        ({"display": 5}, "display must be a string"),
        ({"owner": None}, "owner must be a string"),
        ({"source": 5}, "source must be a string"),
        ({"target": 5}, "target must be a string"),
        ({"credential": b"x"}, "credential must be a string"),
        ({"risk": "hgih"}, "one of 'low', 'medium', 'high', not 'hgih'; did you mean 'high'?"),
        ({"risk": None}, "risk must be one of"),
        ({"risk": ["low"]}, "risk must be one of"),
        ({"idempotency": "irreversable"}, "did you mean 'irreversible'?"),
        ({"stage": "activ"}, "did you mean 'active'?"),
        ({"runner": "threads"}, "did you mean 'thread'?"),
        ({"read_only": "no"}, "read_only must be True or False, not 'no'"),
        ({"requires_approval": 1}, "requires_approval must be True or False, not 1"),
        ({"sequential": None}, "sequential must be True or False"),
        ({"permissions": [""]}, "permissions must be a list of non-empty strings"),
        ({"permissions": [5]}, "permissions must be a list of non-empty strings"),
        ({"permissions": None}, "permissions must be a list of non-empty strings"),
        ({"permissions": {"a": 1}}, "permissions must be a list of non-empty strings"),
        ({"tags": 5}, "tags must be a list"),
        ({"key": "order"}, "key must be a list"),
        ({"parameters": None}, "parameters must be a mapping"),
        ({"parameters": {1: 2}}, "parameters must be a mapping with strings as keys"),
        ({"parameters": {"properties": []}}, "properties is a mapping"),
        ({"parameters": {"x": (i for i in ())}}, "parameters holds what cannot be copied"),
        ({"output_schema": "object"}, "output_schema must be a mapping"),
        ({"timeout_s": float("nan")}, "timeout_s must be a number of seconds"),
        ({"timeout_s": float("inf")}, "timeout_s must be a number of seconds"),
        ({"timeout_s": 10**400}, "timeout_s must be a number of seconds"),
        ({"timeout_s": "5"}, "timeout_s must be a number of seconds"),
        ({"timeout_s": True}, "timeout_s must be a number of seconds"),
        ({"key_retention_s": 0}, "key_retention_s must be a number of seconds above 0"),
        ({"key_retention_s": -1}, "key_retention_s must be a number of seconds above 0"),
        ({"cache_ttl_s": -1, "read_only": True}, "cache_ttl_s must be a number of seconds at least 0"),
        ({"retry": None}, "retry must be a Retry"),
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
    "source": "mcp",
    "injected": {"t": "tenant"},
}
BINDING: dict[str, Any] = {"target": "m:f", "runner": "inline", "credential": "svc"}


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_hash_covers(name: str) -> None:
    other = spec(**{name: CONTRACT[name]})
    assert other.contract_hash != spec().contract_hash
    assert other.binding_hash == spec().binding_hash


def test_a_version_keeps_its_contract_through_its_stages() -> None:
    assert spec(stage="draft").contract_hash == spec().contract_hash


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


def test_every_field_has_a_rule() -> None:
    assert set(_SPEC) == {field.name for field in fields(ToolSpec)}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"kind": "exponental"}, "did you mean 'exponential'?"),
        ({"attempts": 0}, "attempts must be a whole number from 1"),
        ({"attempts": 1.5}, "attempts must be a whole number"),
        ({"attempts": True}, "attempts must be a whole number"),
        ({"attempts": 10**9}, "attempts must be a whole number from 1 to 100"),
        ({"wait_s": -1}, "wait_s must be a number of seconds"),
        ({"wait_s": float("nan")}, "wait_s must be a number of seconds"),
    ],
)
def test_a_retry_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError) as caught:
        Retry(**fields)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"handler": None}, "handler must be a function"),
        ({"check": 5}, "check must be a function"),
        ({"status_check": "x"}, "status_check must be a function"),
        ({"undo": []}, "undo must be a function"),
        ({"dump": 1}, "dump must be a function"),
        ({"raw": "no"}, "raw must be True or False"),
        ({"spec": None}, "spec must be a ToolSpec"),
        ({"bind": print}, "bind and canonical come together"),
    ],
)
def test_a_tool_is_refused(fields: dict[str, Any], why: str) -> None:
    given: dict[str, Any] = {"spec": spec(), "handler": print, **fields}
    with pytest.raises(SpecError) as caught:
        Tool(**given)
    assert why in str(caught.value)
