"""A real process that makes one call and dies at a named boundary. Run as a script; see `test_crash.py`.

The shop is a SQLite file of its own: what is in it is what really happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Annotated, Any

import surehand as sh
from surehand.ports import Claim, Move
from surehand.storage import SqlStore, open_store

ALICE = sh.Caller(id="alice", tenant="acme", roles=["support"])
FIONA = sh.Caller(id="fiona", tenant="acme", roles=["finance"])
ASK = '@id("ask") @approvers("finance") forbid (principal, action == Action::"call/refund", resource);'
LEASE_S = float(os.environ.get("LEASE_S", "0.3"))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Shop:
    """Refunds that really happened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._connect() as db:
            db.execute("create table if not exists refunds (key text, amount integer)")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10)

    def refund(self, key: str, amount: int) -> None:
        db = self._connect()
        with db:
            db.execute("insert into refunds values (?, ?)", (key, amount))
        db.close()

    def refunds(self) -> list[tuple[str, int]]:
        db = self._connect()
        try:
            return db.execute("select key, amount from refunds").fetchall()
        finally:
            db.close()


class DyingStore(SqlStore):
    """The real store, in a process that dies around one of its writes."""

    where = ""

    def claim(self, claim: Claim) -> Awaitable[Any]:
        return self._around("claim", super().claim, claim)

    def move(self, move: Move) -> Awaitable[Any]:
        name = "record" if move.result is not None else {"running": "start"}.get(move.to, "settle")
        return self._around(name, super().move, move)

    async def _around(self, name: str, write: Any, order: Any) -> Any:
        if self.where == f"before-{name}":
            die()
        answer = await write(order)
        if self.where == f"after-{name}":
            die()
        return answer


def refund_tool(shop: Shop, where: str, *, checked: bool) -> sh.Tool:
    def status_check(arguments: dict[str, Any], key: str) -> sh.Done | sh.NotDone:
        found = [amount for found, amount in shop.refunds() if found == key]
        return sh.Done(f"refunded {found[0]}") if found else sh.NotDone()

    @sh.tool(key=["order"], status_check=status_check if checked else None)
    def refund(order: int, amount: int, *, key: Annotated[str, sh.Injected("idempotency_key")]) -> str:
        """Refunds an order."""
        if where == "handler-before-effect":
            die()
        shop.refund(key, amount)
        if where == "handler-after-effect":
            die()
        return f"refunded {amount}"

    return refund


async def main(folder: Path, where: str, mode: str) -> None:
    shop = Shop(folder / "shop.db")
    store = open_store(os.environ.get("STORE", f"sqlite:///{folder / 'surehand.db'}"))
    dying = DyingStore(store._driver)
    engine = sh.open_engine(
        store=dying,
        policies=[sh.PolicySource("ask.cedar", ASK)] if "ask" in mode else None,
        tools=[refund_tool(shop, where, checked="unchecked" not in mode)],
        settings=sh.Settings(keys=str(folder / "keys"), limits=sh.Limits(lease_s=LEASE_S)),
    )
    async with engine:
        if "resume" in mode:
            call_id = mode.split(":")[1]
            print("ready", flush=True)
            sys.stdin.readline()
            DyingStore.where = where
            result = await engine.resume(call_id, by=ALICE)
        else:
            result = await call(engine, where, mode)
        DyingStore.where = ""
        show(result)
        if "twice" in mode:
            show(await call(engine, "", mode))


async def call(engine: sh.Engine, where: str, mode: str) -> sh.ToolResult:
    DyingStore.where = where if "ask" not in mode else ""
    refund = sh.ToolCall(id="c1", name="refund", arguments={"order": 7, "amount": 500})
    result = await engine.call(refund, ALICE)
    if result.status != "pending" or result.approval_id is None:
        return result
    with contextlib.suppress(sh.ApprovalError):  # a process that died may have had it decided
        await engine.approvals.approve(result.approval_id, by=FIONA)
    if "leave" in mode:
        return result
    DyingStore.where = where
    return await engine.resume(result.call_id, by=ALICE)


def show(result: sh.ToolResult) -> None:
    said = {
        "call_id": result.call_id,
        "status": result.status,
        "content": result.content,
        "code": result.error.code if result.error else None,
        "replayed": result.replayed,
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
