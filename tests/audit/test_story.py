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
    evidence = {"status": "ok", "approver": "olga", "evidence": "bank statement"}
    story = explain_call(rows(("call.started", FACTS), ("call.resolved", evidence)))
    assert story.steps[-1].text == "settled by evidence by olga: bank statement: ok"
    story = explain_call(rows(("call.started", FACTS), ("call.resolved", {"status": "ok", "by": "carol"})))
    assert story.steps[-1].text == "settled by evidence by carol: ok"
    story = explain_call(
        rows(("call.started", FACTS), ("call.resolved", {"status": "error", "evidence": "status check: not done"}))
    )
    assert story.steps[-1].text == "settled by evidence: status check: not done: error"
    assert explain_call(rows(("approval.decided", {"verdict": "reject"}))).error_code == "APPROVAL_REJECTED"


def test_no_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="without audit rows"):
        explain_call([])


OTHERS: dict[str, Any] = {
    "caller": {"id": "mallory", "agent": "other-bot", "environment": "test"},
    "decision": {"kind": "allow", "policies": ["other"], "reasons": []},
    "arguments": {"amount_cents": 1},
    "policy_set": "q" * 64,
    "tool_call_id": "toolu_9",
}


@pytest.mark.parametrize("kind", ["call.finished", "call.replayed", "call.late", "call.resolved"])
def test_whose_call_it_is_never_changes(kind: Kind) -> None:
    story = explain_call(rows(("call.started", FACTS), (kind, FACTS | OTHERS | {"status": "ok", "result_ref": "r"})))
    assert story.caller == FACTS["caller"] == story.facts["caller"]
    assert (story.decision, story.policy_set, story.arguments) == ("ask", "p" * 64, FACTS["arguments"])
    assert story.facts["tool_call_id"] == "toolu_1"
    assert story.result_ref == "r"


def test_the_first_row_that_names_a_caller_counts() -> None:
    decided = {"approver": "bob", "verdict": "approve", "caller": None}
    story = explain_call(rows(("approval.decided", decided), ("call.started", FACTS), ("call.finished", OTHERS)))
    assert story.caller["id"] == "alice"


def test_the_same_caller_is_told_as_of_the_last_check() -> None:
    later = {"caller": FACTS["caller"] | {"environment": "test"}, "policy_set": "n" * 64}
    story = explain_call(rows(("call.waiting", FACTS), ("call.started", FACTS | later)))
    assert (story.caller["environment"], story.policy_set) == ("production", "n" * 64)


DIED = (
    "call.recovered",
    {"status": "unknown", "error_code": "TOOL_OUTCOME_UNKNOWN", "evidence": "its process is gone"},
)
FREED = ("call.recovered", {"status": "error", "error_code": "TOOL_UNAVAILABLE"})


@pytest.mark.parametrize(
    ("steps", "status", "code", "recovery", "effect"),
    [
        (
            [DIED],
            "unknown",
            "TOOL_OUTCOME_UNKNOWN",
            "person",
            "the process that ran it died: the effect may or may not",
        ),
        ([("call.recovered", {})], "unknown", "", "person", "the process that ran it died"),
        ([FREED], "error", "TOOL_UNAVAILABLE", "engine", "died; its contract says that repeating it does no harm"),
        (
            [DIED, ("call.resolved", {"status": "error", "approver": "olga"})],
            "error",
            "TOOL_UNAVAILABLE",
            "engine",
            "no effect happened",
        ),
        ([DIED, ("call.resolved", {"status": "ok", "approver": "olga"})], "ok", "", "not_needed", "happened once"),
        ([DIED, ("call.late", {"status": "returned"})], "unknown", "TOOL_OUTCOME_UNKNOWN", "person", "died"),
        (
            [FREED, ("call.started", FACTS), ("call.finished", {"status": "cancelled", "error_code": "CANCELLED"})],
            "cancelled",
            "CANCELLED",
            "nobody",
            "stopped half-way",
        ),
        ([FREED, ("call.started", FACTS)], "running", "", "wait", "not recorded yet"),
        (
            [FREED, ("call.started", FACTS), ("call.finished", {"status": "error", "error_code": "TOOL_ERROR"})],
            "error",
            "TOOL_ERROR",
            "nobody",
            "started and failed",
        ),
    ],
)
def test_a_call_whose_process_died(
    steps: list[tuple[Kind, dict[str, Any]]], status: str, code: str, recovery: str, effect: str
) -> None:
    story = explain_call(rows(("call.started", FACTS), *steps))
    assert (story.status, story.error_code, story.recovery) == (status, code, recovery)
    assert effect in story.effect
    assert any("found dead" in step.text for step in story.steps)


def test_how_a_dead_process_was_found_is_told() -> None:
    story = explain_call(rows(("call.started", FACTS), DIED))
    assert story.steps[-1].text == (
        "the process that ran it was found dead (its process is gone): unknown TOOL_OUTCOME_UNKNOWN"
    )


def test_a_call_that_was_only_answered_ran_nothing() -> None:
    story = explain_call(rows(("call.replayed", FACTS | {"status": "ok", "result_ref": "call-0"})))
    assert story.effect == "nothing ran for it: the stored result of call-0 was given"
    assert (story.caller["id"], story.decision) == ("alice", "ask")
