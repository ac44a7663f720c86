"""Policies in shadow mode: they say what they would do, and do nothing."""

from typing import Any

import pytest

from surehand.policy import Decision
from surehand.types import Caller
from tests.policy.samples import ALICE, BOB, NOON_NS, READ, REFUND, forbid, load, permit, short

SHADOW = '@mode("shadow")'
REFUNDS = 'action == Action::"call/refund"'
LARGE = "context.arguments.amount_cents > 100"
VIEW = 'action == Action::"view"'
EVERYTHING = 'action in [Action::"view", Action::"call"]'


def decide(*texts: str, caller: Caller = ALICE, amount: Any = 500) -> Decision:
    return load(*texts).authorize(caller, REFUND, {"amount_cents": amount, "tenant_id": "acme"}, now_ns=NOON_NS)


def shadows(decision: Decision) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.policy_id, one.decision, one.groups) for one in decision.shadow]


@pytest.mark.parametrize(
    ("texts", "caller", "amount", "now", "would"),
    [
        pytest.param([forbid("s", LARGE, REFUNDS, SHADOW)], ALICE, 500, "allow surehand.scopes", ["deny"], id="deny"),
        pytest.param([forbid("s", LARGE, REFUNDS, SHADOW)], ALICE, 5, "allow surehand.scopes", [], id="not-fired"),
        pytest.param(
            [forbid("s", LARGE, REFUNDS, SHADOW + '@approvers("finance")')],
            ALICE, 500, "allow surehand.scopes", ["ask"], id="ask",
        ),
        pytest.param(
            [forbid("e", notes='@approvers("legal")'), forbid("s", notes=SHADOW + '@approvers("finance")')],
            ALICE, 500, "ask e -> legal", ["ask"], id="ask-more",
        ),
        pytest.param([forbid("e"), forbid("s", notes=SHADOW)], ALICE, 500, "deny e", [], id="already-denied"),
        pytest.param(
            [forbid("s", LARGE, REFUNDS, SHADOW)], ALICE, 2**70, "allow surehand.scopes", ["deny"], id="unreadable"
        ),
        pytest.param(
            [forbid("s", 'User::"acme/nobody".tenant == "x"', REFUNDS, SHADOW)],
            ALICE, 5, "allow surehand.scopes", ["deny"], id="erring",
        ),
        pytest.param(
            [forbid("s", action=VIEW, notes=SHADOW)], ALICE, 5, "allow surehand.scopes", ["deny"], id="would-hide"
        ),
        pytest.param(
            [permit("s", action=EVERYTHING).replace("permit", SHADOW + " permit")], BOB, 5, "deny", ["allow"],
            id="permit",
        ),
        pytest.param(
            [permit("s").replace("permit", SHADOW + " permit")], BOB, 5, "deny", [], id="permit-of-the-call-alone"
        ),
        pytest.param(
            [
                permit("s", action=EVERYTHING).replace("permit", SHADOW + " permit"),
                forbid("e", notes='@approvers("legal")'),
            ],
            BOB, 5, "deny", ["ask"], id="permit-then-ask",
        ),
    ],
)  # fmt: skip
def test_what_would_have_been(texts: list[str], caller: Caller, amount: int, now: str, would: list[str]) -> None:
    decision = decide(*texts, caller=caller, amount=amount)
    assert short(decision) == now
    assert [one.decision for one in decision.shadow] == would
    assert {one.policy_id for one in decision.shadow} <= {"s"}


def test_each_is_judged_by_itself() -> None:
    decision = decide(
        forbid("b", notes=SHADOW + '@approvers("finance") @reason("large")'),
        forbid("a", notes=SHADOW),
        forbid("c", "false", notes=SHADOW),
    )
    assert shadows(decision) == [("a", "deny", ()), ("b", "ask", ("finance",))]
    assert decision.shadow[1].reason == "large"


def test_a_shadow_policy_counts_in_the_digest_and_is_warned_of() -> None:
    enforced, shadow = load(forbid("s")), load(forbid("s", notes=SHADOW))
    assert enforced.digest != shadow.digest
    assert enforced.rules["s"].hash != shadow.rules["s"].hash
    assert shadow.warnings == ('p1.cedar: policy "s": is in shadow mode: it is recorded and enforces nothing',)


def test_views_know_nothing_of_it() -> None:
    hides = load(forbid("s", action=EVERYTHING, notes=SHADOW))
    opens = load(permit("s", action=EVERYTHING).replace("permit", SHADOW + " permit"))
    plain = load()
    for caller in (ALICE, BOB):
        for policies in (hides, opens):
            assert policies.view(caller, REFUND, now_ns=NOON_NS) == plain.view(caller, REFUND, now_ns=NOON_NS)


def test_what_a_shadow_policy_reads_is_part_of_the_key() -> None:
    policies = load(forbid("s", LARGE, REFUNDS, SHADOW))
    for amount, would in ((500, ["deny"]), (5, []), (501, ["deny"])):
        decision = policies.authorize(ALICE, REFUND, {"amount_cents": amount}, now_ns=NOON_NS)
        assert [one.decision for one in decision.shadow] == would


def test_a_shadow_policy_that_reads_the_time_is_asked_each_time() -> None:
    policies = load(forbid("s", 'context.now > datetime("2025-06-17")', notes=SHADOW))
    assert not policies.reads_now
    for days, would in ((0, []), (2, ["deny"]), (0, [])):
        decision = policies.authorize(ALICE, READ, {}, now_ns=NOON_NS + days * 86_400 * 10**9)
        assert [one.decision for one in decision.shadow] == would
