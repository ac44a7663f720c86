"""Each kind of record in one sentence, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .facts import mapping_of, number_of, text_of, texts_of

Facts = dict[str, Any]


def sentence(kind: str, said: Facts) -> str:
    """What a record tells. A kind of a newer package is told by its name."""
    tell = _TELLERS.get(kind)
    return tell(said) if tell is not None else _PLAIN.get(kind, kind) + _ended(said)


def _ended(said: Facts) -> str:
    outcome = " ".join(filter(None, (text_of(said, "status"), text_of(said, "error_code"))))
    return f": {outcome}" if outcome else ""


def _reason(said: Facts) -> str:
    reason = text_of(said, "reason")
    return f": {reason}" if reason else ""


def _tool(said: Facts) -> str:
    return f"{text_of(said, 'name')}@{text_of(said, 'version')}".strip("@") or "the tool"


def _waiting(said: Facts) -> str:
    return f"{_tool(said)} waits for an answer to {text_of(said, 'approval_id') or 'a question'}"


def _started(said: Facts) -> str:
    attempt = f", attempt {said['attempt']}" if number_of(said, "attempt") else ""
    return f"{_tool(said)} was about to start{attempt}"


def _late(said: Facts) -> str:
    return f"the handler came back after its deadline{_ended(said)}"


def _recovered(said: Facts) -> str:
    why = text_of(said, "evidence")
    return f"the process that ran it was found dead{f' ({why})' if why else ''}{_ended(said)}"


def _resolved(said: Facts) -> str:
    who = text_of(said, "by") or text_of(said, "approver")
    words = text_of(said, "evidence")
    return f"settled by evidence{f' by {who}' if who else ''}{f': {words}' if words else ''}{_ended(said)}"


def _decided(said: Facts) -> str:
    members = sorted(set(texts_of(list(mapping_of(said.get("acts_for")).values()))))
    place = f" in the place of {', '.join(members)}" if members else ""
    return f"{text_of(said, 'approver') or 'somebody'} said {text_of(said, 'verdict') or '?'}{place}{_reason(said)}"


def _edited(said: Facts) -> str:
    changed = ", ".join(texts_of(said.get("changed"))) or "nothing"
    new = f"revision {number_of(said, 'revision')} waits as {text_of(said, 'approval_id')}"
    return f"{text_of(said, 'approver')} changed {changed}{_reason(said)}; earlier answers are void, {new}"


def _question_ended(said: Facts) -> str:
    if text_of(said, "by"):
        return f"{text_of(said, 'by')}, who asked, withdrew it{_reason(said)}"
    return f"the question ended without an answer{_ended(said)}"


def _granted(said: Facts) -> str:
    return f"granted by {text_of(said, 'giver') or 'somebody'} ({text_of(said, 'grant_id')})"


def _given(said: Facts) -> str:
    return f"{text_of(said, 'giver') or 'somebody'} gave a standing answer, {text_of(said, 'grant_id')}"


def _finished(said: Facts) -> str:
    if said.get("cached") is True:
        old = ", old as it is" if said.get("stale") is True else ""
        return f"an earlier result was given again{old}"
    return f"the result was given{_ended(said)}"


def _budget(what: str) -> Callable[[Facts], str]:
    return lambda said: f"{said.get('amount')} of the budget {text_of(said, 'budget')} {what}"


def _limited(said: Facts) -> str:
    return f"it was approved, and waits until the limit {text_of(said, 'limit')} has room"


def _health(said: Facts) -> str:
    return f"{text_of(said, 'subject')}: its breaker is {text_of(said, 'state')}"


def _undone(said: Facts) -> str:
    return f"{text_of(said, 'by') or 'somebody'} took it back with call {text_of(said, 'undo_call_id') or '?'}"


def _nested(said: Facts) -> str:
    child = f"{text_of(said, 'child_name') or 'a tool'} ({text_of(said, 'child_call_id') or '?'})"
    return f"its handler called {child}: {text_of(said, 'child_status') or '?'}"


_TELLERS: Mapping[str, Callable[[Facts], str]] = {
    "call.waiting": _waiting,
    "call.started": _started,
    "call.late": _late,
    "call.recovered": _recovered,
    "call.resolved": _resolved,
    "call.undone": _undone,
    "call.nested": _nested,
    "approval.decided": _decided,
    "approval.edited": _edited,
    "approval.ended": _question_ended,
    "grant.used": _granted,
    "grant.given": _given,
    "call.finished": _finished,
    "budget.settled": _budget("was used"),
    "budget.released": _budget("was given back"),
    "limit.refused": _limited,
    "tool.health": _health,
}
_PLAIN: Mapping[str, str] = {
    "call.settled": "the handler's outcome was stored",
    "call.refused": "it was refused and never ran",
    "call.replayed": "the stored result was given again",
    "approval.reminded": "nobody has decided the question; it was told again",
    "approval.escalated": "nobody has decided the question; a second group may answer too",
}
