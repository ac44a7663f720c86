"""The digest changes with everything that would run, and with nothing else."""

import dataclasses
from typing import Any

import msgspec
import pytest

from surehand.approval import digest
from surehand.spec import ToolSpec
from surehand.types import Caller, Requirement

SPEC = ToolSpec(name="refund", version="2.0.0", description="Refunds.", parameters={"type": "object"})
ALICE = Caller(id="alice", tenant="acme", roles=["clerk"], agent="bot", environment="production")
NEED = Requirement(policy_id="large", group="finance", reason="over 100", policy_hash="h")
GIVEN: dict[str, Any] = {
    "spec": SPEC,
    "arguments": {"amount": 5},
    "caller": ALICE,
    "needs": (NEED,),
    "idempotency_key": "k1",
}


def of(**changes: Any) -> str:
    given = {**GIVEN, **changes}
    key = given.pop("idempotency_key")
    return digest(*given.values(), idempotency_key=key)


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": dataclasses.replace(SPEC, description="Refunds twice.")},
        {"arguments": {"amount": 6}},
        {"arguments": {"amount": "5"}},
        {"caller": Caller(id="bob", tenant="acme", agent="bot", environment="production")},
        {"caller": Caller(id="alice", tenant="other", agent="bot", environment="production")},
        {"caller": Caller(id="alice", tenant="acme", agent="other", environment="production")},
        {"caller": Caller(id="alice", tenant="acme", agent="bot", environment="test")},
        {"needs": ()},
        {"needs": (msgspec.structs.replace(NEED, group="legal"),)},
        {"needs": (msgspec.structs.replace(NEED, policy_hash="other"),)},
        {"needs": (msgspec.structs.replace(NEED, quorum=2),)},
        {"needs": (msgspec.structs.replace(NEED, escalate_to="board"),)},
        {"idempotency_key": "k2"},
        {"idempotency_key": ""},
    ],
    ids=str,
)
def test_what_it_covers(changes: dict[str, Any]) -> None:
    assert of(**changes) != of()


def test_what_it_does_not_cover() -> None:
    other = msgspec.structs.replace(NEED, policy_id="other")
    promoted = Caller(id="alice", tenant="acme", roles=["boss"], agent="bot", environment="production")
    assert of() == of(arguments={"amount": 5}) == of(caller=promoted)
    assert of(needs=(NEED, other)) == of(needs=(other, NEED))


def test_the_key_of_the_effect_has_to_be_named() -> None:
    with pytest.raises(TypeError, match="idempotency_key"):
        digest(SPEC, {}, ALICE, ())  # pyright: ignore[reportCallIssue]
