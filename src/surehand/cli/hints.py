"""What to do next: commands that this caller may run, and that work as they are printed. Anything else is a note."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .entitled import may, may_decide, names_who_may

if TYPE_CHECKING:
    from ..approval import Approval
    from ..call import ToolResult
    from ..engine import Engine, Pending
    from ..errors import ToolError
    from ..ledger import CallRecord
    from .session import Session

_NO_KEY = "nothing says which effect"
"""How the refusal of a call without a key goes."""
_SLIP = 0.75
"""How alike a word and a command are that it may be a slip of: `shwo` of `show`, but not `refund` of `run`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What follows from an answer."""

    next: str = ""
    """One command, whole; empty if there is none that this caller may run."""
    note: str = ""
    """In words, what no such command says."""

    def facts(self) -> list[tuple[str, str]]:
        """As lines; a note stands before the command."""
        return [("note", self.note), ("next", self.next)]


async def after_call(engine: Engine, result: ToolResult, session: Session, *, commands: Iterable[str]) -> Hint:
    """After a call or a resumption.

    Args:
        engine: Open.
        result: What it gave.
        session: Whose command it was.
        commands: Of the group `call`, for whoever mistyped one.
    """
    record = await engine.services.store.get_call(session.caller.tenant, result.call_id)
    if record is not None and result.status == "pending":
        return await _after_pending(engine, result, record, session)
    if record is not None and result.status == "unknown":
        return _after_unknown(engine, record, session)
    return Hint() if result.error is None else await _after_error(engine, result, result.error, session, commands)


async def _after_pending(engine: Engine, result: ToolResult, record: CallRecord, session: Session) -> Hint:
    going_on = await _going_on(engine, record, session)
    if result.approval_id is None:
        return Hint(next=going_on)
    approval = await engine.services.store.get_approval(session.caller.tenant, result.approval_id)
    if approval is None or approval.status != "open":
        return Hint(next=going_on)
    if await may_decide(engine, approval.approval_id, session.caller):
        verb = "approve" if sys.stdin.isatty() else "show"  # nobody is there to be asked
        return Hint(next=f"surehand approvals {verb} {approval.approval_id}{session.as_option()}")
    return Hint(next=going_on, note=await who_decides(engine, approval, session))


async def who_decides(engine: Engine, approval: Approval, session: Session) -> str:
    """Who of the project may answer an open question, and with which command."""
    known = [one for one in session.settings.callers.values() if one.tenant == approval.tenant]
    deciders = [one for one in known if await may_decide(engine, approval.approval_id, one)]
    if deciders:
        command = f"surehand approvals approve {approval.approval_id}{session.as_option(deciders[0])}"
        return f"{' or '.join(one.id for one in deciders)} decides it with `{command}`"
    groups = " and ".join(dict.fromkeys(need.group for need in approval.needs))
    return f"it needs the yes of {groups}, which no caller of this project may give"


async def _going_on(engine: Engine, record: CallRecord, session: Session) -> str:
    """Goes on with a call as its own caller, within its run if a stored run made it."""
    if session.name_of(record.caller) is None:
        return ""
    return await _with_run(engine, record, session) or (
        f"surehand call resume {record.call_id}{session.as_option(record.caller)}"
    )


async def _with_run(engine: Engine, record: CallRecord, session: Session) -> str:
    run = None if record.run_id is None else await engine.services.store.get_run(record.tenant, record.run_id)
    if run is None or run.status == "ended" or not run.caller.same_person(record.caller):
        return ""
    from ..agent.names import MODEL_WORDS

    dialect, _, name = run.model.partition(":")
    if name.startswith("script:"):
        return resume_run(run.run_id, name, session.as_option(run.caller))
    return resume_run(run.run_id, f"{MODEL_WORDS.get(dialect, dialect)}:{name}", session.as_option(run.caller))


def resume_run(run_id: str, model: str, as_option: str) -> str:
    """Goes on with a stored run. `model` as `--model` takes it, `as_option` of the run's own caller."""
    return f"surehand run --run {shlex.quote(run_id)} --model {shlex.quote(model)}{as_option}"


def _after_unknown(engine: Engine, record: CallRecord, session: Session) -> Hint:
    caller = session.caller
    if caller.same_person(record.caller) or _may_settle(engine, record, session):
        return Hint(next=f"surehand call unknown check {record.call_id}{session.as_option()}")
    return Hint(note=f"nobody knows whether it was done; {_settlers(engine, session)} may settle it")


def _may_settle(engine: Engine, record: CallRecord, session: Session) -> bool:
    entry = engine.services.world.catalog.resolve(record.name, record.version)
    return may(engine, session.caller, "resolve", None if entry is None else entry.tool.spec)


def _settlers(engine: Engine, session: Session) -> str:
    return " or ".join(names_who_may(engine, "resolve", session)) or "somebody with the action resolve"


async def after_settling(engine: Engine, record: CallRecord, session: Session) -> Hint:
    """After somebody asked or said what became of a call of unknown outcome."""
    if record.status != "unknown":
        return Hint(next=await _going_on(engine, record, session))
    if not _may_settle(engine, record, session):
        return Hint(note=f"nothing tells yet; {_settlers(engine, session)} may look, and say what happened")
    resolve = f"surehand call unknown resolve {record.call_id} --done --evidence TEXT{session.as_option()}"
    return Hint(note=f"nothing tells yet: look in the target system, then say `{resolve}`, or --not-done")


async def after_decision(engine: Engine, pending: Pending, session: Session) -> Hint:
    """After somebody's answer to a question."""
    if pending.status == "open":
        show = f"surehand approvals show {pending.approval_id}{session.as_option()}"
        approval = await engine.services.store.get_approval(session.caller.tenant, pending.approval_id)
        return Hint(next=show, note="" if approval is None else await who_decides(engine, approval, session))
    record = await engine.services.store.get_call(session.caller.tenant, pending.call_id)
    if record is None or pending.status not in ("approved", "answered", "rejected", "withdrawn"):
        return Hint()
    if pending.status in ("rejected", "withdrawn"):  # nothing comes of the call; its run goes on
        return Hint(next=await _with_run(engine, record, session) if session.name_of(record.caller) else "")
    going_on = await _going_on(engine, record, session)
    return Hint(next=going_on, note="" if going_on else f"{record.caller.id} resumes call {record.call_id}")


async def _after_error(
    engine: Engine, result: ToolResult, error: ToolError, session: Session, commands: Iterable[str]
) -> Hint:
    known = error.details.get("call_id")
    if error.code == "TOOL_DUPLICATE_REQUEST" and isinstance(known, str):
        record = await engine.services.store.get_call(session.caller.tenant, known)
        own = record is not None and record.caller.same_person(session.caller)
        return Hint(next=f"surehand call resume {known}{session.as_option()}" if own else "")
    if error.code == "POLICY_DENIED" and _NO_KEY in error.message:
        return Hint(note="pass --key KEY, your own name of this effect, or --run RUN_ID; better: key= in the tool")
    if error.code == "TOOL_NOT_FOUND":
        return Hint(next=f"surehand tools list{session.as_option()}", note=_meant(result.name, commands))
    return Hint()


def _meant(name: str, commands: Iterable[str]) -> str:
    if name == "list":
        return "there is no command `call list`; `surehand audit list` lists calls for those who may read the audit"
    near = difflib.get_close_matches(name, list(commands), n=1, cutoff=_SLIP)
    return f"did you mean the command `surehand call {near[0]}`?" if near else ""
