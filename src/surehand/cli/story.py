"""A call's story for people: which version, why allowed, how validated, what effect, can it be recovered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .printer import Printer, local_time

if TYPE_CHECKING:
    from ..audit import CallStory

_RECOVERY = {
    "not_needed": "not needed",
    "wait": "not yet: it goes on by itself or with an answer",
    "model": "yes, by the model with other arguments",
    "engine": "yes, by the same call again",
    "person": "yes, by a person with evidence",
    "nobody": "no",
}


def tell(out: Printer, story: CallStory) -> None:
    """Prints the story, then the records that it was read from."""
    out.facts(
        [
            ("call", story.call_id),
            ("status", story.status),
            ("tool", f"{story.name}@{story.version}" if story.version else story.name),
            ("contract", story.contract_hash),
            ("caller", _caller(story)),
            ("undoes", str(story.facts.get("undoes") or "")),
            ("called by", str(story.facts.get("parent_call_id") or "")),
            ("decision", story.decision),
            ("policies", ", ".join(story.policies)),
            *(("reason", reason) for reason in story.reasons),
            ("policy set", story.policy_set),
            *(("shadow", text) for text in _shadows(story)),
            *(("answer", text) for text in _answers(story)),
            *(("granted", f"by {one.giver} ({one.grant_id})") for one in story.granted),
            ("parsed", f"leniently: {', '.join(story.liberties)}" if story.liberties else ""),
            ("validated", _validated(story)),
            ("effect", story.effect),
            *(("evidence", step.text) for step in story.steps if step.kind == "call.resolved"),
            ("key", story.key),
            ("attempts", str(story.attempts) if story.attempts else ""),
            ("error", story.error_code),
            ("result", story.result_ref),
            ("recoverable", _RECOVERY.get(story.recovery, story.recovery)),
            ("what now", story.next),
        ]
    )
    if story.arguments is not None:
        out.line("arguments, redacted:")
        out.value(story.arguments)
    out.line("records:")
    out.table(("TIME", "KIND", "WHAT"), [(local_time(step.at_us), step.kind, step.text) for step in story.steps])


def _caller(story: CallStory) -> str:
    caller = story.caller
    named = [f"{name} {caller[name]}" for name in ("agent", "environment") if caller.get(name)]
    return ", ".join([str(caller.get("id", "")), f"tenant {story.tenant}", *named])


def _shadows(story: CallStory) -> Iterable[str]:
    decision: Any = story.facts.get("decision") or {}
    for one in decision.get("shadow") or ():
        groups = f" {', '.join(one['groups'])}" if one["groups"] else ""
        yield f"{one['policy_id']}, not enforced, would have made it {one['decision']}{groups}: {one['reason']}"


def _answers(story: CallStory) -> Iterable[str]:
    for answer in story.answers:
        reason = f": {answer.reason}" if answer.reason else ""
        yield f"{answer.approver or 'somebody'} said {answer.verdict}{reason} ({local_time(answer.at_us)})"


def _validated(story: CallStory) -> str:
    if not story.contract_hash:
        return ""
    if not story.coercions:
        return "as written, nothing was changed"
    return "changed: " + "; ".join(_changed(one) for one in story.coercions)


def _changed(coercion: Any) -> str:
    match coercion:
        case [path, before, after]:
            return f"{path or 'the arguments'} from {before} to {after}"
        case _:
            return str(coercion)
