"""`surehand tools promote`, `disable`, `deprecate`, `canary`, `alias`, `history`: where versions stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .control import Reason, short, told
from .documents import Document
from .failures import OK
from .printer import local_time, utc_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import ControlRecord, Engine, Outcome

Version = Annotated[str, typer.Argument(metavar="NAME@VERSION", help="The version.")]


def promote(
    ctx: typer.Context,
    version: Version,
    to: Annotated[str, typer.Option("--to", metavar="STAGE", help="test, canary, active, deprecated or disabled.")],
    rollback: Annotated[
        str, typer.Option("--rollback", metavar="VERSION", help="The version that takes over if this one fails.")
    ] = "",
    reason: Reason = "",
    samples: Annotated[
        Path | None, typer.Option("--samples", metavar="FILE", help="More sample calls for the release checks.")
    ] = None,
    expect: Annotated[
        str, typer.Option("--expect", metavar="HASH", help="Promote only what was read: of `tools check` or `diff`.")
    ] = "",
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Make no release checks; the history says so.")
    ] = False,
) -> int:
    """Move a version to another stage: draft, test, canary, active, deprecated, disabled; a step at a time."""
    session = Session(ctx.obj)
    by, callers = session.caller, session.settings.callers
    name, number = _parts(version)
    move: Any = {"to": to, "rollback": rollback, "by": by, "reason": reason}

    async def work(engine: Engine) -> Outcome:
        from ..release import CheckedControl, read_samples

        if unchecked:
            move["reason"] = f"unchecked{f': {reason}' if reason else ''}"
            return await engine.control.promote(name, number, **move)
        more = {} if samples is None else {name: read_samples(samples, name, number, callers=callers)}
        checked = CheckedControl(engine, engine.control, samples=more)
        return await checked.promote(name, number, **move, expect=expect)

    return told(session, session.run(work), f"is at {to}")


def disable(ctx: typer.Context, version: Version, reason: Reason = "by hand") -> int:
    """Take a version from every call that has not started, at once and everywhere. Its history stays."""
    session = Session(ctx.obj)
    by = session.caller
    name, number = _parts(version)
    return told(
        session,
        session.run(lambda engine: engine.control.disable(name, number, by=by, reason=reason)),
        "is disabled",
    )


def deprecate(
    ctx: typer.Context,
    version: Version,
    use: Annotated[str, typer.Option("--use", metavar="TEXT", help="What to use instead.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="YYYY-MM-DD", help="Until when it is there.")] = "",
    reason: Reason = "",
) -> int:
    """Let a version work on, and say in views and results what to use instead."""
    session = Session(ctx.obj)
    by = session.caller
    name, number = _parts(version)
    return told(
        session,
        session.run(lambda engine: engine.control.deprecate(name, number, use=use, until=until, by=by, reason=reason)),
        "is deprecated",
    )


def canary(
    ctx: typer.Context,
    version: Version,
    percent: Annotated[float, typer.Option("--percent", help="Share of the runs, from 0 to 100.")] = 0.0,
    callers: Annotated[
        list[str] | None, typer.Option("--caller", metavar="TENANT/ID", help="A caller that gets it; repeatable.")
    ] = None,
    roles: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="A role that gets it; repeatable.")
    ] = None,
    reason: Reason = "",
) -> int:
    """Say who gets a version at stage canary; everybody else gets the current one."""
    from ..registry import Canary

    session = Session(ctx.obj)
    by = session.caller
    name, number = _parts(version)
    who = Canary(percent=percent, callers=tuple(callers or ()), roles=tuple(roles or ()))

    async def work(engine: Engine) -> Outcome:
        return await engine.control.canary(
            name, number, percent=who.percent, callers=who.callers, roles=who.roles, by=by, reason=reason
        )

    return told(session, session.run(work), f"is for {who}")


def alias(
    ctx: typer.Context,
    other: Annotated[str, typer.Argument(metavar="ALIAS", help="The other name.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool.")],
    reason: Reason = "",
) -> int:
    """Let a tool be called by another name too."""
    session = Session(ctx.obj)
    by = session.caller
    return told(
        session,
        session.run(lambda engine: engine.control.alias(other, name, by=by, reason=reason)),
        f"is another name of {name}",
    )


def history(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Of one tool only.")] = "",
    limit: Annotated[int, typer.Option("--limit", help="How many at most.")] = 100,
) -> int:
    """List what was changed of tools, policies and switches, newest first."""
    session = Session(ctx.obj)
    by = session.caller
    records = session.run(lambda engine: engine.control.history(name, by=by, limit=limit), needs="audit")
    if session.json:
        session.out.document({"changes": [_document(one) for one in records]})
    elif records:
        session.out.table(("WHEN", "BY", "ACTION", "TARGET", "WAS", "NOW", "REASON"), [_row(one) for one in records])
    else:
        session.out.nothing("nothing was changed")
    return OK


def _parts(version: str) -> tuple[str, str]:
    name, at, number = version.partition("@")
    if not (name and at and number):
        raise typer.BadParameter(f"{version!r} names no version; write NAME@VERSION", param_hint="NAME@VERSION")
    return name, number


def _document(one: ControlRecord) -> Document:
    return {
        "revision": one.revision,
        "at": utc_time(one.at_us),
        "by": one.by,
        "action": one.action,
        "target": one.target,
        "tenant": one.tenant or None,
        "was": one.was or None,
        "now": one.now or None,
        "reason": one.reason,
        "confirmed_by": list(one.confirmed_by),
    }


def _row(one: ControlRecord) -> tuple[str, ...]:
    by = f"{one.by}, with {', '.join(one.confirmed_by)}" if one.confirmed_by else one.by
    target = f"{one.target} of {one.tenant}" if one.tenant else one.target
    return local_time(one.at_us), by, one.action, target, short(one.was), short(one.now), one.reason
