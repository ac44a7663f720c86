"""`surehand grants`: standing answers, given before the question is asked."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .approvals import confirmed, print_question, terminal
from .arguments import ApprovalId, json_object
from .documents import grant_document
from .failures import FAILED, OK
from .hints import Hint, after_decision
from .printer import local_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine, GrantInfo

app = typer.Typer(no_args_is_help=True, help="Answer in advance what would be asked again and again.")

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_EXPIRES = re.compile(r"(\d{1,9})([smhd])")
GrantId = Annotated[str, typer.Argument(metavar="ID", help="The grant.")]


Uses = Annotated[int, typer.Option("--uses", help="How many calls may use it.")]
Expires = Annotated[str, typer.Option("--expires", metavar="TIME", help="For how long: 30m, 12h or 7d.")]
Where = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="JSON",
        help='What the arguments must be, such as {"amount": {"at_most": 100}}; {} for any arguments.',
    ),
]
Reason = Annotated[str, typer.Option("--reason", help="Why; for people.")]


@app.command("give")
def give(
    ctx: typer.Context,
    tool: Annotated[str, typer.Argument(help="The tool; NAME@VERSION for a version that is not the current one.")],
    of: Annotated[str, typer.Option("--of", metavar="NAME", help="Whose calls: a caller of [callers].")],
    policy: Annotated[
        list[str], typer.Option("--policy", metavar="ID", help="Whose question it answers; repeat it for several.")
    ],
    uses: Uses,
    expires: Expires,
    where: Where,
    reason: Reason = "",
) -> int:
    """Let future calls of one caller through without asking, within what you may approve yourself."""
    from ..engine import Grantee

    session = Session(ctx.obj)
    whose = session.named(of, "--of")
    to = Grantee(caller=whose.id, tool=tool, policies=tuple(policy), agent=whose.agent, environment=whose.environment)
    return _give(session, uses, expires, where, to=to, reason=reason)


@app.command("remember")
def remember(
    ctx: typer.Context,
    approval_id: ApprovalId,
    uses: Uses,
    expires: Expires,
    where: Where,
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needed where there is no terminal.")] = False,
) -> int:
    """Approve a question, and calls like it: the same caller, tool and policies, within --where."""
    session = Session(ctx.obj)
    if not yes and not _seen(session, approval_id):
        sys.stderr.write("surehand: not approved; nothing changed\n")
        return FAILED
    return _give(session, uses, expires, where, from_approval=approval_id, reason=reason)


def _give(session: Session, uses: int, expires: str, where: str, **given: Any) -> int:
    caller = session.caller
    conditions = json_object(where, "--where", "; {} stands for any arguments")
    terms: Any = {"uses": uses, "expires_s": _seconds(expires), "where": conditions, **given}

    async def work(engine: Engine) -> tuple[GrantInfo, Hint]:
        one = await engine.grants.give(by=caller, **terms)
        if "from_approval" not in given:
            return one, Hint()
        answered = await engine.approvals.get(given["from_approval"], by=caller)
        return one, await after_decision(engine, answered, session)

    one, hint = session.run(work)
    _print(session, one)
    if not session.json:
        session.out.facts(hint.facts())
    return OK


@app.command("list")
def list_(
    ctx: typer.Context,
    all_: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
) -> int:
    """List grants that the caller may see, newest first."""
    session = Session(ctx.obj)
    caller = session.caller
    found = session.run(lambda engine: engine.grants.list(by=caller))
    shown = [one for one in found if all_ or one.status == "open"]
    if session.json:
        session.out.document({"grants": [grant_document(one) for one in shown]})
    elif not shown:
        session.out.nothing(
            "no such grant; `surehand grants give` makes one"
            if all_
            else "no grant is open; `surehand grants list --all` shows those that are over, `grants give` makes one"
        )
    else:
        session.out.table(
            ("GRANT", "STATUS", "TOOL", "CALLER", "GIVER", "USED", "EXPIRES"), [_row(one) for one in shown]
        )
    return OK


@app.command("show")
def show(ctx: typer.Context, grant_id: GrantId) -> int:
    """Show what a grant lets through."""
    session = Session(ctx.obj)
    caller = session.caller
    return _print(session, session.run(lambda engine: engine.grants.get(grant_id, by=caller)))


@app.command("revoke")
def revoke(ctx: typer.Context, grant_id: GrantId) -> int:
    """End a grant at once."""
    session = Session(ctx.obj)
    caller = session.caller
    return _print(session, session.run(lambda engine: engine.grants.revoke(grant_id, by=caller)))


def _seen(session: Session, approval_id: str) -> bool:
    """Shows the question that is answered too, and asks."""
    aside = terminal(session)
    if aside is None:
        raise typer.BadParameter("there is no terminal to ask on; pass --yes", param_hint="--yes")
    caller = session.caller
    print_question(aside, session.run(lambda engine: engine.approvals.get(approval_id, by=caller)))
    return confirmed(session, caller, "this, and calls like it")


def _seconds(text: str) -> float:
    found = _EXPIRES.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no time; write 30m, 12h or 7d", param_hint="--expires")
    return float(int(found[1]) * _UNITS_S[found[2]])


def _row(one: GrantInfo) -> tuple[str, ...]:
    return (
        one.grant_id,
        one.status,
        f"{one.tool}@{one.version}",
        one.caller,
        one.giver,
        f"{one.used} of {one.uses}",
        local_time(one.expires_us),
    )


def _print(session: Session, one: GrantInfo) -> int:
    document = grant_document(one)
    if session.json:
        session.out.document(document)
        return OK
    named = [f"{name} {value}" for name, value in (("agent", one.agent), ("environment", one.environment)) if value]
    session.out.facts(
        [
            ("grant", one.grant_id),
            ("status", one.status),
            ("tool", f"{one.tool}@{one.version}"),
            ("caller", ", ".join([one.caller, *named])),
            ("giver", one.giver),
            *(("lifts", f"{need.group}: {need.reason} ({need.policy_id})") for need in one.needs),
            ("reason", one.reason),
            ("used", f"{one.used} of {one.uses}"),
            ("expires", local_time(one.expires_us)),
            ("revoked by", one.revoked_by or ""),
        ]
    )
    if one.where:
        session.out.line("the arguments must be:")
        session.out.value(document["where"])
    else:
        session.out.line("whatever the arguments are")
    return OK
