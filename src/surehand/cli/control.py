"""`surehand kill`, `surehand revive`, `surehand changes`: switches for a hurry, and changes that others confirm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ApprovalError
from .documents import Document, asks_document
from .failures import OK, PENDING
from .printer import local_time, utc_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import Outcome
    from ..engine.control_state import Proposal

changes = typer.Typer(no_args_is_help=True, help="Confirm or reject changes of tools and policies that ask for it.")

_DIGEST = re.compile("[0-9a-f]{64}")
Tool = Annotated[str, typer.Argument(metavar="[TOOL]", help="The tool, for everybody.")]
Agent = Annotated[str, typer.Option("--agent", metavar="NAME", help="Instead: everything that this agent calls.")]
Tenant = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="In this tenant only; by itself: everything of that tenant.")
]
Everything = Annotated[bool, typer.Option("--everything", help="Instead: all tools for everybody.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept in the history.")]


def kill(
    ctx: typer.Context,
    tool: Tool = "",
    agent: Agent = "",
    tenant: Tenant = "",
    everything: Everything = False,
    reason: Reason = "by hand",
) -> int:
    """Switch a tool, an agent, a tenant or everything off, at once and everywhere. What has started is not stopped."""
    _require_one(tool, agent, tenant, everything)
    session = Session(ctx.obj)
    by = session.caller
    outcome = session.run(
        lambda engine: engine.control.kill(
            tool=tool, agent=agent, tenant=tenant, everything=everything, by=by, reason=reason
        )
    )
    return told(session, outcome, "is switched off", notes=_unknown(session, agent, tenant))


def _unknown(session: Session, agent: str, tenant: str) -> list[str]:
    """What was switched off without the project file knowing it. It may be right, since servers name callers too."""
    from ..settings import did_you_mean

    callers = session.settings.callers.values()
    known = {
        "agent": {*session.settings.filters.agents, *(one.agent for one in callers if one.agent)},
        "tenant": {*session.settings.tenants, *(one.tenant for one in callers)},
    }
    return [
        f"the project file knows no {kind} {name!r}; {did_you_mean(name, known[kind] or {'none'})}"
        for kind, name in (("agent", agent), ("tenant", tenant))
        if name and name not in known[kind]
    ]


def revive(
    ctx: typer.Context,
    tool: Tool = "",
    agent: Agent = "",
    tenant: Tenant = "",
    everything: Everything = False,
    reason: Reason = "",
) -> int:
    """Switch on again what `kill` switched off. Without a name: list what is switched off."""
    session = Session(ctx.obj)
    by = session.caller
    if not (tool or agent or tenant or everything):
        off = session.run(lambda engine: engine.control.kills(by=by), needs="audit")
        if session.json:
            session.out.document({"off": off})
        elif off:
            session.out.table(("OFF", "WHY"), list(off.items()))
        else:
            session.out.nothing("nothing is switched off")
        return OK
    _require_one(tool, agent, tenant, everything)
    return told(
        session,
        session.run(
            lambda engine: engine.control.revive(
                tool=tool, agent=agent, tenant=tenant, everything=everything, by=by, reason=reason
            )
        ),
        "is switched on",
    )


def _require_one(tool: str, agent: str, tenant: str, everything: bool) -> None:
    named = bool(tool) + bool(agent) + everything
    if named > 1 or not (named or tenant) or (everything and tenant):
        raise typer.BadParameter(
            "name one of TOOL, --agent NAME, --tenant NAME and --everything; --tenant may narrow a tool or an agent",
            param_hint="TOOL",
        )


def told(session: Session, outcome: Outcome, done: str, *, notes: Sequence[str] = ()) -> int:
    """Prints what became of a change, and what to look at again. Exit code 3 while it waits for others."""
    if session.json:
        session.out.document(outcome_document(outcome) | ({"notes": list(notes)} if notes else {}))
    elif outcome.status == "pending":
        groups = ", ".join(dict.fromkeys(need.group for need in outcome.needs))
        session.out.line(f"{outcome.target} waits for the yes of {groups}", "yellow")
        session.out.facts([("confirm with", f"surehand changes confirm {outcome.change_id} --as NAME")])
    else:
        session.out.line(f"{outcome.target} {done}", "red" if outcome.status == "rejected" else "green")
        for note in notes:
            session.out.line(note, "yellow")
    return PENDING if outcome.status == "pending" else OK


def short(text: str) -> str:
    """A digest by its beginning, as `policy rollback` takes it; all else whole."""
    return text[:12] if _DIGEST.fullmatch(text) else text


def outcome_document(outcome: Outcome) -> Document:
    """What became of a change."""
    return {
        "status": outcome.status,
        "target": outcome.target,
        "revision": outcome.revision,
        "change_id": outcome.change_id or None,
        "needs": asks_document(outcome.needs),
    }


@changes.command("list")
def list_(ctx: typer.Context) -> int:
    """List the changes that wait for others, those that ask you first of all."""
    session = Session(ctx.obj)
    by = session.caller
    found = session.run(lambda engine: engine.control.pending(by=by))
    rows: list[Document] = [_proposal(one) for one in found]
    if session.json:
        session.out.document({"changes": rows})
    elif rows:
        session.out.table(
            ("CHANGE", "ACTION", "TARGET", "TO", "BY", "ASKS", "SINCE", "REASON"),
            [
                (
                    row["change_id"],
                    row["action"],
                    row["target"],
                    short(row["to"] or ""),
                    row["requester"],
                    ", ".join(dict.fromkeys(need["group"] for need in row["needs"])),
                    local_time(one.created_us),
                    row["reason"],
                )
                for one, row in zip(found, rows, strict=True)
            ],
        )
    else:
        session.out.nothing("no change waits")
    return OK


def _proposal(one: Proposal) -> Document:
    """Everything that a change will do."""
    change = one.change
    canary = change.canary and str(change.canary)
    return {
        "change_id": one.change_id,
        "action": change.action,
        "target": change.target,
        "to": change.to or change.digest or canary or (change.name if change.alias else None),
        "rollback": change.rollback or None,
        "use": change.use or None,
        "until": change.until or None,
        "policies": [{"file": text.name, "tenant": text.tenant, "text": text.text} for text in change.sources],
        "reason": change.reason,
        "requester": one.requester.id,
        "needs": asks_document(one.needs),
        "created_at": utc_time(one.created_us),
        "expires_at": utc_time(one.expires_us),
    }


ChangeId = Annotated[str, typer.Argument(metavar="CHANGE", help="As `surehand changes list` shows it.")]


@changes.command("show")
def show(ctx: typer.Context, change_id: ChangeId) -> int:
    """Show all that a waiting change will do, policies with their texts: what a yes to it is for."""
    session = Session(ctx.obj)
    by = session.caller
    found = session.run(lambda engine: engine.control.pending(by=by))
    row = next((_proposal(one) for one in found if one.change_id == change_id), None)
    if row is None:
        raise ApprovalError("not_found", f"there is no change {change_id!r} that waits")
    if session.json:
        session.out.document(row)
        return OK
    words = ("change_id", "action", "target", "to", "rollback", "use", "until", "requester", "reason", "expires_at")
    session.out.facts([(word.replace("_", " "), row[word] or "") for word in words])
    for policy in row["policies"]:
        session.out.line(f"{policy['file']}{'' if policy['tenant'] is None else ', for ' + policy['tenant']}:")
        session.out.block(policy["text"])
    return OK


@changes.command("confirm")
def confirm(ctx: typer.Context, change_id: ChangeId, reason: Reason = "") -> int:
    """Say yes to a change of somebody else's; the last yes that it needs makes it."""
    session = Session(ctx.obj)
    by = session.caller
    return told(
        session, session.run(lambda engine: engine.control.confirm(change_id, by=by, reason=reason)), "is changed"
    )


@changes.command("reject")
def reject(ctx: typer.Context, change_id: ChangeId, reason: Reason = "") -> int:
    """Say no to a change; that ends it."""
    session = Session(ctx.obj)
    by = session.caller
    return told(
        session,
        session.run(lambda engine: engine.control.reject(change_id, by=by, reason=reason)),
        "stays as it is: the change is rejected",
    )
