"""`surehand tools check`, `diff`, `review`: whether a version is fit, what it changes, and who should look at what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import typer

from ..errors import NotFoundError
from .documents import Document
from .entitled import may
from .failures import FAILED, OK
from .printer import Printer, local_time, utc_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine
    from ..registry import Entry
    from ..release import Applied, Diff, Report, Review, Task
    from ..types import Caller, Stage

_STAGES = ("test", "canary", "active")
_KINDS = ("unused", "owner", "drifted", "failing", "security")


def check(
    ctx: typer.Context,
    tool: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="The tool; else its current version.")],
    samples: Annotated[
        Path | None, typer.Option("--samples", metavar="FILE", help="More sample calls, as TOML tables [[sample]].")
    ] = None,
    to: Annotated[str, typer.Option("--to", help="The stage it is checked for: test, canary or active.")] = "active",
    rollback: Annotated[
        str, typer.Option("--rollback", metavar="VERSION", help="The version that takes over if this one fails.")
    ] = "",
    alerts: Annotated[
        bool, typer.Option("--alerts", help="Say that the application tells somebody when calls fail.")
    ] = False,
) -> int:
    """Check whether a version is fit for a stage. Sample calls run its handler for real. Exit code 1 if it is not."""
    session = Session(ctx.obj)
    caller, callers = session.caller, session.settings.callers
    if to not in _STAGES:
        raise typer.BadParameter(
            f"there is no stage {to!r} to check for; write {', '.join(_STAGES)}", param_hint="--to"
        )

    async def work(engine: Engine) -> Report:
        from ..release import check as run_checks
        from ..release import read_samples
        from ..release.promote import require_publish

        name, _, version = tool.partition("@")
        spec = (await _entry(engine, caller, name, version)).tool.spec
        more = [] if samples is None else read_samples(samples, spec.name, spec.version, callers=callers)
        require_publish(engine, caller, spec, "check")
        stage = cast("Stage", to)
        return await run_checks(
            engine, spec.name, spec.version, to=stage, samples=more, rollback=rollback, alerts=alerts
        )

    report = session.run(work)
    if session.json:
        session.out.document({"ok": report.green, **_plain(report)})
    else:
        out = session.out
        out.line(f"{report.tool}: {'fit' if report.green else 'not fit'} for {to}", "green" if report.green else "red")
        out.table(("CHECK", "VERDICT", "WHY"), [(row.id, row.verdict, row.text) for row in report.rows])
        out.facts([("hash", report.hash)])
    return OK if report.green else FAILED


def diff(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool.")],
    before: Annotated[str, typer.Argument(metavar="A", help="The version that is known.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The version that is to take its place.")],
) -> int:
    """Show what version B changes of version A, and what that means. As with diff, exit code 1 if they differ."""
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> Diff:
        from ..release import diff as compare

        entries = [await _entry(engine, caller, name, version) for version in (before, after)]
        return compare(entries[0].tool, entries[1].tool, policies=engine.policies)

    found = session.run(work)
    if session.json:
        session.out.document({"same": found.same, **_plain(found)})
    else:
        _print_diff(session.out, found)
    return OK if found.same else FAILED


def review(
    ctx: typer.Context,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="FILE", help="Keeps open tasks and their dates; made if missing.")
    ] = None,
    apply: Annotated[
        list[str] | None,
        typer.Option("--apply", metavar="KIND", help="Do what tasks of this kind advise; may be repeated."),
    ] = None,
) -> int:
    """Find tools in use that somebody should look at. Exit code 1 if a task is overdue or could not be applied."""
    session = Session(ctx.obj)
    caller, limits = session.caller, session.settings.review
    kinds = tuple(apply or ())
    for kind in kinds:
        if kind not in _KINDS:
            raise typer.BadParameter(f"there is no kind {kind!r}; write {', '.join(_KINDS)}", param_hint="--apply")

    async def work(engine: Engine) -> tuple[Review, list[Applied]]:
        from .. import release
        from ..lint import lint_tools

        known = [] if tasks is None else release.read_tasks(tasks)
        found = await release.review(engine, by=caller, limits=limits, lint=lint_tools, known=known)
        if tasks is not None:
            release.write_tasks(tasks, found.tasks)
        return found, await release.apply_review(engine.control, found, cast("Any", kinds), by=caller)

    found, applied = session.run(work)
    overdue = [task for task in found.tasks if task.due_us < found.at_us]
    if session.json:
        session.out.document(_review_document(found, applied))
    else:
        _print_review(session.out, found, applied)
    return FAILED if overdue or any(one.did == "refused" for one in applied) else OK


async def _entry(engine: Engine, caller: Caller, name: str, version: str) -> Entry:
    """One version, if the caller may know of it."""
    from ..policy import Deny

    await engine.view(caller)
    world, now_us = engine.services.world, engine.services.clock.now_us()
    entry = world.catalog.resolve(name, version or None)
    if entry is not None and (
        may(engine, caller, "audit")
        or not isinstance(world.look(caller, entry, now_us=now_us), Deny)
        or not isinstance(engine.policies.may(caller, "publish", entry.tool.spec, now_ns=now_us * 1000), Deny)
    ):
        return entry
    wanted = f"{name}@{version}" if version else name
    raise NotFoundError(f"there is no tool {wanted!r}; `surehand tools list` shows those there are")


def _plain(value: Any) -> Document:
    return msgspec.to_builtins(value)


def _print_diff(out: Printer, found: Diff) -> None:
    if found.same:
        out.line(f"{found.before} and {found.after} are the same but for the version", "green")
        return
    for change in found.changes:
        out.line(f"{change.field} {change.effect}{f': {change.text}' if change.text else ''}")
        for mark, text in (("-", change.before), ("+", change.after)):
            if text:
                out.block("\n".join(f"{mark} {line}" for line in text.split("\n")))
    out.facts([("hash", found.hash)])


def _task_document(task: Task) -> Document:
    document = _plain(task)
    return {**document, "opened_at": utc_time(document.pop("opened_us")), "due_at": utc_time(document.pop("due_us"))}


def _review_document(found: Review, applied: list[Applied]) -> Document:
    return {
        "at": utc_time(found.at_us),
        "since": utc_time(found.since_us),
        "tools": found.tools,
        "tasks": [_task_document(task) for task in found.tasks],
        "closed": [_task_document(task) for task in found.closed],
        "applied": [_plain(one) for one in applied],
    }


def _print_review(out: Printer, found: Review, applied: list[Applied]) -> None:
    if found.tasks:
        rows = [(one.tool, one.kind, local_time(one.due_us), one.advice, one.text) for one in found.tasks]
        out.table(("TOOL", "KIND", "DUE", "ADVICE", "WHY"), rows)
    else:
        out.line(f"{found.tools} versions in use, nothing to look at", "green")
    out.facts([("records since", local_time(found.since_us))])
    out.facts(("closed", task.id) for task in found.closed)
    out.facts((one.did, f"{one.task}: {one.text}") for one in applied)
