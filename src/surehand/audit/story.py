"""What the audit rows of one call say, for people: `explain_call`.

The facts of a row (all optional; unknown ones are ignored, so that old and new records are read alike):

    name, version, contract_hash, binding_hash   which tool
    view_digest                    what the caller could see
    tool_call_id, step_index, position           where in the run
    undoes, undo_call_id           which call it takes back; which one took it back
    parent_call_id, depth          whose handler made it; child_call_id, child_name, child_status: what its own made
    caller {id, agent, environment}              on whose behalf
    arguments, args_hash           redacted summary; keyed hash
    liberties                      what was loose in the text of the arguments, where a lenient engine read it
    coercions                      values that validation changed, one entry each
    decision {kind, policies, reasons, requirements, shadow}, policy_set   why it was allowed, denied or asked, and what
                                   policies in shadow mode would have made of it
    key, attempt, started_us, finished_us        the effect
    approval_id, digest, shown_hash, approver, groups, acts_for, verdict, reason   a person's answer; `status` is then
                                   the question's: open, approved, rejected or answered
    before, changed, replaces, revision, voided  other arguments that a person wrote, and the question they replace
    grant_id, giver                a standing answer that lifted the question, and who gave it
    status, error_code, result_ref, evidence, by   how it ended; who settled it is `by`, or `approver`
    charges, limit                 what it took of budgets and rates, as [limit, amount]; the one that had no room
    budget, scope, amount          what of it was used or given back
    cached, stale, fallback_for, fallback_of   where the result came from, if not from the tool itself
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast

import msgspec

from surehand.errors import RECOVERY, Code

from .facts import list_of, mapping_of, number_of, text_of, texts_of
from .record import AuditRow
from .sentences import sentence

Recovery = Literal["not_needed", "wait", "model", "engine", "person", "nobody"]
"""Who can bring the call further: nothing is to be done; it goes on by itself or with an answer; the model with
other arguments; the same call may be sent again; a person with evidence; nobody."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One row, in a sentence."""

    at_us: int
    kind: str
    text: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One person's answer."""

    approval_id: str
    approver: str
    verdict: str
    reason: str
    at_us: int


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """One standing answer that lifted the question."""

    grant_id: str
    giver: str
    at_us: int


class CallStory(msgspec.Struct, frozen=True, kw_only=True):
    """One call, told from its audit rows alone. Empty texts are what the rows do not say."""

    call_id: str
    tenant: str
    name: str
    version: str
    contract_hash: str
    caller: dict[str, Any]
    arguments: Any
    """Redacted summary."""
    decision: str
    """Such as `allow`."""
    policies: tuple[str, ...]
    reasons: tuple[str, ...]
    policy_set: str
    liberties: tuple[str, ...]
    """What was loose in the text of the arguments; empty if it was JSON."""
    coercions: tuple[Any, ...]
    """What validation changed; empty if the arguments were taken as they came."""
    key: str
    attempts: int
    answers: tuple[Answer, ...]
    granted: tuple[Granted, ...]
    status: str
    """As of the last row."""
    error_code: str
    result_ref: str
    effect: str
    """In a sentence: whether it happened."""
    recovery: Recovery
    next: str
    """In a sentence: what to do now."""
    facts: dict[str, Any]
    """Everything that the rows say, later ones over earlier ones."""
    steps: tuple[Step, ...]


