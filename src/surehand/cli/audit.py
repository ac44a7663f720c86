"""`surehand audit`: the record, and whether it is still what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .documents import facts_of, record_document, report_document
from .failures import FAILED, OK
from .printer import Printer, local_time
from .session import Session

if TYPE_CHECKING:
    from ..audit import AuditRow, Report

app = typer.Typer(no_args_is_help=True, help="Read the record of what happened, and verify it.")


@app.command("list")
def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many records at most.")] = 50,
) -> int:
    """List the newest records of the caller's tenant, newest first."""
    session = Session(ctx.obj)
    caller = session.caller
    rows = session.run(lambda engine: engine.audit.list(by=caller, limit=limit), needs="audit")
    if session.json:
        session.out.document({"records": [record_document(row) for row in rows]})
    elif not rows:
        session.out.nothing("nothing is recorded yet; make a call with `surehand call NAME`")
    else:
        session.out.table(("TIME", "KIND", "CALL", "TOOL", "CALLER", "WHAT"), [_row(row) for row in rows])
    return OK


@app.command("verify")
def verify(
    ctx: typer.Context,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant; else all.")] = None,
) -> int:
    """Check the record against its signatures and its anchor. Exit code 1 if anything is found."""
    session = Session(ctx.obj)

    reports = session.run(lambda engine: engine.audit.verify(tenant))
    verified = all(report.ok for report in reports)
    if session.json:
        document = {"verified": verified, "tenants": [report_document(report) for report in reports]}
        session.out.document(document)
    elif not reports:
        session.out.line("audit: nothing is recorded yet; make a call with `surehand call NAME`")
    else:
        session.out.line(f"audit: {'verified' if verified else 'NOT verified'}", "green" if verified else "red")
        for report in reports:
            _print(session.out, report)
    return OK if verified else FAILED


def _row(row: AuditRow) -> tuple[str, ...]:
    facts = facts_of(row)
    caller: Any = facts.get("approver") or facts.get("caller") or {}
    name, version = facts.get("name"), facts.get("version")
    return (
        local_time(row.at_us),
        row.kind,
        row.call_id or "",
        f"{name}@{version}" if name and version else str(name or facts.get("target") or ""),
        str(caller.get("id", "")) if isinstance(caller, dict) else str(caller),  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        " ".join(str(facts[word]) for word in ("action", "verdict", "status", "error_code") if facts.get(word)),
    )


def _print(out: Printer, report: Report) -> None:
    extra = f", {report.unsealed_tail} not sealed yet" if report.unsealed_tail else ""
    extra += f", {report.not_anchored} not anchored yet" if report.not_anchored else ""
    state = "ok" if report.ok else f"{len(report.findings) + report.findings_left_out} findings"
    whose = f"tenant {report.tenant}" if report.tenant else "of the engines themselves"
    out.line(f"{whose}: {state}, {report.rows} records{extra}")
    for finding in report.findings:
        place = "" if finding.seq is None else f" at {finding.seq}"
        out.line(f"  {finding.kind}{place}: {finding.message}", "red")
    if report.findings_left_out:
        out.line(f"  and {report.findings_left_out} more")
