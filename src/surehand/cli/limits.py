"""`surehand limits`: what is used of budgets and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .documents import Document
from .failures import OK
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine, LimitUse

app = typer.Typer(no_args_is_help=True, help="Show what is used of budgets and rates, and what is left.")


@app.command("show")
def show(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Those of all callers of the tenant; for those who may read the audit.")
    ] = False,
) -> int:
    """Show the limits that count for a caller: used, reserved, left, and when they are renewed."""
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> list[LimitUse]:
        return await engine.limits.list(by=caller, everything=everything)

    found = session.run(work, needs="audit")
    if session.json:
        session.out.document({"limits": [_document(one) for one in found]})
    elif found:
        header = ("LIMIT", "KIND", "OF", "LIMIT", "USED", "RESERVED", "LEFT", "RENEWED", "RAISED BY")
        session.out.table(header, [_row(one) for one in found])
    else:
        session.out.nothing("no limit is declared for this caller's tenant")
    return OK


def _document(use: LimitUse) -> Document:
    return {
        "name": use.name,
        "kind": use.kind,
        "scope": use.scope,
        "limit": use.limit,
        "used": use.used,
        "reserved": use.reserved,
        "left": use.left,
        "renewed_in_s": use.renewed_in_s,
        "raised_by": use.raised_by or None,
    }


def _row(use: LimitUse) -> tuple[str, ...]:
    renewed = "" if use.renewed_in_s is None else f"in {use.renewed_in_s} s"
    whose = ", ".join(f"{part} {name}" for part, name in use.scope.items()) or "tenant"
    return use.name, use.kind, whose, use.limit, use.used, use.reserved, use.left, renewed, use.raised_by