def explain_call(rows: Iterable[AuditRow]) -> CallStory:
    """Tells one call from its rows.

    Args:
        rows: All of the call, oldest first. A row whose body cannot be read is told as such.

    Raises:
        ValueError: There are no rows.
    """
    told = _Told()
    for row in rows:
        told.add(row)
    if told.row is None:
        raise ValueError("a call without audit rows cannot be explained")
    facts, status = told.facts, told.status
    decision = mapping_of(facts.get("decision"))
    code = told.code if status not in ("ok", "waiting", "ready", "running") else ""
    if status == "denied" and not code and any(answer.verdict == "reject" for answer in told.answers):
        code = "APPROVAL_REJECTED"
    recovery, following = _next(status, code, facts)
    return CallStory(
        call_id=told.row.call_id or "",
        tenant=told.row.tenant,
        name=text_of(facts, "name"),
        version=text_of(facts, "version"),
        contract_hash=text_of(facts, "contract_hash"),
        caller=mapping_of(facts.get("caller")),
        arguments=facts.get("arguments"),
        decision=text_of(decision, "kind"),
        policies=texts_of(decision.get("policies")),
        reasons=texts_of(decision.get("reasons")),
        policy_set=text_of(facts, "policy_set"),
        liberties=texts_of(facts.get("liberties")),
        coercions=tuple(list_of(facts.get("coercions"))),
        key=text_of(facts, "key"),
        attempts=number_of(facts, "attempt"),
        answers=tuple(told.answers),
        granted=tuple(told.granted),
        status=status,
        error_code=code,
        result_ref=text_of(facts, "result_ref"),
        effect=told.effect(code),
        recovery=recovery,
        next=following,
        facts=facts,
        steps=tuple(told.steps),
    )


_STATUS = {"call.waiting": "waiting", "call.started": "running", "call.refused": "denied", "call.recovered": "unknown"}
_SETTLES = frozenset({"call.settled", "call.finished", "call.refused", "call.recovered", "call.resolved"})
_BESIDE = frozenset(
    {
        "call.replayed", "call.late", "call.nested", "call.undone", "grant.given", "grant.revoked", "budget.settled",
        "budget.released", "limit.refused", "tool.health",
    }
)  # fmt: skip
"""Told, but they do not move the call: what they say is not what the call was."""
_AROUND = frozenset({"approval.decided", "approval.ended", "call.recovered", "call.resolved"})
"""Made by somebody else than the caller: the policy set that was in force then decided nothing about the call."""
_OF_THE_CALLER = frozenset(
    {"caller", "view_digest", "tool_call_id", "step_index", "position", "arguments", "decision", "policy_set"}
)
"""What a row says of whoever sent it: of another caller than the call's own, it is not about the call."""


class _Told:
    """What the rows so far come to."""

    def __init__(self) -> None:
        self.row: AuditRow | None = None
        self.facts: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.answers: list[Answer] = []
        self.granted: list[Granted] = []
        self.status = ""
        self.code = ""
        self.started = False
        self.died = False
        """Whether the process that last ran it was found dead."""
        self.by_evidence = False

    def add(self, row: AuditRow) -> None:
        """One more row, newer than those before."""
        said = _facts(row)
        self.row = row
        self._move(row.kind, said)
        if row.kind == "approval.decided":
            self.answers.append(_answer(row, said))
        if row.kind == "grant.used":
            self.granted.append(
                Granted(grant_id=text_of(said, "grant_id"), giver=text_of(said, "giver"), at_us=row.at_us)
            )
        self.steps.append(Step(at_us=row.at_us, kind=row.kind, text=sentence(row.kind, said)))
        self._keep(row.kind, said)

    def _move(self, kind: str, said: dict[str, Any]) -> None:
        self.status = _status(kind, said, self.status)
        if kind in _SETTLES or kind == "approval.ended":
            # A later row that settles the call replaces what an earlier one said, also by saying nothing.
            self.code = text_of(said, "error_code")
        if kind == "call.started":
            self.started, self.died = True, False
        elif kind == "call.recovered":
            self.died = True
        elif kind == "call.resolved":
            self.by_evidence = True
            if self.status == "error":
                self.code = self.code or "TOOL_UNAVAILABLE"

    def _keep(self, kind: str, said: dict[str, Any]) -> None:
        own, other = mapping_of(self.facts.get("caller")), mapping_of(said.get("caller"))
        beside = kind in _BESIDE
        foreign = bool(own and other) and own.get("id") != other.get("id")
        for name, value in said.items():
            if value is None:
                continue
            if name == "policy_set" and kind in _AROUND:
                continue
            first = beside or name == "caller" or (foreign and name in _OF_THE_CALLER)
            if not first or not self.facts.get(name):
                self.facts[name] = value

    def effect(self, code: str) -> str:
        """In a sentence: whether it happened."""
        if self.died and self.status == "unknown":
            return "the process that ran it died: the effect may or may not have happened"
        if self.died and self.status == "error" and not self.by_evidence:
            return "the process that ran it died; its contract says that repeating it does no harm"
        if (undo := text_of(self.facts, "undo_call_id")) and self.status == "ok":
            return f"the tool ran, and its effect was taken back by call {undo}"
        if not self.status and self.steps[-1].kind == "call.replayed":
            return f"nothing ran for it: the stored result of {text_of(self.facts, 'result_ref') or 'a call'} was given"
        return _effect(self.status, started=self.started and not self.by_evidence, code=code)


