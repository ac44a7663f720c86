"""What a second look found: bookkeeping, places, loops and processes."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable
from typing import Any

import apsw
import pytest

import surehand as sh
from surehand.ports import Move
from surehand.storage import SqlStore, open_store
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until


async def test_the_loser_of_two_resumes_does_not_disown_the_winner(desk: Desk, open_desk: Any) -> None:
    @sh.tool(permissions=["pay"], key=["no"])
    async def pay(to: str, no: int, amount: int) -> str:
        """Pays, slowly."""
        await asyncio.sleep(1.0)
        desk.done.append(no)
        return "paid"

    settings = sh.Settings(limits=sh.Limits(lease_s=0.3))
    engine: sh.Engine = await open_desk(pay, policies=ASK_FINANCE, settings=settings)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    both = await asyncio.gather(*(engine.resume(waiting.call_id, by=desk.alice) for _ in range(2)))
    assert ([one.status for one in both], desk.done) == (["ok", "ok"], [1])
    assert not engine.services.passing
    assert not engine.services.handlers


class Away(SqlStore):
    """The real store, away when it is told."""

    away = False

    def move(self, move: Move) -> Awaitable[bool]:
        return self._refuse() if self.away else super().move(move)

    async def _refuse(self) -> bool:
        raise sh.StoreError("away")


async def test_every_settlement_that_is_owed_is_made(desk: Desk, open_desk: Any) -> None:
    store = Away(open_store(desk.url)._driver)
    settings = sh.Settings(keys=str(desk.folder / "keys"), limits=sh.Limits(lease_s=0.3))
    engine: sh.Engine = await open_desk(pay_tool(desk), store=store, settings=settings)
    store.away = True
    results = [await engine.call(pay_call(no), desk.alice) for no in range(5)]
    assert {result.status for result in results} == {"unknown"}
    await asyncio.sleep(0.5)
    store.away = False
    await until(lambda: not engine.services.owed)
    again = [await engine.call(pay_call(no), desk.alice) for no in range(5)]
    assert ([one.status for one in again], len(desk.done)) == (["ok"] * 5, 5)


async def test_cancelled_reads_give_their_threads_back(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    def read() -> str:
        """Reads."""
        time.sleep(0.05)
        return "read"

    engine: sh.Engine = await open_desk(read, settings=sh.Settings(limits=sh.Limits(threads=2, concurrent_calls=10)))
    call = sh.ToolCall(id="c", name="read")
    for _ in range(2):
        tasks = [asyncio.create_task(engine.call(call, desk.alice)) for _ in range(20)]
        await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await until(lambda: not engine.services.handlers)
    results = await engine.call_many([call] * 20, desk.alice)
    assert {result.content for result in results} == {"read"}


async def test_a_place_that_nobody_takes_goes_to_the_next(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, timeout_s=3)
    def read(seconds: float) -> str:
        """Reads."""
        time.sleep(seconds)
        return "read"

    engine: sh.Engine = await open_desk(read, settings=sh.Settings(limits=sh.Limits(threads=1)))
    first, second, third = (
        asyncio.create_task(engine.call(sh.ToolCall(id="c", name="read", arguments={"seconds": s}), desk.alice))
        for s in (0.2, 0.0, 0.0)
    )
    await asyncio.sleep(0.05)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert [(await first).content, (await third).content] == ["read", "read"]


def test_an_engine_works_in_one_event_loop_after_another(desk: Desk) -> None:
    @sh.tool(key=["no"], sequential=True)
    async def step(no: int) -> str:
        """Takes a step."""
        await asyncio.sleep(0.01)
        desk.done.append(no)
        return "done"

    engine = sh.open_engine(store=desk.url, tools=[step])

    async def three(first: int) -> list[str]:
        async with engine:
            calls = [sh.ToolCall(id="c", name="step", arguments={"no": first + n}) for n in range(3)]
            return [result.status for result in await engine.call_many(calls, desk.alice)]

    assert [asyncio.run(three(0)), asyncio.run(three(3))] == [["ok"] * 3, ["ok"] * 3]


async def test_not_done_of_a_handler_that_outlived_its_engine_needs_a_person(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"], timeout_s=0.05, status_check=lambda arguments, key: sh.NotDone())
    def pay(no: int) -> str:
        """Pays, late."""
        time.sleep(1.0)
        desk.done.append(no)
        return "paid"

    settings = sh.Settings(limits=sh.Limits(lease_s=0.2))
    call = sh.ToolCall(id="c", name="pay", arguments={"no": 1})
    one: sh.Engine = await open_desk(pay, settings=settings)
    lost = await one.call(call, desk.alice)
    await one.close()
    await asyncio.sleep(0.3)
    two: sh.Engine = await open_desk(pay, settings=settings)
    assert (await two.call(call, desk.alice)).status == "unknown"
    operator = sh.Caller(id="olga", tenant="acme", roles=["operator"])
    settled = await two.unknown.resolve(lost.call_id, sh.NotDone(), by=operator, evidence="the process was ended")
    assert settled.status == "error"


async def test_an_open_engine_is_not_used_in_a_forked_child(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    engine._pid = os.getpid() + 1  # as a child sees it; forking a threaded test process would prove less
    with pytest.raises(sh.ConfigError, match="fork"):
        await engine.view(desk.alice)
    engine._pid = os.getpid()


async def test_every_opening_is_another_owner(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    first = engine.services.owner
    await engine.close()
    async with engine:
        assert engine.services.owner not in ("", first)


async def test_closing_that_is_given_up_is_done_all_the_same(desk: Desk, open_desk: Any) -> None:
    before = {thread.name for thread in threading.enumerate()}
    for steps in range(8):
        engine: sh.Engine = await open_desk(pay_tool(desk))
        closing = asyncio.create_task(engine.close())
        for _ in range(steps):
            await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        await engine.close()
    hearts = [t for t in threading.enumerate() if t.name == "surehand-heart"]
    assert hearts == [], before


async def test_an_artifact_opens_for_its_caller_only_whatever_the_database_says(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def picture() -> bytes:
        """Draws."""
        return b"secret"

    engine: sh.Engine = await open_desk(picture)
    mine = await engine.call(sh.ToolCall(id="c", name="picture"), desk.alice)
    eve = sh.Caller(id="eve", tenant="acme")
    hers = await engine.call(sh.ToolCall(id="c", name="picture"), eve)
    db: Any = apsw.Connection(str(desk.folder / "surehand.db"))
    db.set_busy_timeout(10_000)
    db.execute("update surehand_artifacts set call_id = ?", (hers.call_id,))
    db.close()
    with pytest.raises(sh.NotFoundError):
        await engine.artifacts.get(mine.artifacts[0].id, by=eve)
    assert (await engine.artifacts.get(mine.artifacts[0].id, by=desk.alice))[1] == b"secret"


async def test_two_versions_in_one_call_are_refused(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), pay_tool(desk, version="2.0.0"))
    call = sh.ToolCall(id="c", name="pay@1.0.0", version="2.0.0", arguments=pay_call().arguments)
    result = await engine.call(call, desk.alice)
    assert (result.error and result.error.code, desk.done) == ("TOOL_NOT_FOUND", [])
