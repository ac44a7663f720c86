"""`surehand tools lint --portability` and `surehand tools export`: tools as providers take them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from .failures import FAILED, OK
from .printer import Printer
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine
    from ..lint import Portability
    from ..spec import Tool
    from ..view import ToolView


def print_portability(session: Session, tools: Sequence[Tool], *, strict: bool) -> int:
    """Shows the matrix; fails if a provider is not told of a tool, with `strict` also if it is not held to it."""
    from ..lint import portability

    cells = portability(tools)
    failed = any(one.plain == "left out" or (strict and one.strict == "unsupported") for one in cells)
    if session.json:
        session.out.document({"ok": not failed, "portability": [msgspec.to_builtins(one) for one in cells]})
    elif cells:
        session.out.table(("TOOL", "PROVIDERS", "SENT", "STRICT", "WHAT"), _rows(cells))
    else:
        session.out.nothing("the project has no tools yet; name their modules under `tools` in the project file")
    return FAILED if failed else OK


def _rows(cells: Sequence[Portability]) -> list[tuple[str, ...]]:
    """A row for each tool and outcome, with the providers that share it."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for one in cells:
        outcome = (one.tool, one.plain, one.strict or "none", "; ".join(one.notes))
        shared.setdefault(outcome, []).append(one.provider)
    return [(tool, ", ".join(who), plain, strict, what) for (tool, plain, strict, what), who in shared.items()]


def export(
    ctx: typer.Context,
    provider: Annotated[str, typer.Option("--for", metavar="PROVIDER", help="Such as openai-chat or anthropic.")],
    strict: Annotated[bool, typer.Option("--strict", help="In strict mode, where a schema allows it.")] = False,
) -> int:
    """Write the tools that a caller may see as a provider takes them: JSON, as its request has them."""
    from ..providers import export as exported

    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> ToolView:
        return await engine.view(caller)

    found = exported(session.run(work), provider, strict=strict)
    if session.json:
        session.out.document(
            {
                "provider": found.dialect,
                "tools": found.tools,
                "wire_names": dict(found.wire_names),
                "verdicts": dict(found.verdicts),
                "notes": list(found.notes),
            }
        )
        return OK
    session.out.document(found.tools)
    for note in found.notes:
        Printer(sys.stderr).line(note)
    return OK
