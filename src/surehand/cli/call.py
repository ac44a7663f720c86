"""`surehand call`: one governed call, and what became of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import unknown
from .arguments import CallId
from .failures import FAILED, OK, PENDING
from .session import Session
from .shorthand import SHORTHAND, Shorthand

if TYPE_CHECKING:
    from ..call import RunStep, ToolResult
    from ..engine import Engine
    from .hints import Hint

    Answer = tuple[ToolResult, Hint]

_MAX_CHARS = 16 * 1024 * 1024
"""Of arguments from a file or stdin: beyond every limit that a project sets."""


class CallGroup(Shorthand):
    """`call NAME` is `call run NAME`."""

    default = "run"


app = typer.Typer(
    cls=CallGroup,
    no_args_is_help=True,
    context_settings=SHORTHAND,
    help="Make one governed call (`call NAME` is short for `call run NAME`), resume it, or tell its story.",
)
app.add_typer(unknown.app, name="unknown")


@app.command("run")
def run(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The tool; NAME@VERSION for a pinned version.")],
    args: Annotated[
        str, typer.Option("--args", metavar="JSON|@FILE|-", help="The arguments: a JSON object, @FILE, or - for stdin.")
    ] = "",
    version: Annotated[str | None, typer.Option("--version", help="A pinned version.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Your own name of this effect: repeats with it happen once.")
    ] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="The run that the call belongs to.")] = None,
    turn: Annotated[int | None, typer.Option("--turn", min=0, help="The run's turn, from 0.")] = None,
    position: Annotated[int | None, typer.Option("--position", min=0, help="Place within the turn, from 0.")] = None,
) -> int:
    """Make one governed call and print its result."""
    from ..call import ToolCall

    session = Session(ctx.obj)
    caller = session.caller
    call = ToolCall(id="cli", name=name, version=version, arguments=_arguments(args))
    step = _step(run_id, turn, position)

    async def work(engine: Engine) -> Answer:
        return await _answer(session, engine, await engine.call(call, caller, run=step, idempotency_key=key))

    return _print(session, session.run(work), "the stored result of an earlier identical call")


@app.command("resume")
def resume(ctx: typer.Context, call_id: CallId) -> int:
    """Run a call that was approved, or report how it stands. Safe to repeat."""
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> Answer:
        return await _answer(session, engine, await engine.resume(call_id, by=caller))

    return _print(session, session.run(work), "the stored result of this call, which had ended before")


@app.command("undo")
def undo(
    ctx: typer.Context,
    call_id: CallId,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded, and shown to whoever is asked.")],
) -> int:
    """Take back what a call did, by its tool's own undo: a governed call itself."""
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> Answer:
        return await _answer(session, engine, await engine.undo(call_id, by=caller, reason=reason))

    return _print(session, session.run(work, needs="resolve"), "it was taken back before")


@app.command("show")
def show(ctx: typer.Context, call_id: CallId) -> int:
    """Tell a call's story from the audit: version, decision, effect, and what can be done now."""
    from .documents import story_document
    from .story import tell

    session = Session(ctx.obj)
    caller = session.caller
    story = session.run(lambda engine: engine.audit.story(call_id, by=caller), needs="audit")
    if session.json:
        session.out.document(story_document(story))
    else:
        tell(session.out, story)
    return OK


def _arguments(text: str) -> str:
    """The arguments' text, unread: broken JSON is for the engine to refuse.

    Raises:
        BadParameter: The file cannot be read.
    """
    try:
        if text == "-":
            text = sys.stdin.read(_MAX_CHARS + 1)
        elif text.startswith("@"):
            with Path(text[1:]).open(encoding="utf-8") as file:
                text = file.read(_MAX_CHARS + 1)
    except (OSError, ValueError) as error:
        where = "stdin" if text == "-" else text[1:]
        why = error.strerror if isinstance(error, OSError) else error
        raise typer.BadParameter(f"{where} cannot be read: {why}", param_hint="--args") from None
    if len(text) > _MAX_CHARS:
        raise typer.BadParameter(f"more than {_MAX_CHARS} characters", param_hint="--args")
    return text


def _step(run_id: str | None, turn: int | None, position: int | None) -> RunStep | None:
    from ..call import RunStep

    if run_id is None:
        if turn is not None or position is not None:
            raise typer.BadParameter("--turn and --position are of a run; name it with --run", param_hint="--run")
        return None
    return RunStep(run_id=run_id, turn=turn or 0, position=position or 0)


async def _answer(session: Session, engine: Engine, result: ToolResult) -> Answer:
    from .hints import Hint, after_call

    commands = ("run", "resume", "undo", "show", "unknown")
    return result, Hint() if session.json else await after_call(engine, result, session, commands=commands)


def _print(session: Session, answer: Answer, stored: str) -> int:
    """`stored`: what it means that the result is a replay."""
    out = session.out
    result, hint = answer
    if result.status == "unknown":
        stored = "an earlier call of this effect, of which nobody knows yet"
    if session.json:
        from .documents import result_document

        out.document(result_document(result))
    else:
        out.facts(
            [
                ("status", result.status),
                ("tool", f"{result.name}@{result.version}" if result.version else result.name),
                ("call", result.call_id),
                ("replayed", f"yes: {stored}" if result.replayed else ""),
                ("error", result.error.code if result.error else ""),
                ("approval", result.approval_id or ""),
                ("notice", result.notice),
                ("display", result.display if result.display != result.name else ""),
            ]
        )
        out.block(result.content)
        for artifact in result.artifacts:
            out.facts([("artifact", f"{artifact.id} ({artifact.media_type}, {artifact.size_bytes} bytes)")])
        out.facts(hint.facts())
    if result.status == "pending":
        return PENDING
    return FAILED if result.is_error else OK
