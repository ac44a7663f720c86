"""`Passage`: one call on its way through the stages, and `Stop`: why it leaves early."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ..call import CallContext, ResultStatus, RunStep, ToolCall, ToolResult
from ..errors import Code, ToolError, tool_error
from ..ledger import CallRecord
from ..limits import Charge
from ..normalize import Value
from ..policy import Decision
from ..provenance import CLEAN, Origin
from ..redact import Redactor, clean_text
from ..registry import Entry
from ..schema import Coercion
from ..spec import ToolSpec
from ..types import Caller, Requirement, Trust
from ..view import ToolView, World
from .parent import Parent

if TYPE_CHECKING:
    from .interceptor import Interceptor


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call goes no further. A value: stages return it, none raises it."""

    status: ResultStatus
    error: ToolError | None = None
    approval_id: str | None = None
    replay: ToolResult | None = None
    """The stored result of the call that this one repeats."""
    of: CallRecord | None = None
    """The call in the ledger that answers for this one."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the handler ended, in the words of the ledger. Stored before anything else is done with it."""

    status: ResultStatus
    """`ok`, `error`, `unknown` or `cancelled`."""
    value: Value | None = None
    error: ToolError | None = None
    attempt: int = 1
    answered_by: str | None = None
    """The person who gave the value, where the handler never ran."""
    tainted: bool = False
    """Whether the handler read an untrusted result."""


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """What a person made of the arguments of a call."""

    by: str
    """The person's id."""
    reason: str
    revision: int
    """2 for the first edit."""
    arguments: dict[str, Any]
    """Instead of what the model wrote: what stages 1 to 5 run on."""
    before: dict[str, Any]
    """The validated arguments before anybody edited them."""
    asked_hash: str
    """Keyed hash of the arguments that were asked for first: a repeat of the model's call is still this call."""


@dataclass(slots=True, kw_only=True)
class Passage:
    """Filled in stage by stage; a stage reads what earlier ones wrote and writes its own part."""

    call: ToolCall
    caller: Caller
    call_id: str
    world: World
    began_us: int
    run: RunStep | None = None
    given_key: str | None = None
    """The idempotency key that the application passed."""
    view: ToolView | None = None
    """What the model was shown: nothing else is found, and its versions are meant."""
    parent: Parent | None = None
    """The call whose handler made this one; `None` for a call of a model's or an application's."""
    undoes: str | None = None
    """The call that this one takes back."""
    origin: Origin = CLEAN
    """Where its arguments come from."""
    tainted: bool = False
    """Whether its handler has read an untrusted result."""
    not_after: float | None = None
    """When the parent's handler must have ended, on the clock of `time.monotonic()`."""

    fallback_for: str | None = None
    """`name@version` of the tool that was asked for, if this call stands in for it; then `fallback_of` is its call."""
    fallback_of: str | None = None

    # 1 resolve
    entry: Entry | None = None
    # 2 parse, 3 validate
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the model may write: parsed, then as hooks left it, then coerced and complete."""
    written: dict[str, Any] | None = None
    """What the model wrote, parsed; kept for the approver if it differs."""
    liberties: tuple[str, ...] = ()
    """In words, what was loose in the text that it wrote."""
    edit: Edit | None = None
    """What a person made of it: `call` then holds their arguments, `written` still the model's."""
    coercions: tuple[Coercion, ...] = ()
    # before
    passed: list[Interceptor] = field(default_factory=list["Interceptor"])
    """Interceptors whose `before` completed: their `after` runs, in reverse."""
    hook_asks: list[Requirement] = field(default_factory=list[Requirement])
    # 4 enrich
    redactor: Redactor | None = None
    """Knows the secret arguments of this call; made when it is first needed, after 3."""
    injected: dict[str, Any] = field(default_factory=dict[str, Any])
    final: dict[str, Any] = field(default_factory=dict[str, Any])
    """Exactly what policies judge, people approve and the handler gets."""
    # 5 authorize
    decision: Decision | None = None
    preview: str | None = None
    """What the tool says its effect would be; made when a person is asked."""
    # 6 claim
    charges: tuple[Charge, ...] = ()
    """What it takes of budgets and rates."""
    refused_by: str | None = None
    """The limit that had no room."""
    idempotency_key: str = ""
    """What the handler is given; stable over repeats of the same effect."""
    args_hash: str = ""
    record: CallRecord | None = None
    """The row in the ledger; `None` for a read-only call that nobody is asked about."""
    # 7 start
    started_us: int | None = None
    confirmed_us: int = 0
    """When the ledger last said that this call is ours to run."""
    # 8 execute
    stop: asyncio.Future[None] | None = None
    """Done when the caller gave up."""
    context: CallContext | None = None
    outcome: Outcome | None = None
    spent: bool = False
    """Whether some attempt may have done its work, whatever the outcome says: then nothing is given back."""
    reused: ToolResult | None = None
    """An earlier result of the same read, given again."""

    @property
    def run_id(self) -> str | None:
        """The run that the call, or the one whose handler made it, belongs to."""
        if self.run is not None:
            return self.run.run_id
        return None if self.parent is None else self.parent.run_id

    @property
    def view_digest(self) -> str:
        """Of the view that the model was shown, or of what the caller may see now."""
        run_id = "" if self.run is None else self.run.run_id
        view = self.view or self.world.view(self.caller, now_us=self.began_us, run_id=run_id)
        return view.digest

    @property
    def labels(self) -> dict[str, Trust]:
        """Of each argument, as far as it has come; empty if nothing from outside was read. What is injected is ours."""
        if not self.origin.untrusted:
            return {}
        return {
            name: "trusted" if name in self.injected else self.origin.label(name, value)
            for name, value in (self.final or self.arguments).items()
        }

    @property
    def spec(self) -> ToolSpec:
        """The contract of the resolved tool. Only after stage 1."""
        assert self.entry is not None
        return self.entry.tool.spec

    def refuse(self, code: Code, message: str, *, status: ResultStatus = "error", **details: Any) -> Stop:
        """A stop with an error of this tool."""
        name = self.call.name if self.entry is None else self.spec.name
        version = None if self.entry is None else self.spec.version
        return Stop(status=status, error=tool_error(code, message, tool=name, version=version, **details))


def storable(text: str) -> str:
    """Text of a model's that no database or encoder refuses: names and ids, cut at 256 characters."""
    return clean_text(text)[:256]
