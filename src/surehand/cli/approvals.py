"""`surehand approvals`: the questions that wait for people, and their answers."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from . import amending
from .amending import Decided, print_decided, progress
from .arguments import ApprovalId
from .documents import approval_document
from .entitled import check_entitled
from .failures import FAILED, OK
from .hints import after_decision
from .printer import Printer, local_time, one_line
from .session import Session

if TYPE_CHECKING:
    from ..approval import ApprovalStatus
    from ..engine import Engine, Pending
    from ..types import Caller, Requirement

app = typer.Typer(no_args_is_help=True, help="Answer the questions that calls wait for.")
for _command in (
    amending.edit, amending.answer, amending.withdraw, amending.delegate, amending.dismiss, amending.deputies,
):  # fmt: skip
    app.command(_command.__name__)(_command)


class Status(StrEnum):
    """What `--status` takes."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    EDITED = "edited"
    EXPIRED = "expired"
    CONSUMED = "consumed"
    STALE = "stale"
    ALL = "all"


@app.command("list")
def list_(
    ctx: typer.Context,
    status: Annotated[
        list[Status] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="open (the default), approved, rejected, answered, withdrawn, edited, expired, consumed, stale or "
            "all; repeat it for several.",
        ),
    ] = None,
) -> int:
    """List questions of the caller's tenant, oldest first."""
    session = Session(ctx.obj)
    caller = session.caller
    wanted = _statuses(status or [Status.OPEN])
    found = session.run(lambda engine: engine.approvals.list(by=caller, statuses=wanted))
    if session.json:
        session.out.document({"approvals": [approval_document(pending) for pending in found]})
    elif not found:
        session.out.nothing("no such approval; a call that a policy asks about appears here")
    else:
        session.out.table(
            ("APPROVAL", "STATUS", "TOOL", "REQUESTER", "NEEDS", "EXPIRES"), [_row(pending) for pending in found]
        )
    return OK


@app.command("show")
def show(ctx: typer.Context, approval_id: ApprovalId) -> int:
    """Show exactly what will run if it is approved."""
    session = Session(ctx.obj)
    caller = session.caller
    pending = session.run(lambda engine: engine.approvals.get(approval_id, by=caller))
    if session.json:
        session.out.document(approval_document(pending))
    else:
        print_question(session.out, pending)
    return OK


@app.command("approve")
def approve(
    ctx: typer.Context,
    approval_id: ApprovalId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needed where there is no terminal.")] = False,
    digest: Annotated[
        str | None, typer.Option("--digest", help="What was shown before; refused if that is not what would run.")
    ] = None,
) -> int:
    """Show exactly what will run, ask, and approve it."""
    session = Session(ctx.obj)
    caller = session.caller
    aside = terminal(session)

    async def look(engine: Engine) -> Pending:
        found = await engine.approvals.get(approval_id, by=caller)
        await check_entitled(engine, approval_id, caller)
        return found

    seen = session.run(look)
    if not yes and aside is None:
        raise typer.BadParameter("there is no terminal to ask on; pass --yes", param_hint="--yes")
    shown_on = session.out if yes else aside
    if not (yes and session.json) and shown_on is not None:
        print_question(shown_on, seen)
    if not yes and not confirmed(session, caller, "exactly this"):
        return _declined(session, seen)
    bound = digest or seen.digest

    async def decide(engine: Engine) -> Decided:
        decided = await engine.approvals.approve(approval_id, by=caller, digest=bound)
        return decided, await after_decision(engine, decided, session)

    return print_decided(session, session.run(decide))


@app.command("reject")
def reject(
    ctx: typer.Context,
    approval_id: ApprovalId,
    reason: Annotated[str, typer.Option("--reason", help="Why; the model reads it.")],
) -> int:
    """Reject what a call asks for; that ends it."""
    session = Session(ctx.obj)
    caller = session.caller

    async def decide(engine: Engine) -> Decided:
        decided = await engine.approvals.reject(approval_id, by=caller, reason=reason)
        return decided, await after_decision(engine, decided, session)

    return print_decided(session, session.run(decide))


def _statuses(wanted: list[Status]) -> tuple[ApprovalStatus, ...]:
    """As the engine takes them; none at all stands for all."""
    if Status.ALL in wanted:
        return ()
    return tuple(cast("ApprovalStatus", status.value) for status in wanted)


def terminal(session: Session) -> Printer | None:
    """Where a person sees what is asked; stderr if stdout goes elsewhere."""
    if not sys.stdin.isatty():
        return None
    if session.out.on_terminal and not session.json:
        return session.out
    return Printer(sys.stderr) if sys.stderr.isatty() else None


def confirmed(session: Session, caller: Caller, what: str) -> bool:
    """Whether the person at the terminal says yes to what they were shown."""
    answer = ""
    try:
        session.out.flush()
        sys.stderr.write(f"Approve {what} as {one_line(caller.id)}? [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    finally:
        if not answer:  # the cursor is still behind the question
            sys.stderr.write("\n")
    return answer.strip().lower() in ("y", "yes")


def _declined(session: Session, seen: Pending) -> int:
    if session.json:
        session.out.document(approval_document(seen))
    sys.stderr.write("surehand: not approved; nothing changed\n")
    return FAILED


def _row(pending: Pending) -> tuple[str, ...]:
    return (
        pending.approval_id,
        pending.status,
        f"{pending.tool}@{pending.version}",
        pending.requester.get("id", ""),
        ", ".join(f"{one.group} {one.have}/{one.need}" for one in pending.progress),
        local_time(pending.expires_us),
    )


def print_question(out: Printer, pending: Pending) -> None:
    """Exactly what will run, and what it hangs on."""
    requester = pending.requester
    named = [f"{name} {requester[name]}" for name in ("agent", "environment") if requester.get(name)]
    out.facts(
        [
            ("approval", pending.approval_id),
            ("status", pending.status),
            ("call", pending.call_id),
            ("revision", f"{pending.revision}, edited by {pending.edited_by}" if pending.edited_by else ""),
            ("edited because", pending.edit_reason),
            ("tool", f"{pending.tool}@{pending.version}"),
            ("requester", ", ".join([requester.get("id", ""), *named])),
            *(("needs", _need(need)) for need in pending.needs),
            *progress(pending),
            ("escalated", "yes: the second groups may answer too" if pending.escalated else ""),
            ("approved by", ", ".join(pending.approved_by)),
            ("rejected by", ", ".join(pending.rejected_by)),
            ("answered by", pending.answered_by),
            ("reason", pending.reason),
            ("asked", local_time(pending.created_us)),
            ("expires", local_time(pending.expires_us)),
            ("digest", pending.digest),
        ]
    )
    out.line("what the tool does:")
    out.block(pending.description)
    out.line("arguments, exactly as they will run:")
    out.value(pending.arguments)
    if pending.injected:
        out.line("arguments that come from the caller:")
        out.value(pending.injected)
    if pending.written is not None:
        out.line("what the model wrote:")
        out.value(pending.written)
    if pending.preview is not None:
        out.line("what the tool says it would do:")
        out.block(pending.preview)


def _need(need: Requirement) -> str:
    many = f"{need.quorum} of " if need.quorum > 1 else ""
    second = f", {need.escalate_to} too after a while" if need.escalate_to else ""
    return f"{many}{need.group}{second}: {need.reason} ({need.policy_id})"
