"""A real process that drives a run and dies at a named boundary. Run as a script; see `test_run_crash.py`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import surehand as sh
from surehand.ports import RunRecord, RunSave
from surehand.storage import SqlStore, open_store
from surehand.testing import ScriptedModel
from tests.crash.driver import ALICE, FIONA, LEASE_S, Shop, die, refund_tool

RUN_ID = "run_1"
ASK_LARGE = """
@id("ask") @approvers("finance") forbid (principal, action == Action::"call/refund", resource)
when { context.arguments.amount > 1000 };
"""
STEPS: list[Any] = [
    {"calls": [{"name": "refund", "arguments": {"order": 1, "amount": 500}}]},
    {
        "calls": [
            {"name": "refund", "arguments": {"order": 2, "amount": 600}},
            {"name": "refund", "arguments": {"order": 3, "amount": 5000}},
        ]
    },
    {"expect": {"results": ["refunded 600", "refunded 5000"]}, "text": "All refunded."},
]


class DyingStore(SqlStore):
    """The real store, in a process that dies around its n-th write of a run."""

    where = ""
    saves = 0

    def create_run(self, record: RunRecord) -> Awaitable[bool]:
        return self._around("create", super().create_run(record))

    def save_run(self, save: RunSave) -> Awaitable[bool]:
        self.saves += 1
        if self.where == f"before-save-{self.saves}":
            die()
        return self._around(f"save-{self.saves}", super().save_run(save))

    async def _around(self, name: str, write: Awaitable[bool]) -> bool:
        answer = await write
        if self.where == f"after-{name}":
            die()
        return answer


async def cancel(engine: sh.Engine) -> None:
    """Stops the run while its driver counts as alive, and waits for its end; tells how it stood, and ended."""
    run = await engine.services.store.get_run(ALICE.tenant, RUN_ID)
    assert run is not None
    assert run.owner is not None
    await engine.services.store.beat(run.owner, engine.services.clock.now_us())  # as if it had died just now
    info = await engine.runs.cancel(RUN_ID, by=ALICE)
    print(info.status)
    while info.status != "ended":
        await asyncio.sleep(0.02)
        info = await engine.runs.get(RUN_ID, by=ALICE)
    questions = await engine.approvals.list(by=FIONA)
    events = await engine.runs.events(RUN_ID, by=ALICE)
    ends = {one["data"]["position"]: one["data"]["status"] for one in events if one["kind"] == "call.finished"}
    last = events[-1]
    print(json.dumps({"last": [last["kind"], last["data"]["reason"]], "questions": len(questions), "ends": ends}))


async def main(folder: Path, where: str) -> None:
    shop = Shop(folder / "shop.db")
    store = DyingStore(open_store(os.environ.get("STORE", f"sqlite:///{folder / 'surehand.db'}"))._driver)
    store.where = where
    engine = sh.open_engine(
        store=store,
        policies=[sh.PolicySource("ask.cedar", ASK_LARGE)],
        tools=[refund_tool(shop, where, checked=True)],
        settings=sh.Settings(keys=str(folder / "keys"), limits=sh.Limits(lease_s=LEASE_S)),
    )
    model = ScriptedModel(STEPS, catch_up=True)
    if where == "cancel":
        async with engine:
            await cancel(engine)
        return
    async with engine:
        new = not await engine.services.store.get_run(ALICE.tenant, RUN_ID)
        start: dict[str, Any] = {"messages": ["refund them"]} if new else {}
        try:
            async for event in sh.run(engine, model=model, caller=ALICE, run_id=RUN_ID, **start):
                if event.kind == "run.waiting":
                    if where == "waiting":
                        die()
                    for asked in await engine.approvals.list(by=FIONA):
                        await engine.approvals.approve(asked.approval_id, by=FIONA)
                if event.kind == "run.ended":
                    print(json.dumps(event.data), flush=True)
        finally:
            with (folder / "asked").open("a") as log:
                log.write("".join(f"{len(request['messages'])}\n" for request in model.requests))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
