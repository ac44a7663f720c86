"""The tree of commands, the options that all of them share, and what happens around each."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from . import approvals, audit, call, grants, limits, policy, sources, tools
from .control import changes, kill, revive
from .demo import demo
from .doctor import doctor
from .failures import EXIT_CODES, FAILED, INTERRUPTED, OK, InterruptedCommand, log_as_lines, report
from .init import init
from .run import app as runs
from .session import PROJECT, PROJECT_ENV, Options, Session

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("demo", context_settings={"ignore_unknown_options": True})(demo)
app.command("init")(init)
app.command("doctor")(doctor)
app.add_typer(runs, name="run")
app.add_typer(call.app, name="call")
app.add_typer(tools.app, name="tools")
app.add_typer(approvals.app, name="approvals")
app.add_typer(grants.app, name="grants")
app.add_typer(limits.app, name="limits")
app.add_typer(sources.app, name="sources")
app.add_typer(audit.app, name="audit")
app.add_typer(policy.app, name="policy")
app.add_typer(changes, name="changes")
app.command("kill")(kill)
app.command("revive")(revive)


@app.callback(invoke_without_command=True, epilog=EXIT_CODES)
def surehand(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """The hand an agent acts with: decides whether, how and as whom a tool call runs, runs it once, proves it."""
    if version:
        _print_version(Session(ctx.obj))
        raise typer.Exit(OK)
    if ctx.invoked_subcommand is None:
        ctx.fail("Missing command.")


def run(argv: Sequence[str], *, ends: bool = False) -> int:
    """Does what the arguments say, and reports whatever goes wrong without a traceback.

    Args:
        argv: Without the program's name.
        ends: Whether the process ends then. Stdout is not given back: a handler that was given up may still print.

    Returns:
        The exit code.
    """
    _ready_streams()
    log_as_lines()
    options = Options()
    try:
        return _run(argv, options)
    finally:
        if not ends:
            options.release_stdout()


def _run(argv: Sequence[str], options: Options) -> int:
    try:
        code = command().main(args=list(argv), prog_name="surehand", standalone_mode=False, obj=options)
        if code == INTERRUPTED:  # Typer's answer to Ctrl-C
            raise InterruptedCommand(None)
        (options.answers or sys.stdout).flush()
    except BrokenPipeError:
        return _unheard(options)
    except Exception as error:
        return _reported(error, options, as_json=options.json or "--json" in argv)
    except SystemExit as ended:  # Typer's answer to a reader that left
        return (ended.code if isinstance(ended.code, int) else FAILED) or FAILED
    return code if isinstance(code, int) else OK


def command() -> Any:
    """The tree of commands as it runs: every command takes the shared options."""
    root = get_command(app)
    _share(root, _shared_options())
    return root


def _share(one: Any, options: list[Any]) -> None:
    one.params.extend(options)
    if isinstance(one, TyperGroup):
        for inner in one.commands.values():
            _share(inner, options)


def _shared_options() -> list[Any]:
    holder = typer.Typer(add_completion=False)
    holder.command()(_shared)
    params: list[Any] = list(get_command(holder).params)
    for param in params:
        param.expose_value = False
    return params


def _take_project(ctx: typer.Context, value: Path | None) -> None:
    if value is not None:
        ctx.obj.project = value


def _take_caller(ctx: typer.Context, value: str | None) -> None:
    if value is not None:
        ctx.obj.caller = value


def _take_json(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.obj.json = True


def _shared(
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="FILE",
            callback=_take_project,
            help=f"The project file; else ${PROJECT_ENV}, else {PROJECT}.",
        ),
    ] = None,
    caller: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", callback=_take_caller, help="The caller to act as, from [callers]."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", callback=_take_json, help="Print one JSON document instead of text.")
    ] = False,
) -> None:
    """Carries the options that every command takes; their callbacks fill `Options`."""


def _print_version(session: Session) -> None:
    from .. import __version__

    if session.json:
        session.out.document({"version": __version__})
    else:
        session.out.line(f"surehand {__version__}")


def _ready_streams() -> None:
    """Lets every text be written, whatever the encoding; what the parent closed becomes the null device."""
    for name in ("stdin", "stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115 - kept open
            setattr(sys, name, stream)
        elif name != "stdin":
            stream.reconfigure(errors="backslashreplace")


def _reported(error: Exception, options: Options, *, as_json: bool) -> int:
    try:
        code = report(error, options.answers or sys.stdout, as_json=as_json)
        (options.answers or sys.stdout).flush()
    except OSError:
        return _unheard(options)
    return code


def _unheard(options: Options) -> int:
    """Nobody can read the output: nothing is left to say, and Python must not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (options.answers or sys.stdout).fileno())
    return FAILED
