"""`surehand tools lint`: what is wrong with the project's contracts. Works from the project file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ..errors import NotFoundError
from .failures import FAILED, OK
from .portability import print_portability
from .session import Session

if TYPE_CHECKING:
    from ..lint import Finding


def lint(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this tool; else all.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    matrix: Annotated[
        bool, typer.Option("--portability", help="Show instead what each provider can be told of each tool.")
    ] = False,
) -> int:
    """Check tools' texts, names and schemas by rules. Exit code 1 on errors; with --strict on warnings too."""
    from ..lint import lint_tools

    session = Session(ctx.obj)
    tools = session.load_tools()
    if name is not None and all(tool.spec.name != name for tool in tools):
        raise NotFoundError(
            f"there is no tool {name!r} in {session.project}; `surehand tools list` shows those there are"
        )
    if matrix:
        return print_portability(session, [tool for tool in tools if name in (None, tool.spec.name)], strict=strict)
    findings = lint_tools(tools, only=None if name is None else [name])
    errors = sum(one.severity == "error" for one in findings)
    failed = bool(errors or (strict and findings))
    if session.json:
        document = {"ok": not failed, "tools": len(tools) if name is None else 1}
        session.out.document({**document, "findings": [msgspec.to_builtins(one) for one in findings]})
    else:
        _print(session, findings, errors)
    return FAILED if failed else OK


def _print(session: Session, findings: list[Finding], errors: int) -> None:
    columns = ("SEVERITY", "TOOL", "RULE", "WHERE", "WHAT")
    rows = [(one.severity, one.tool, one.rule, one.where, one.text) for one in findings]
    if rows:
        session.out.table(columns, rows)
    said = f"{errors} error{'s'[: errors != 1]}, {len(findings) - errors} warning{'s'[: len(findings) - errors != 1]}"
    session.out.line(f"lint: {said if findings else 'clean'}", "red" if errors else "yellow" if findings else "green")
