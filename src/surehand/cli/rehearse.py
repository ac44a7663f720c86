"""`surehand policy test`, `replay` and `shadow`: what policies decide, would decide, and would have decided."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from .documents import Document
from .failures import FAILED, OK
from .printer import local_time, utc_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine
    from ..rehearsal import Replay, RowResult

_LIMIT_MAX = 10_000


def judge(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="Rows: a TOML file with [[row]], or JSON lines.")],
    policies: Annotated[
        Path | None, typer.Option("--policies", metavar="PATH", help="A folder or file in place of the project's own.")
    ] = None,
) -> int:
    """Judge rows of calls, and compare with what each expects. Exit code 1 if any row differs. Runs nothing."""
    from ..compose import policy_rows

    session = Session(ctx.obj)
    session.claim_stdout()
    _ = session.settings  # a missing project file is told as everywhere
    results = policy_rows(file, project=session.project, policies=policies)
    wrong = [one for one in results if one.problems]
    if session.json:
        session.out.document(
            {"ok": not wrong, "rows": len(results), "failed": len(wrong), "results": [_row(one) for one in results]}
        )
    else:
        for one in wrong:
            session.out.line(f"row: {one.name}", "red")
            session.out.facts(("differs", problem) for problem in one.problems)
            session.out.facts(("reason", reason) for reason in one.reasons)
        session.out.line(
            f"policy: {len(results) - len(wrong)} of {len(results)} rows as expected", "red" if wrong else "green"
        )
    return FAILED if wrong else OK


def _row(result: RowResult) -> Document:
    return {**msgspec.to_builtins(result), "ok": result.ok}


def replay(
    ctx: typer.Context,
    draft: Annotated[Path, typer.Argument(help="The draft: a folder of *.cedar files, or one file.")],
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=_LIMIT_MAX, help="How many calls and records at most, newest first.")
    ] = 1000,
) -> int:
    """Judge recorded calls by a draft: what would it newly allow, ask about or deny? Runs nothing."""
    from ..compose import policy_loader
    from ..rehearsal import replay_policies

    session = Session(ctx.obj)
    caller, settings = session.caller, session.settings
    load = policy_loader(draft, settings)

    async def work(engine: Engine) -> Replay:
        return await replay_policies(
            engine,
            load(engine.registry.catalog),
            by=caller,
            limit=limit,
            callers=settings.callers.values(),
            progress=lambda done, of: print(f"surehand: judged {done} of {of} calls", file=sys.stderr),  # noqa: T201
        )

    found = session.run(work, needs="audit")
    if session.json:
        session.out.document(_replay(found))
    else:
        _print_replay(session, found)
    return OK


def _replay(found: Replay) -> Document:
    document: Document = msgspec.to_builtins(found)
    for one in document["changed"]:
        one["at"] = utc_time(one.pop("at_us"))
    return {**document, **{f"newly_{after}": found.newly(after) for after in ("allow", "ask", "deny")}}


def _print_replay(session: Session, found: Replay) -> None:
    out = session.out
    out.facts(
        [
            ("calls judged", str(found.judged)),
            ("newly allowed", str(found.newly("allow"))),
            ("newly asked", str(found.newly("ask"))),
            ("newly denied", str(found.newly("deny"))),
            *((f"left out, since {why}", str(count)) for why, count in sorted(found.left_out.items())),
            ("in force", found.in_force),
            ("draft", found.draft),
        ]
    )
    rows = [
        (
            local_time(one.at_us),
            one.call_id,
            f"{one.name}@{one.version}",
            one.caller,
            f"{one.before} -> {one.after}",
            ", ".join(one.policies),
        )
        for one in found.changed
    ]
    if rows:
        out.table(("TIME", "CALL", "TOOL", "CALLER", "CHANGE", "POLICIES"), rows)


def shadow(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=_LIMIT_MAX, help="How many records at most, newest first.")
    ] = _LIMIT_MAX,
) -> int:
    """Count what each policy in shadow mode would have changed, from the record of the caller's tenant."""
    from ..rehearsal import shadow_report

    session = Session(ctx.obj)
    caller = session.caller
    report = session.run(lambda engine: shadow_report(engine, by=caller, limit=limit), needs="audit")
    if session.json:
        session.out.document(msgspec.to_builtins(report))
        return OK
    if not report.policies:
        session.out.nothing('no policy is in shadow mode; write @mode("shadow") on one to try it')
        return OK
    session.out.facts([("calls looked at", str(report.looked_at)), ("policy set", report.policy_set)])
    rows = [
        (one.policy_id, str(one.denied), str(one.asked), str(one.allowed), ", ".join(one.calls))
        for one in report.policies
    ]
    session.out.table(("POLICY", "DENIED", "ASKED", "ALLOWED", "NEWEST CALLS"), rows)
    return OK
