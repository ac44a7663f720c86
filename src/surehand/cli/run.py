"""`surehand run`: a model's run on the terminal, and the runs that are stored."""

from __future__ import annotations

import contextlib
import difflib
import shlex
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, NotAllowedError
from .approvals import terminal
from .attended import Attendance, Left, Order
from .conversation import Conversation
from .documents import Document, approval_document
from .failures import EXIT_CODES, FAILED, INTERRUPTED, OK, PENDING
from .hints import Hint, resume_run
from .printer import Printer, local_time, utc_time
from .session import Session
from .shorthand import SHORTHAND, Shorthand

if TYPE_CHECKING:
    from ..engine import Engine, RunInfo
    from ..types import Caller

_MAX_CHARS = 16 * 1024 * 1024
"""Of a message from stdin."""
_PAGE = 1000
_COMMANDS = ("start", "list", "show", "cancel")


class RunGroup(Shorthand):
    """`run MESSAGE` is `run start MESSAGE`."""

    default = "start"


def _run_id(value: str) -> str:
    if value.startswith(("apr_", "call_")):
        kind = "an approval" if value.startswith("apr_") else "a call"
        raise typer.BadParameter(f"{value} is {kind}, not a run; `surehand run list` shows runs")
    return value


RunId = Annotated[str, typer.Argument(metavar="RUN_ID", callback=_run_id, help="The run.")]

app = typer.Typer(
    cls=RunGroup,
    no_args_is_help=True,
    context_settings=SHORTHAND,
    help="Let a model work with the project's tools (`run MESSAGE` is short for `run start MESSAGE`), or look at runs.",
    epilog=EXIT_CODES,
)


@app.command("start", epilog=EXIT_CODES)
def start(
    ctx: typer.Context,
    message: Annotated[
        list[str] | None, typer.Argument(metavar="MESSAGE", help="What the user says; - for stdin.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="Required: PROVIDER:NAME, such as openai:gpt-5 or anthropic:claude-sonnet-5; or script:FILE.",
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN_ID", help="The stored run to go on with; with MESSAGE the new run's id."),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream/--no-stream", help="Whether to ask the model for answers that come in pieces.")
    ] = True,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Whether to stay while others decide.")] = True,
    turns: Annotated[
        int | None, typer.Option("--turns", min=1, help="How many answers of the model at most, of a new run.")
    ] = None,
    approve_as: Annotated[
        list[str] | None,
        typer.Option("--approve-as", metavar="NAME", help="Another caller who decides here; repeat it for several."),
    ] = None,
) -> int:
    """Start a run, or go on with one, and show it until it ends. On a terminal you are asked what you may decide."""
    session = Session(ctx.obj)
    model = _model(session, model, message)
    caller = session.caller
    said = _message(message)
    if said is None and run_id is None:
        raise typer.BadParameter("say something, or name the run to go on with by --run", param_hint="MESSAGE")
    if said is None and turns is not None:
        raise typer.BadParameter("a stored run keeps its bounds", param_hint="--turns")
    order = Order(
        session=session,
        model=model,
        caller=caller,
        message=said,
        run_id=run_id,
        turns=turns,
        stream=stream,
        wait=wait,
        deciders=[caller, *_deciders(session, caller, approve_as or [])],
    )
    session.claim_stdout()
    shown = None if session.json else Conversation(session.out, ctx.obj.answers or sys.stdout)
    return _print_left(order, _attended(order, shown))


@app.command("list")
def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many runs at most.")] = 50,
) -> int:
    """List the caller's runs, newest first; for those who may read the audit, all of the tenant."""
    session = Session(ctx.obj)
    caller = session.caller
    found = session.run(lambda engine: engine.runs.list(by=caller, limit=limit))
    if session.json:
        session.out.document({"runs": [run_document(info) for info in found]})
    elif not found:
        session.out.nothing("no run yet; start one with `surehand run MESSAGE --model MODEL`")
    else:
        columns = ("RUN", "STATUS", "REASON", "TURNS", "MODEL", "CALLER", "UPDATED")
        session.out.table(columns, [_row(info) for info in found])
    return OK


@app.command("show")
def show(ctx: typer.Context, run_id: RunId) -> int:
    """Show a stored run again: what was said, and what became of each call."""
    from ..agent import RunEvent

    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> tuple[RunInfo, list[Document]]:
        info = await engine.runs.get(run_id, by=caller)
        events: list[Document] = []
        while page := await engine.runs.events(
            run_id, by=caller, after=events[-1]["seq"] if events else 0, limit=_PAGE
        ):
            events += page
        return info, events

    info, events = session.run(work, needs="audit")
    if session.json:
        session.out.document({**run_document(info), "events": [_event_document(one) for one in events]})
        return OK
    _print_run(session.out, info)
    conversation = Conversation(session.out, ctx.obj.answers or sys.stdout)
    for one in events:
        conversation.show(RunEvent(**one))
    conversation.end_text()
    return OK


@app.command("cancel")
def cancel(ctx: typer.Context, run_id: RunId) -> int:
    """Stop a run for good, whoever drives it. Its open questions are withdrawn."""
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> tuple[bool, RunInfo]:
        before = await engine.services.store.get_run(caller.tenant, run_id)
        return before is not None and before.status == "ended", await engine.runs.cancel(run_id, by=caller)

    over, info = session.run(work, needs="resolve")
    if over:
        sys.stderr.write(f"surehand: run {run_id} had ended before; nothing was cancelled\n")
    if session.json:
        session.out.document(run_document(info))
        return OK
    _print_run(session.out, info)
    if info.status != "ended":
        note = "the process that drives it ends it, within a second or so"
        session.out.facts(Hint(note=note, next=f"surehand run show {shlex.quote(run_id)}{session.as_option()}").facts())
    return OK


