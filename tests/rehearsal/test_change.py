"""What would turn a decision."""

from typing import Any

import pytest

from surehand.policy import Decision, Policies
from surehand.rehearsal import changes
from surehand.types import Caller
from tests.policy.samples import ALICE, BOB, NOON_NS, REFUND, forbid, load

REFUNDS = 'action == Action::"call/refund"'
ASKS = forbid("ask", notes='@approvers("finance")')


@pytest.mark.parametrize(
    ("texts", "caller", "expected"),
    [
        ([], ALICE, []),
        ([], BOB, [("scopes", ("pay:write",), "allow")]),
        ([forbid("no")], ALICE, [("without", ("no",), "allow")]),
        ([forbid("no"), forbid("not")], ALICE, [("without", ("no", "not"), "allow")]),
        ([forbid("no"), ASKS], ALICE, [("without", ("no",), "ask")]),
        ([ASKS], ALICE, [("without", ("ask",), "allow")]),
        (
            [forbid("people") .replace("when { true }", 'unless { principal in Role::"boss" }')],
            ALICE,
            [("role", ("boss",), "allow"), ("without", ("people",), "allow")],
        ),
        ([forbid("trial", 'principal in Role::"boss"', notes='@mode("shadow")')], ALICE, []),
    ],
)  # fmt: skip
def test_each_thing_by_itself(texts: list[str], caller: Caller, expected: list[Any]) -> None:
    def decide(policies: Policies, one: Caller) -> Decision:
        return policies.authorize(one, REFUND, {"amount_cents": 5}, now_ns=NOON_NS)

    found = changes(load(*texts), caller, REFUND, decide)
    assert [(one.kind, one.names, one.decision) for one in found] == expected
