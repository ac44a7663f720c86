"""The commands of `surehand approvals` beside yes and no: edit, answer, withdraw; and who stands in for whom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from .arguments import ApprovalId, json_object, json_value
from .documents import approval_document, deputy_document
from .failures import OK
from .hints import Hint, after_decision
from .printer import local_time
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..engine import Deputy, Engine, Pending


Decided: TypeAlias = "tuple[Pending, Hint]"
"""A question after an answer, and what follows."""

_SPAN_S = {"m": 60, "h": 3600, "d": 86_400}


def edit(
    ctx: typer.Context,
    approval_id: ApprovalId,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One argument: VALUE is JSON, or else a text. Repeat it."),
    ] = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", metavar="JSON", help="All arguments that the model may write.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; for the record and the other approvers.")] = "",
    digest: Annotated[
        str | None, typer.Option("--digest", help="What was shown before; refused if that is not what is asked.")
    ] = None,
) -> int:
    """Ask about other arguments of the same call. Earlier answers are void; yours counts as a yes."""
    session = Session(ctx.obj)
    caller = session.caller
    if bool(changes) is (arguments is not None):
        raise typer.BadParameter("say what changes: --set NAME=VALUE, or --arguments JSON", param_hint="--set")
    whole = None if arguments is None else json_object(arguments, "--arguments")
    some = None if not changes else dict(_pair(one) for one in changes)
    return _decide(
        session,
        lambda engine: engine.approvals.edit(approval_id, whole, by=caller, changes=some, reason=reason, digest=digest),
    )


def answer(
    ctx: typer.Context,
    approval_id: ApprovalId,
    text: Annotated[str, typer.Option("--text", help="What the model reads instead of the tool's result.")],
    structured: Annotated[
        str | None, typer.Option("--structured", metavar="JSON", help="The same as a JSON value.")
    ] = None,
) -> int:
    """Give the result yourself; the tool never runs."""
    session = Session(ctx.obj)
    caller = session.caller
    value = None if structured is None else json_value(structured, "--structured")
    return _decide(session, lambda engine: engine.approvals.answer(approval_id, text, by=caller, structured=value))


def withdraw(
    ctx: typer.Context,
    approval_id: ApprovalId,
    reason: Annotated[str, typer.Option("--reason", help="Why; for the record.")] = "",
) -> int:
    """Take your own call back, also after a yes, as long as it has not started."""
    session = Session(ctx.obj)
    caller = session.caller
    return _decide(session, lambda engine: engine.approvals.withdraw(approval_id, by=caller, reason=reason))


def delegate(
    ctx: typer.Context,
    to: Annotated[str, typer.Option("--to", metavar="ID", help="The deputy's id, in your tenant.")],
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="2026-12-24T18:00+01:00, or a span from now: 8h, 3d.")
    ],
) -> int:
    """Name a deputy, who answers in your place until then."""
    session = Session(ctx.obj)
    caller = session.caller
    end = _time(until)
    named = session.run(lambda engine: engine.approvals.delegate(to=to, until=end, by=caller))
    if session.json:
        session.out.document(deputy_document(named))
    else:
        session.out.facts([("delegation", named.delegation_id), ("deputy", to), ("until", local_time(named.until_us))])
    return OK


def dismiss(
    ctx: typer.Context, delegation_id: Annotated[str, typer.Argument(metavar="ID", help="The delegation.")]
) -> int:
    """End one of your own delegations at once."""
    session = Session(ctx.obj)
    caller = session.caller
    session.run(lambda engine: engine.approvals.dismiss(delegation_id, by=caller))
    if session.json:
        session.out.document({"delegation_id": delegation_id, "dismissed": True})
    else:
        session.out.line(f"{delegation_id} ended")
    return OK


def deputies(ctx: typer.Context) -> int:
    """List the delegations that hold now, of which you are one side."""
    session = Session(ctx.obj)
    caller = session.caller
    found = session.run(lambda engine: engine.approvals.deputies(by=caller))
    if session.json:
        session.out.document({"delegations": [deputy_document(one) for one in found]})
    elif not found:
        session.out.nothing(
            "nobody stands in for you, and you for nobody; `surehand approvals delegate` names a deputy"
        )
    else:
        session.out.table(("DELEGATION", "PRINCIPAL", "DEPUTY", "UNTIL"), [_row(one) for one in found])
    return OK


def _decide(session: Session, answer: Callable[[Engine], Awaitable[Pending]]) -> int:
    async def work(engine: Engine) -> Decided:
        pending = await answer(engine)
        return pending, await after_decision(engine, pending, session)

    return print_decided(session, session.run(work))


def progress(pending: Pending) -> list[tuple[str, str]]:
    """How many of each group have said yes, as facts for people."""
    return [("has", f"{one.have} of {one.need} of {one.group}") for one in pending.progress]


def print_decided(session: Session, decided: Decided) -> int:
    """What became of a question, and what follows."""
    pending, hint = decided
    if session.json:
        session.out.document(approval_document(pending))
        return OK
    revision = str(pending.revision) if pending.revision > 1 else ""
    has = progress(pending) if pending.status == "open" else []
    session.out.facts(
        [("approval", pending.approval_id), ("status", pending.status), ("revision", revision), *has, *hint.facts()]
    )
    return OK


def _row(one: Deputy) -> tuple[str, ...]:
    return one.delegation_id, one.principal, one.deputy, local_time(one.until_us)


def _pair(text: str) -> tuple[str, Any]:
    """JSON where it is JSON, else the text as it stands: `--set amount=5` is a number, `--set to=bob` a text."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    try:
        return name, json_value(value, "--set")
    except typer.BadParameter:
        return name, value


def _time(text: str) -> datetime:
    number, unit = text[:-1], text[-1:]
    if unit in _SPAN_S and number.isascii() and number.isdigit() and len(number) < 9:
        return datetime.now(UTC) + timedelta(seconds=int(number) * _SPAN_S[unit])
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        end = None
    if end is None or end.tzinfo is None:
        raise typer.BadParameter(
            "write a time with its zone, 2026-12-24T18:00+01:00, or 8h or 3d", param_hint="--until"
        )
    return end