def run_document(info: RunInfo) -> Document:
    """How a run stands."""
    return {
        "run_id": info.run_id,
        "caller": info.caller,
        "agent": info.agent,
        "model": info.model,
        "status": info.status,
        "reason": info.reason,
        "turns": info.turns,
        "created_at": utc_time(info.created_us),
        "updated_at": utc_time(info.updated_us),
    }


def _event_document(event: Document) -> Document:
    return {**{name: value for name, value in event.items() if name != "at_us"}, "at": utc_time(event["at_us"])}


def _model(session: Session, given: str | None, words: list[str] | None) -> str:
    """The model's name, if it is one.

    Raises:
        BadParameter: It is not, or is missing; a command that was mistyped has none.
    """
    from ..agent.names import model_forms

    if given is not None:
        _check_model(session, given)
        return given
    near = difflib.get_close_matches(words[0], _COMMANDS, n=1, cutoff=0.7) if words else []
    if words and near:
        meant = f"there is no command `surehand run {words[0]}`; did you mean `surehand run {near[0]}`?"
        raise typer.BadParameter(f"{meant} A message needs --model too", param_hint="MESSAGE")
    raise typer.BadParameter(f"it is missing; write {model_forms()}", param_hint="--model")


def _check_model(session: Session, given: str) -> None:
    from ..agent.names import check_model

    with contextlib.suppress(ConfigError):
        check_model(given)
        return
    session.load_tools()  # their modules may register a provider of that name
    try:
        check_model(given)
    except ConfigError as error:
        raise typer.BadParameter(str(error), param_hint="--model") from None


def _message(words: list[str] | None) -> str | None:
    """What the user says; `None` if nothing was given.

    Raises:
        BadParameter: It is empty, or cannot be read.
    """
    if not words:
        return None
    try:
        text = sys.stdin.read(_MAX_CHARS + 1) if words == ["-"] else " ".join(words)
        text.encode()
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"it cannot be read: {error}", param_hint="MESSAGE") from None
    if not text.strip():
        raise typer.BadParameter("it is empty", param_hint="MESSAGE")
    if len(text) > _MAX_CHARS:
        raise typer.BadParameter(f"more than {_MAX_CHARS} characters", param_hint="MESSAGE")
    return text


def _deciders(session: Session, caller: Caller, names: list[str]) -> list[Caller]:
    found = {name: session.named(name, "--approve-as") for name in names}
    for name, one in found.items():
        if one.tenant != caller.tenant:
            raise NotAllowedError(f"{name} is of the tenant {one.tenant} and decides nothing in {caller.tenant}")
    return [one for one in found.values() if not one.same_person(caller)]


def _attended(order: Order, shown: Conversation | None) -> Left:
    """As `Session.run`, with the terminal left to the conversation."""
    aside = terminal(order.session)

    async def work(engine: Engine) -> Left:
        from ..agent import parse_model

        async with AsyncExitStack() as open_:
            model: Any = parse_model(order.model)
            if order.model.startswith("script:"):
                model.name = order.model  # it is stored with the run: whoever goes on with it reads there how
            if hasattr(model, "__aexit__"):  # a script has nothing to close
                await open_.enter_async_context(model)
            return await Attendance(engine, order, shown=shown, aside=aside).attend(model)

    return order.session.run(work, progress=False)


def _print_left(order: Order, left: Left) -> int:
    session, info = order.session, left.info
    resume = resume_run(info.run_id, order.model, session.as_option())
    if session.json:
        session.out.document(
            {
                **run_document(info),
                "reason": left.reason,
                "why": left.why,
                "text": left.text,
                "unknown": left.unknown,
                "resumable": info.status != "ended",
                "approvals": [approval_document(one) for one in left.approvals],
            }
        )
    else:
        session.out.facts(
            [
                ("run", info.run_id),
                ("status", info.status),
                ("reason", left.reason or ""),
                ("why", left.why),
                ("turns", str(info.turns)),
                *[
                    ("unknown", f"nobody knows whether {one} was done: surehand call show {one}")
                    for one in left.unknown
                ],
                ("next", resume if info.status != "ended" else ""),
            ]
        )
    if left.interrupted:
        what = "it was cancelled" if info.status == "ended" else f"it is left as it stands; go on with {resume}"
        lost = f"; unknown whether done: {', '.join(left.unknown)}" if left.unknown else ""
        sys.stderr.write(f"surehand: interrupted; run {info.run_id}: {what}{lost}\n")
        raise SystemExit(INTERRUPTED)
    if info.status == "waiting":
        return PENDING
    return OK if left.reason == "completed" else FAILED


def _print_run(out: Printer, info: RunInfo) -> None:
    out.facts(
        [
            ("run", info.run_id),
            ("status", info.status),
            ("reason", info.reason or ""),
            ("model", info.model),
            ("turns", str(info.turns)),
            ("caller", f"{info.caller}, agent {info.agent}" if info.agent else info.caller),
            ("started", local_time(info.created_us)),
            ("updated", local_time(info.updated_us)),
        ]
    )


def _row(info: RunInfo) -> tuple[str, ...]:
    return (
        info.run_id,
        info.status,
        info.reason or "",
        str(info.turns),
        info.model,
        info.caller,
        local_time(info.updated_us),
    )
