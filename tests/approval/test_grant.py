"""What a standing answer may answer: decided purely."""

from __future__ import annotations

from typing import Any

import pytest

import surehand as sh
from surehand.approval import conditions, matches, may_lift

SPEC = sh.ToolSpec(
    name="pay",
    description="Pays.",
    injected={"tenant": "tenant"},
    parameters={
        "type": "object",
        "properties": {
            "to": {"$ref": "#/$defs/Account"},
            "amount": {"type": "number"},
            "note": {"type": ["string", "null"]},
            "extra": {},
            "pin": {"type": "string", "writeOnly": True},
        },
        "$defs": {
            "Account": {
                "type": "object",
                "properties": {"iban": {"type": "string"}, "bank": {"type": "object"}},
            }
        },
    },
)
FINAL: dict[str, Any] = {
    "to": {"iban": "DE1", "bank": {"name": "x"}},
    "amount": 100,
    "note": None,
    "extra": True,
    "tenant": "acme",
}


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ({}, True),
        ({"to.iban": {"equals": "DE1"}, "amount": {"at_most": 100, "at_least": 100}}, True),
        ({"to.iban": {"equals": "DE1"}, "amount": {"at_most": 99}}, False),
        ({"amount": {"equals": 100.0}}, True),
        ({"amount": {"equals": "100"}}, False),
        ({"note": {"equals": None}}, True),
        ({"note": {"one_of": ["", 0, False]}}, False),
        ({"extra": {"equals": 1}}, False),
        ({"extra": {"at_most": 9}}, False),
        ({"extra": {"equals": True}}, True),
        ({"extra.deep": {"equals": True}}, False),
        ({"to.bank.name": {"equals": "x"}}, True),
        ({"to.bank.city": {"equals": None}}, False),
        ({"tenant": {"equals": "acme"}}, True),
    ],
)
def test_matches(where: dict[str, Any], match: bool) -> None:
    assert matches(conditions(where, SPEC), FINAL) is match


def test_a_missing_argument_never_matches() -> None:
    for rule in ({"equals": None}, {"one_of": [None, ""]}, {"at_most": 10**9}, {"at_least": -(10**9)}):
        assert not matches(conditions({"amount": rule}, SPEC), {})


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"iban": {"equals": 1}}, "no argument 'iban'; there are amount, extra, note, pin, tenant, to"),
        ({"to.bic": {"equals": 1}}, "no argument 'to.bic'; there are bank, iban"),
        ({"amount.x": {"equals": 1}}, "no argument 'amount.x'"),
        ({"pin": {"equals": "1234"}}, "pin is a secret"),
        ({1: {"equals": 1}}, "named by a string"),
        ({"amount": {"at_most": float("inf")}}, "must be a number"),
        ({"amount": {"at_most": True}}, "must be a number"),
        ({"amount": {"equals": 10**400}}, "is compared with"),
        ({"to": {"equals": {}}}, "name a member of an object as to.MEMBER"),
        ({"note": {"equals": "x" * 1001}}, "at most 1000 characters"),
        ({"note": {"one_of": []}}, "not empty"),
        ({"note": {"one_of": ["x"] * 101}}, "at most 100"),
        ({f"extra.{n}": {"equals": 1} for n in range(21)}, "at most 20"),
    ],
)
def test_what_is_no_condition(where: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace(".", r"\.")):
        conditions(where, SPEC)


@pytest.mark.parametrize(
    ("group", "quorum", "giver", "roles", "lifted"),
    [
        ("finance", 1, "fiona", ["finance"], True),
        ("finance", 2, "fiona", ["finance"], False),
        ("finance", 1, "fiona", ["legal"], False),
        ("finance", 1, "alice", ["finance"], False),
        ("self", 1, "alice", [], True),
        ("self", 2, "alice", [], False),
        ("self", 1, "fiona", ["self"], False),
    ],
)
def test_what_somebody_may_lift(group: str, quorum: int, giver: str, roles: list[str], lifted: bool) -> None:
    need = sh.Requirement(policy_id="p", group=group, reason="r", policy_hash="h", quorum=quorum)
    assert may_lift(need, sh.Caller(id=giver, tenant="acme", roles=roles), "alice") is lifted
