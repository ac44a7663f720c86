"""Drives a run with a person beside it: shows it, asks what they may decide, and waits for what others must.

The run is left waiting whenever it waits for people, and taken up again when they have decided: a process that goes
away meanwhile leaves nothing behind but a run that goes on with its id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .conversation import Conversation
from .entitled import may_decide
from .hints import who_decides
from .printer import Printer

if TYPE_CHECKING:
    from ..agent import Bounds, Model, RunEvent
    from ..approval import Approval
    from ..engine import Engine, Pending, RunInfo
    from ..types import Caller
    from .session import Session

_POLL_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run, and with whom."""

    session: Session
    model: str
    """As `parse_model` takes it."""
    caller: Caller
    message: str | None
    """What the user says; `None` to go on with a stored run."""
    run_id: str | None
    turns: int | None
    """How many answers of the model, if not as many as by default."""
    stream: bool
    wait: bool
    """Whether to stay while others decide."""
    deciders: Sequence[Caller]
    """Who decides at this terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How a run was left."""

    info: RunInfo
    reason: str | None
    why: str
    text: str
    """The model's last words."""
    interrupted: bool
    approvals: list[Pending]
    """What it waits for."""
    unknown: list[str]
    """Ids of its calls of which nobody knows whether they were done."""


class Attendance:
    """One run on one terminal.

    Args:
        engine: Open.
        order: What to do.
        shown: Where the conversation is shown; `None` for nowhere.
        aside: Where questions are asked; `None` if nobody is there to answer.
    """

    def __init__(self, engine: Engine, order: Order, *, shown: Conversation | None, aside: Printer | None) -> None:
        self._engine = engine
        self._order = order
        self._shown = shown
        self._aside = aside
        self._run_id: str | None = None
        self._last: RunEvent | None = None
        self._text = ""
        self._asked: set[tuple[str, str]] = set()
        """Questions, and who was asked them here: nobody is asked twice."""
        self._told: set[str] = set()
        self._problem = ""
        """Why a script could not go on."""

    async def attend(self, model: Model) -> Left:
        """Goes on until the run ends, or nobody here can do more for it. Ctrl-C ends that at once.

        Raises:
            SurehandError: As `sh.run`.
        """
        interrupted = False
        try:
            await self._play(model)
        except asyncio.CancelledError:
            if self._run_id is None:
                raise
            interrupted = True
        if self._shown is not None:
            self._shown.end_text()
        return await self._left(interrupted)

    async def _play(self, model: Model) -> None:
        from ..agent import Bounds

        order, turns = self._order, self._order.turns
        bounds = Bounds() if turns is None else Bounds(turns=turns)
        await self._drive(model, order.run_id, order.message, bounds)
        while self._last is not None and self._last.kind == "run.waiting" and await self._decided(self._last):
            await self._drive(model, self._run_id, None, None)

    async def _drive(self, model: Model, run_id: str | None, message: str | None, bounds: Bounds | None) -> None:
        """Until the run ends, or is left waiting."""
        from ..agent import run
        from ..agent.script import ScriptError

        events = run(
            self._engine,
            model=model,
            caller=self._order.caller,
            messages=None if message is None else [message],
            run_id=run_id,
            bounds=bounds,
            wait=False,
            stream=self._order.stream,
        )
        try:
            async with aclosing(events):
                async for event in events:
                    self._note(event)
        except ScriptError as error:
            if self._run_id is None:
                raise
            self._problem = f"the script does not fit the run: {error}"
        except ConfigError as error:
            raise ConfigError(f"{error}{await self._driven(run_id)}") from error

    async def _driven(self, run_id: str | None) -> str:
        """When a stored run that could not be taken is free again, if a process holds it."""
        if run_id is None or self._order.message is not None:
            return ""
        record = await self._engine.services.store.get_run(self._order.caller.tenant, run_id)
        if record is None or record.status == "ended" or record.owner is None:
            return ""
        lease_s = self._engine.services.limits.lease_s
        return f"; if that process is dead, the run is free {lease_s:g} s after its last sign of life: try again then"

    def _note(self, event: RunEvent) -> None:
        self._last, self._run_id = event, event.run_id
        if event.kind in ("turn.started", "turn.retry"):
            self._text = ""
        elif event.kind == "text":
            self._text += event.data["text"]
        if self._shown is not None:
            self._shown.show(event)

    async def _decided(self, waiting: RunEvent) -> bool:
        """Asks who is here, then waits for others. False when it is left to them."""
        asked = [one for one in waiting.data["approvals"] if one is not None]
        for approval in await self._open(asked):
            for who in self._order.deciders:
                await self._ask(approval, who)
        left = await self._open(asked)
        if len(left) < len(asked):
            return True
        await self._tell(left)
        if not self._order.wait or self._aside is None:
            return False
        while True:
            await asyncio.sleep(_POLL_S)
            if not left or len(await self._open(asked)) < len(left):
                return True

    async def _ask(self, approval: Approval, who: Caller) -> None:
        from .question import ask

        asked = (approval.approval_id, who.id)
        if self._aside is None or asked in self._asked:
            return
        if await may_decide(self._engine, approval.approval_id, who):
            self._asked.add(asked)
            await ask(self._engine, approval.approval_id, who, self._aside)

    async def _tell(self, left: Sequence[Approval]) -> None:
        """How those who are not here decide."""
        for approval in left:
            if self._shown is not None and approval.approval_id not in self._told:
                self._told.add(approval.approval_id)
                way = await who_decides(self._engine, approval, self._order.session)
                self._shown.say(f"approval {approval.approval_id}: {way}")

    async def _open(self, ids: Sequence[str]) -> list[Approval]:
        store, tenant = self._engine.services.store, self._order.caller.tenant
        found = [await store.get_approval(tenant, one) for one in ids]
        return [one for one in found if one is not None and one.status == "open"]

    async def _left(self, interrupted: bool) -> Left:
        """As the store has it: nobody else knows after Ctrl-C."""
        assert self._run_id is not None
        from ..engine.last_turn import last_turn

        caller, runs = self._order.caller, self._engine.runs
        info = await runs.get(self._run_id, by=caller)
        data: dict[str, Any] = {} if self._last is None else self._last.data
        waits: list[str | None] = data.get("approvals", []) if info.status == "waiting" else []
        pending = [await self._engine.approvals.get(one, by=caller) for one in waits if one is not None]
        lost = await self._engine.services.store.list_calls(caller.tenant, statuses=("unknown",), run_id=info.run_id)
        text = data.get("text") or self._text
        if not text:  # a run that still waits is not asked again
            record = await self._engine.services.store.get_run(caller.tenant, info.run_id)
            text = "" if record is None else (await last_turn(self._engine.services, record)).text
        return Left(
            info=info,
            reason="failed" if self._problem else info.reason or data.get("reason"),
            why=self._problem or data.get("why", ""),
            text=text,
            interrupted=interrupted,
            approvals=[one for one in pending if one.status == "open"],
            unknown=[one.call_id for one in lost],
        )