def _status(kind: str, said: dict[str, Any], before: str) -> str:
    # A replay, a late completion and one answer of several are told, but do not move the call.
    if kind == "approval.ended":
        return "cancelled" if text_of(said, "status") == "cancelled" else "denied"
    if kind == "approval.edited":
        return text_of(said, "status") or before
    if kind == "approval.decided":
        verdict = text_of(said, "verdict")
        if verdict in ("reject", "answer"):
            return "denied" if verdict == "reject" else "cancelled"
        return "ready" if text_of(said, "status") == "approved" else before
    told = text_of(said, "status") if kind in _SETTLES or kind in _STATUS else ""
    return told or _STATUS.get(kind, before)


def _answer(row: AuditRow, said: dict[str, Any]) -> Answer:
    return Answer(
        approval_id=text_of(said, "approval_id"),
        approver=text_of(said, "approver"),
        verdict=text_of(said, "verdict"),
        reason=text_of(said, "reason"),
        at_us=row.at_us,
    )


def _effect(status: str, *, started: bool, code: str) -> str:
    match status:
        case "ok":
            return "the tool ran and its effect, if it has one, happened once"
        case "unknown":
            return "the effect may or may not have happened"
        case _ if code == "TOOL_OUTPUT_INVALID":
            return "the tool ran and its effect, if it has one, happened once; its output was withheld"
        case "running":
            return "the tool was started; what came of it is not recorded yet"
        case "cancelled" if started:
            return "the tool was started and stopped half-way; its contract says that repeating it does no harm"
        case "error" if started and code not in ("TOOL_BUSINESS_ERROR", "TOOL_UNAVAILABLE"):
            return "the tool was started and failed"
        case _:
            return "no effect happened"


def _next(status: str, code: str, facts: dict[str, Any]) -> tuple[Recovery, str]:
    match status:
        case "ok":
            return "not_needed", "nothing; the same call again is answered with the stored result while its key is kept"
        case "waiting":
            return (
                "wait",
                f"somebody who is entitled to has to answer {text_of(facts, 'approval_id') or 'the question'}",
            )
        case "ready":
            return "wait", "it was approved; the caller has to resume the call"
        case "running":
            return "wait", "wait; if its process died, recovery finds the call and settles or reports it"
        case "unknown":
            key = text_of(facts, "key")
            look = f" (key {key})" if key else ""
            return "person", f"look in the target system whether it happened{look}, then resolve the call with evidence"
        case _:
            return _after_failure(code)


def _after_failure(code: str) -> tuple[Recovery, str]:
    match RECOVERY.get(cast("Code", code), "nobody"):
        case "model":
            return "model", "the model may correct the call and send it as a new one"
        case "engine":
            return "engine", "the same call may be sent again unchanged"
        case _:
            return "nobody", "nothing; sending it again does not change the answer"


def _facts(row: AuditRow) -> dict[str, Any]:
    try:
        return mapping_of(msgspec.json.decode(row.body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {"reason": "the row cannot be read; run an audit verify"}
