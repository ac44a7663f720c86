"""A real process that edits a waiting call and dies around the write of it. A script; see `test_edit_crash.py`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import surehand as sh
from surehand.ports import Revision
from surehand.storage import SqlStore, open_store
from tests.crash.driver import ALICE, ASK, FIONA, LEASE_S, Shop, die, refund_tool


class DyingStore(SqlStore):
    """The real store, in a process that dies around an edit, or a moment after it was handed over."""

    where = ""

    def revise(self, revision: Revision) -> Awaitable[Any]:
        async def around() -> Any:
            if self.where == "before-edit":
                die()
            writing = asyncio.ensure_future(SqlStore.revise(self, revision))
            if self.where.startswith("during-edit"):
                asyncio.get_running_loop().call_later(float(self.where.split(":")[1]), die)
            made = await writing
            if self.where == "after-edit":
                die()
            return made

        return around()


async def main(folder: Path, where: str) -> None:
    """Edit, and end as told; with an empty `where`, finish what is there and print how it stands."""
    store = open_store(os.environ.get("STORE", f"sqlite:///{folder / 'surehand.db'}"))
    dying = DyingStore(store._driver)
    dying.where = where
    engine = sh.open_engine(
        store=dying,
        policies=[sh.PolicySource("ask.cedar", ASK)],
        tools=[refund_tool(Shop(folder / "shop.db"), "", checked=True)],
        settings=sh.Settings(keys=str(folder / "keys"), limits=sh.Limits(lease_s=LEASE_S)),
    )
    async with engine:
        call = sh.ToolCall(id="c1", name="refund", arguments={"order": 7, "amount": 500})
        result = await engine.call(call, ALICE)
        if where:
            await engine.approvals.edit(result.approval_id or "", changes={"amount": 300}, by=FIONA)
            os.kill(os.getpid(), signal.SIGKILL)
        if (await engine.approvals.get(result.approval_id or "", by=FIONA)).status == "open":
            await engine.approvals.approve(result.approval_id or "", by=FIONA)
        done = await engine.resume(result.call_id, by=ALICE)
        again = await engine.resume(result.call_id, by=ALICE)
        edits = [row for row in await dying.list_audit("acme", call_id=result.call_id) if row.kind == "approval.edited"]
        print(json.dumps([done.status, done.edited_by, again.replayed, len(edits)]))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
