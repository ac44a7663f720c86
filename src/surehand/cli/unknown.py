"""`surehand call unknown`: calls whose effect may or may not have happened, and the evidence that settles them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import NotFoundError
from .arguments import CallId, json_value
from .documents import call_document, unknown_document
from .failures import FAILED, OK, AlreadySettledError
from .hints import after_settling
from .printer import age
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine
    from ..ledger import CallRecord
    from .hints import Hint

    Settled = tuple[CallRecord, Hint]

_ARGUMENT_CHARS = 80

app = typer.Typer(no_args_is_help=True, help="Settle calls whose effect may or may not have happened.")


@app.command("list")
def list_(ctx: typer.Context) -> int:
    """List the calls of unknown outcome of the caller's tenant."""
    session = Session(ctx.obj)
    caller = session.caller
    records = session.run(lambda engine: engine.unknown.list(by=caller), needs="resolve")
    if session.json:
        session.out.document({"calls": [unknown_document(one) for one in records]})
    elif not records:
        session.out.nothing("no call of unknown outcome; there is nothing to settle")
    else:
        session.out.table(
            ("CALL", "TOOL", "CALLER", "AGE", "CHECK", "ARGUMENTS", "KEY"),
            [
                (
                    one.call_id,
                    f"{one.record.name}@{one.record.version}",
                    one.record.caller.id,
                    age(one.age_s),
                    "still runs" if one.may_still_run else "yes" if one.checkable else "by hand",
                    json.dumps(one.arguments, ensure_ascii=False)[:_ARGUMENT_CHARS],
                    one.record.idempotency_key,
                )
                for one in records
            ],
        )
    return OK


@app.command("check")
def check(ctx: typer.Context, call_id: CallId) -> int:
    """Ask the tool's status check what happened. Exit code 1 while the outcome stays unknown."""
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> Settled:
        record = await engine.unknown.check(call_id, by=caller)
        return record, await after_settling(engine, record, session)

    return _print(session, session.run(work, needs="resolve"))


@app.command("resolve")
def resolve(
    ctx: typer.Context,
    call_id: CallId,
    evidence: Annotated[str, typer.Option("--evidence", help="How you know what happened; it is recorded.")],
    done: Annotated[
        bool | None, typer.Option("--done/--not-done", help="Whether the effect happened.", show_default=False)
    ] = None,
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON", help="What the tool would have returned; with --done.")
    ] = None,
) -> int:
    """Say what happened to a call, and how you know."""
    from ..spec import Done, NotDone

    if done is None:
        raise typer.BadParameter("say --done or --not-done", param_hint="--done")
    if result is not None and not done:
        raise typer.BadParameter("what did not happen has no result; leave it out", param_hint="--result")
    outcome = Done(None if result is None else json_value(result, "--result")) if done else NotDone()
    session = Session(ctx.obj)
    caller = session.caller

    async def work(engine: Engine) -> Settled:
        try:
            record = await engine.unknown.resolve(call_id, outcome, by=caller, evidence=evidence)
            return record, await after_settling(engine, record, session)
        except NotFoundError:
            record = await engine.services.store.get_call(caller.tenant, call_id)
            if record is None or record.status == "unknown":
                raise
            raise AlreadySettledError(
                f"call {call_id} is {record.status}, so there is nothing to settle; "
                f"`surehand call show {call_id}{session.as_option()}` says how it ended"
            ) from None

    return _print(session, session.run(work, needs="resolve"))


def _print(session: Session, settled: Settled) -> int:
    record, hint = settled
    still = record.status == "unknown"
    if session.json:
        session.out.document(call_document(record))
    else:
        session.out.facts(
            [
                ("status", record.status),
                ("tool", f"{record.name}@{record.version}"),
                ("call", record.call_id),
                *hint.facts(),
            ]
        )
    return FAILED if still else OK
