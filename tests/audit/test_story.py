"""A call is told from its audit rows alone."""

from typing import Any

import msgspec
import pytest

from surehand.audit import AuditRow, Kind, audit_row, explain_call

FACTS: dict[str, Any] = {
    "name": "refund",
    "version": "2.1.0",
    "contract_hash": "c" * 64,
    "binding_hash": "b" * 64,
    "view_digest": "v" * 64,
    "tool_call_id": "toolu_1",
    "step_index": 3,
    "position": 0,
    "caller": {"id": "alice", "agent": "bot", "environment": "production"},
    "arguments": {"amount_cents": 25000, "card": "[redacted]"},
    "args_hash": "a" * 64,
    "coercions": ['amount_cents: "25000" -> 25000'],
    "decision": {"kind": "ask", "policies": ["refund-large"], "reasons": ["over 100.00"], "requirements": []},
    "policy_set": "p" * 64,
    "key": "k" * 64,
    "approval_id": "appr-1",
}


def rows(*steps: tuple[Kind, dict[str, Any]]) -> list[AuditRow]:
    return [
        audit_row(
            row_id=f"row-{n}", tenant="acme", kind=kind, call_id="call-1", run_id="run-1", at_us=1_000 + n, facts=facts
        )
        for n, (kind, facts) in enumerate(steps)
    ]


def test_the_whole_story_of_an_approved_call() -> None:
    story = explain_call(
        rows(
            ("call.waiting", FACTS),
            ("approval.decided", {"approval_id": "appr-1", "approver": "bob", "verdict": "approve", "reason": "ok"}),
            ("call.started", FACTS | {"attempt": 1, "started_us": 1_002}),
            ("call.settled", {"status": "ok", "finished_us": 1_003}),
            ("call.finished", {"status": "ok", "result_ref": "res-1"}),
        )
    )
    assert (story.call_id, story.tenant, story.name, story.version) == ("call-1", "acme", "refund", "2.1.0")
    assert (story.decision, story.policies, story.reasons) == ("ask", ("refund-large",), ("over 100.00",))
    assert (story.policy_set, story.contract_hash, story.key) == ("p" * 64, "c" * 64, "k" * 64)
    assert story.coercions == ('amount_cents: "25000" -> 25000',)
    assert story.arguments == {"amount_cents": 25000, "card": "[redacted]"}
    assert story.caller["id"] == "alice"
    assert (story.status, story.error_code, story.attempts, story.result_ref) == ("ok", "", 1, "res-1")
    (answer,) = story.answers
    assert (answer.approver, answer.verdict, answer.reason, answer.at_us) == ("bob", "approve", "ok", 1_001)
    assert story.recovery == "not_needed"
    assert "happened once" in story.effect
    assert [step.text for step in story.steps] == [
        "refund@2.1.0 waits for an answer to appr-1",
        "bob said approve: ok",
        "refund@2.1.0 was about to start, attempt 1",
        "the handler's outcome was stored: ok",
        "the result was given: ok",
    ]


@pytest.mark.parametrize(
    ("steps", "status", "recovery", "effect", "following"),
    [
        ([("call.waiting", FACTS)], "waiting", "wait", "no effect", "answer appr-1"),
        (
            [("call.waiting", FACTS), ("approval.decided", {"verdict": "approve"})],
            "waiting",
            "wait",
            "no effect",
            "answer",
        ),
        (
            [("call.waiting", FACTS), ("approval.decided", {"verdict": "approve", "status": "approved"})],
            "ready",
            "wait",
            "no effect",
            "resume",
        ),
        (
            [("call.waiting", FACTS), ("approval.decided", {"verdict": "reject", "status": "rejected"})],
            "denied",
            "nobody",
            "no effect",
            "does not change",
        ),
        ([("call.started", FACTS)], "running", "wait", "not recorded yet", "recovery finds"),
        (
            [("call.started", FACTS), ("call.settled", {"status": "unknown", "error_code": "TOOL_TIMEOUT"})],
            "unknown",
            "person",
            "may or may not",
            f"key {'k' * 64}",
        ),
        (
            [("call.started", FACTS), ("call.recovered", {"status": "unknown"}), ("call.late", {"status": "ok"})],
            "unknown",
            "person",
            "may or may not",
            "evidence",
        ),
        (
            [
                ("call.started", FACTS),
                ("call.recovered", {"status": "unknown", "error_code": "TOOL_OUTCOME_UNKNOWN"}),
                ("call.resolved", {"status": "ok", "by": "carol", "evidence": "found in the ledger of the bank"}),
            ],
            "ok",
            "not_needed",
            "happened once",
            "nothing",
        ),
        (
            [("call.started", FACTS), ("call.finished", {"status": "error", "error_code": "TOOL_BUSINESS_ERROR"})],
            "error",
            "model",
            "no effect",
            "the model may correct",
        ),
        (
            [("call.started", FACTS), ("call.finished", {"status": "error", "error_code": "TOOL_TIMEOUT"})],
            "error",
            "engine",
            "started and failed",
            "sent again unchanged",
        ),
        (
            [("call.started", FACTS), ("call.finished", {"status": "error", "error_code": "TOOL_OUTPUT_INVALID"})],
            "error",
            "nobody",
            "output was withheld",
            "nothing",
        ),
        (
            [("call.refused", FACTS | {"status": "denied", "error_code": "POLICY_DENIED"})],
            "denied",
            "nobody",
            "no effect",
            "does not change",
        ),
        ([("call.refused", FACTS)], "denied", "nobody", "no effect", "nothing"),
        (
            [("call.waiting", FACTS), ("approval.ended", {"status": "expired", "error_code": "APPROVAL_EXPIRED"})],
            "denied",
            "nobody",
            "no effect",
            "nothing",
        ),
        (
            [("call.started", FACTS), ("call.finished", {"status": "ok"}), ("call.replayed", {"status": "error"})],
            "ok",
            "not_needed",
            "happened once",
            "nothing",
        ),
    ],
)
def test_how_it_ended_and_what_to_do(
    steps: list[tuple[Kind, dict[str, Any]]], status: str, recovery: str, effect: str, following: str
) -> None:
    story = explain_call(rows(*steps))
    assert (story.status, story.recovery) == (status, recovery)
    assert effect in story.effect
    assert following in story.next


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"decision": "allow", "caller": 5, "coercions": {"a": 1}, "attempt": "one", "name": None},
        {"decision": {"kind": 1, "policies": "x", "reasons": [1, None]}, "error_code": "NEW_CODE", "new": {"a": [1]}},
    ],
)
def test_unknown_and_missing_facts_are_tolerated(facts: dict[str, Any]) -> None:
    story = explain_call(rows(("call.started", facts), ("approval.decided", facts), ("call.finished", facts)))
    assert story.name == ""
    assert len(story.steps) == 3


def test_a_row_that_cannot_be_read_is_told() -> None:
    (row,) = rows(("call.refused", FACTS))
    for body in (b"\xff", b"[1]", b"[" * 100_000):
        assert explain_call([msgspec.structs.replace(row, body=body)]).status == "denied"


def test_who_settled_and_who_rejected_is_told() -> None:
    story = explain_call(rows(("call.started", FACTS), ("call.resolved", {"status": "ok", "by": "carol"})))
    assert story.steps[-1].text == "settled by evidence by carol: ok"
    assert explain_call(rows(("approval.decided", {"verdict": "reject"}))).error_code == "APPROVAL_REJECTED"


def test_no_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="without audit rows"):
        explain_call([])
