"""Decisions are worked out once for what policies can see, and never kept where the time matters."""

import threading
from typing import Any

import pytest

from surehand.policy import Decision, cedar
from surehand.policy.cache import Bounded
from surehand.types import Caller
from tests.policy.samples import ALICE, MAIL, NOON_NS, READ, TOOLS, forbid, load, short, tool

AMOUNT = forbid(
    "f", "context.arguments has amount_cents && context.arguments.amount_cents > 5", notes='@approvers("x")'
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The actions that Cedar was asked about."""
    found: list[str] = []
    evaluate = cedar.evaluate

    def counting(policies: Any, entities: Any, request: dict[str, Any]) -> cedar.Verdict:
        found.append(request["action"]["id"])
        return evaluate(policies, entities, request)

    monkeypatch.setattr(cedar, "evaluate", counting)
    return found


def with_(**changes: Any) -> Caller:
    fields = {name: getattr(ALICE, name) for name in ("id", "tenant", "roles", "scopes", "agent", "environment")}
    return Caller(**{**fields, **changes})


def test_a_decision_is_worked_out_once(asked: list[str]) -> None:
    policies = load(AMOUNT)

    def call(**more: Any) -> Decision:
        return policies.authorize(ALICE, MAIL, {"to": "x", **more}, now_ns=NOON_NS)

    first = call(amount_cents=6)
    assert asked == ["view", "call/mail@1.0.0", "call/mail@1.0.0"]
    assert call(amount_cents=6) is first
    assert call(amount_cents=6, to="unread") is first
    assert short(first) == "ask f -> x"
    assert len(asked) == 3
    assert short(call(amount_cents=5)) == "allow surehand.scopes"
    assert len(asked) == 4


@pytest.mark.parametrize(
    "other",
    [
        with_(id="bob"),
        with_(tenant="other"),
        with_(roles=[]),
        with_(scopes=[]),
        with_(agent=""),
        with_(environment=""),
        with_(run_state="planning"),
    ],
)
def test_everything_about_the_caller_is_in_the_key(asked: list[str], other: Caller) -> None:
    policies = load()
    for caller in (ALICE, other):
        policies.authorize(caller, READ, {}, now_ns=NOON_NS)
    assert asked == ["view", "call/read@1.0.0"] * 2


def test_another_contract_is_another_question(asked: list[str]) -> None:
    policies = load()
    for spec in (tool("read", read_only=True), tool("read", read_only=True, owner="me")):
        policies.authorize(ALICE, spec, {}, now_ns=NOON_NS)
    assert asked.count("call/read@1.0.0") == 2


@pytest.mark.parametrize("action", ['action in Action::"call"', 'action == Action::"view"'])
def test_where_the_time_matters_nothing_is_kept(action: str) -> None:
    policies = load(forbid("closed", 'context.now.toTime() >= duration("12h")', action))
    assert policies.reads_now
    assert not load().reads_now
    for now_ns, expected in ((NOON_NS, "deny closed"), (NOON_NS - 10**9, "allow surehand.scopes")):
        assert short(policies.authorize(ALICE, READ, {}, now_ns=now_ns)) == expected
        assert short(policies.view(ALICE, READ, now_ns=now_ns)) == expected


def test_what_has_no_key_is_decided_each_time(asked: list[str]) -> None:
    policies = load(AMOUNT)
    for _ in range(2):
        decision = policies.authorize(ALICE, MAIL, {"to": "x", "amount_cents": object()}, now_ns=NOON_NS)
        assert short(decision) == "deny f"
    assert asked == ["view"]


def test_a_full_memory_forgets_the_oldest() -> None:
    memory: Bounded[int, str] = Bounded(2)
    assert [memory.put(number, str(number)) for number in range(3)] == ["0", "1", "2"]
    assert (memory.get(0), memory.get(1), memory.get(2), len(memory)) == (None, "1", "2", 2)


def test_threads_get_the_same_decisions() -> None:
    policies = load(AMOUNT)
    calls = [(spec, {"to": "x", "amount_cents": cents}) for spec in TOOLS for cents in (5, 6)]
    expected = [load(AMOUNT).authorize(ALICE, spec, arguments, now_ns=NOON_NS) for spec, arguments in calls]
    found: list[list[Decision]] = []

    def work() -> None:
        found.append([policies.authorize(ALICE, spec, arguments, now_ns=NOON_NS) for spec, arguments in calls])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_a_denial_of_reserved_keys_is_not_kept_for_calls_without_them(asked: list[str]) -> None:
    """A string that is an object was refused before any policy is asked; here it comes past that."""
    policies = load()
    forged: dict[str, Any] = {"to": {"__entity": {"type": "User", "id": "acme/root"}}}
    nested = {"to": "x", "other": [{"__extn": {}}]}
    for arguments, expected in ((forged, "deny"), ({"to": "x"}, "allow surehand.scopes"), (nested, "deny")):
        assert short(policies.authorize(ALICE, MAIL, arguments, now_ns=NOON_NS)) == expected
    worked_out = len(asked)
    assert short(policies.authorize(ALICE, MAIL, {"to": "y"}, now_ns=NOON_NS)) == "allow surehand.scopes"
    assert len(asked) == worked_out
