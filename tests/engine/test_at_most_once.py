"""An effect happens at most once, whatever is late, lost, slow or stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest

import surehand as sh
from surehand.ports import Claim, Move
from surehand.storage import SqlStore, open_store
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until

OPERATOR = sh.Caller(id="olga", tenant="acme", roles=["operator"])


def settings(desk: Desk, **limits: Any) -> sh.Settings:
    return sh.Settings(keys=str(desk.folder / "keys"), limits=sh.Limits(**limits))


class FailingStarts(SqlStore):
    """The real store, of which some starts fail."""

    fail = 0

    def move(self, move: Move) -> Awaitable[bool]:
        if move.to == "running" and move.expect == ("ready",) and self.fail:
            self.fail -= 1
            return self._refuse()
        return super().move(move)

    async def _refuse(self) -> bool:
        raise sh.StoreError("busy")


async def test_a_late_take_back_never_takes_back_the_next_start(desk: Desk, open_desk: Any) -> None:
    begun = asyncio.Event()

    @sh.tool(permissions=["pay"], key=["no"])
    async def pay(to: str, no: int, amount: int) -> str:
        """Pays."""
        desk.done.append(no)
        begun.set()
        await asyncio.sleep(0.5)
        return "paid"

    store = FailingStarts(open_store(desk.url)._driver)
    engine: sh.Engine = await open_desk(pay, store=store, policies=ASK_FINANCE, settings=settings(desk, lease_s=0.3))
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    store.fail = 1
    refused = await engine.resume(waiting.call_id, by=desk.alice)
    assert (refused.error and refused.error.code, desk.done) == ("TOOL_UNAVAILABLE", [])
    running = asyncio.create_task(engine.resume(waiting.call_id, by=desk.alice))
    await begun.wait()
    await until(lambda: not engine.services.owed)
    again = await engine.resume(waiting.call_id, by=desk.alice)
    assert [(await running).status, again.status, desk.done] == ["ok", "ok", [1]]


def not_yet(desk: Desk) -> Callable[[dict[str, Any], str], sh.Evidence]:
    def check(arguments: dict[str, Any], key: str) -> sh.Evidence:
        return sh.Done("paid") if arguments["no"] in desk.done else sh.NotDone()

    return check


async def test_not_done_is_not_believed_while_the_handler_may_still_run(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"], timeout_s=0.1, status_check=not_yet(desk))
    def pay(no: int) -> str:
        """Pays, late."""
        time.sleep(0.5)
        desk.done.append(no)
        return "paid"

    engine: sh.Engine = await open_desk(pay)
    call = sh.ToolCall(id="c", name="pay", arguments={"no": 1})
    first, second = await engine.call(call, desk.alice), await engine.call(call, desk.alice)
    assert [first.status, second.status] == ["unknown", "unknown"]
    with pytest.raises(sh.ConfigError, match="may still run"):
        await engine.unknown.resolve(first.call_id, sh.NotDone(), by=OPERATOR, evidence="not in the bank")
    await until(lambda: desk.done == [1])
    third = await engine.call(call, desk.alice)
    assert (third.status, third.content, desk.done) == ("ok", "paid", [1])


async def test_an_engine_never_takes_its_own_calls_for_dead(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"], status_check=not_yet(desk))
    async def pay(no: int) -> str:
        """Pays."""
        await asyncio.sleep(0.8)
        desk.done.append(no)
        return "paid"

    @sh.tool(read_only=True)
    async def crunch() -> str:
        """Holds the event loop up for longer than the lease."""
        time.sleep(0.6)  # noqa: ASYNC251 - that is the fault
        return "crunched"

    engine: sh.Engine = await open_desk(pay, crunch, settings=settings(desk, lease_s=0.3))
    call = sh.ToolCall(id="c", name="pay", arguments={"no": 1})
    first = asyncio.create_task(engine.call(call, desk.alice))
    await asyncio.sleep(0.05)
    results = await asyncio.gather(
        first, engine.call(sh.ToolCall(id="x", name="crunch"), desk.alice), engine.call(call, desk.alice)
    )
    assert [result.status for result in results] == ["ok", "ok", "error"]
    assert results[2].error is not None
    assert results[2].error.code == "TOOL_DUPLICATE_REQUEST"
    assert desk.done == [1]


async def test_slow_work_of_maintenance_does_not_stop_the_heart(desk: Desk, open_desk: Any) -> None:
    slow = asyncio.Event()

    async def check(arguments: dict[str, Any], key: str) -> sh.Evidence:
        slow.set()
        await asyncio.sleep(1.2)
        return sh.StillUnknown()

    @sh.tool(key=["no"], status_check=check)
    async def pay(no: int, lost: bool = False) -> str:
        """Pays."""
        if lost:
            raise sh.OutcomeUnknown
        desk.done.append(no)
        await asyncio.sleep(1.0)
        return "paid"

    one: sh.Engine = await open_desk(pay, settings=settings(desk, lease_s=0.4))
    await one.call(sh.ToolCall(id="c", name="pay", arguments={"no": 9, "lost": True}), desk.alice)
    checking = asyncio.create_task(
        one.call(sh.ToolCall(id="c", name="pay", arguments={"no": 9, "lost": True}), desk.alice)
    )
    await slow.wait()
    paying = asyncio.create_task(one.call(sh.ToolCall(id="c", name="pay", arguments={"no": 1}), desk.alice))
    two: sh.Engine = await open_desk(pay, settings=settings(desk, lease_s=0.4))
    await asyncio.sleep(0.7)
    other = await two.call(sh.ToolCall(id="c", name="pay", arguments={"no": 1}), desk.alice)
    assert other.error is not None
    assert other.error.code == "TOOL_DUPLICATE_REQUEST"
    await asyncio.gather(paying, checking)
    assert desk.done == [1]


@pytest.mark.parametrize("kind", ["lambda", "wrapper", "object"])
async def test_an_awaitable_from_a_sync_callable_is_awaited(desk: Desk, open_desk: Any, kind: str) -> None:
    async def rule(arguments: dict[str, Any]) -> None:
        if arguments["no"] > 5:
            raise sh.BusinessError("too much")

    class Rule:
        async def __call__(self, arguments: dict[str, Any]) -> None:
            await rule(arguments)

    async def real(no: int) -> str:
        desk.done.append(no)
        return f"paid {no}"

    def wrapped(no: int) -> Any:
        return real(no)

    checks: dict[str, Any] = {"lambda": lambda a: rule(a), "wrapper": lambda a: Rule()(a), "object": Rule()}
    spec = sh.ToolSpec(
        name="pay", description="Pays.", key=("no",), parameters={
            "type": "object", "properties": {"no": {"type": "integer"}}, "required": ["no"]}
    )  # fmt: skip
    engine: sh.Engine = await open_desk(sh.bind_tool(spec, wrapped, check=checks[kind]))
    refused = await engine.call(sh.ToolCall(id="c", name="pay", arguments={"no": 9}), desk.alice)
    paid = await engine.call(sh.ToolCall(id="c", name="pay", arguments={"no": 1}), desk.alice)
    assert [refused.content, paid.content, desk.done] == ["too much", "paid 1", [1]]


async def test_other_arguments_under_an_old_yes_are_stale(desk: Desk, open_desk: Any) -> None:
    to = "A"

    class Map(sh.Interceptor):
        def before(self, call: sh.Proposed) -> sh.Modify:
            return sh.Modify({**call.arguments, "to": to})

    asks = '@id("{}") @approvers("finance") forbid (principal, action == Action::"call/pay", resource);'
    one: sh.Engine = await open_desk(pay_tool(desk, key=["to"]), policies=asks.format("a"), interceptors=[Map()])
    waiting = await one.call(pay_call(to="m"), desk.alice)
    assert waiting.approval_id is not None
    await one.approvals.approve(waiting.approval_id, by=desk.fiona)
    to = "B"
    two: sh.Engine = await open_desk(pay_tool(desk, key=["to"]), policies=asks.format("b"), interceptors=[Map()])
    result = await two.resume(waiting.call_id, by=desk.alice)
    assert (result.error and result.error.code, desk.done) == ("APPROVAL_STALE", [])


class SlowClaims(SqlStore):
    """The real store, slow to claim."""

    def claim(self, claim: Claim) -> Awaitable[Any]:
        return self._slowly(claim)

    async def _slowly(self, claim: Claim) -> Any:
        await asyncio.sleep(0.1)
        return await super().claim(claim)


async def test_a_call_given_up_before_it_started_does_not_start(desk: Desk, open_desk: Any) -> None:
    store = SlowClaims(open_store(desk.url)._driver)
    engine: sh.Engine = await open_desk(pay_tool(desk), store=store, settings=settings(desk))
    task = asyncio.create_task(engine.call(pay_call(), desk.alice))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.done == []
    assert (await engine.call(pay_call(), desk.alice)).status == "ok"


async def test_a_call_given_up_in_the_queue_of_its_tool_does_not_start(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"], sequential=True)
    def pay(no: int) -> str:
        """Pays, one after the other."""
        time.sleep(0.3)
        desk.done.append(no)
        return "paid"

    engine: sh.Engine = await open_desk(pay)
    first = asyncio.create_task(engine.call(sh.ToolCall(id="c", name="pay", arguments={"no": 1}), desk.alice))
    await asyncio.sleep(0.05)
    second = asyncio.create_task(engine.call(sh.ToolCall(id="c", name="pay", arguments={"no": 2}), desk.alice))
    await asyncio.sleep(0.05)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert (await first).status == "ok"
    assert desk.done == [1]


@pytest.mark.parametrize(("one", "other"), [(5, 5.0), (0, -0.0), (5.0, 5)])
async def test_equal_numbers_are_one_effect(desk: Desk, open_desk: Any, one: Any, other: Any) -> None:
    spec = sh.ToolSpec(
        name="pay", description="Pays.", key=("amount",), parameters={
            "type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
    )  # fmt: skip

    async def pay(amount: float) -> str:
        desk.done.append(amount)
        return "paid"

    engine: sh.Engine = await open_desk(sh.bind_tool(spec, pay))
    calls = [sh.ToolCall(id="c", name="pay", arguments={"amount": amount}) for amount in (one, other)]
    results = [await engine.call(call, desk.alice) for call in calls]
    assert ([result.replayed for result in results], len(desk.done)) == ([False, True], 1)


async def test_what_is_injected_is_part_of_what_was_asked_for(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"])
    async def deploy(no: int, *, where: Annotated[str, sh.Injected("environment")]) -> str:
        """Deploys."""
        desk.done.append(where)
        return f"deployed to {where}"

    engine: sh.Engine = await open_desk(deploy)
    call = sh.ToolCall(id="c", name="deploy", arguments={"no": 1})
    staging, production = (sh.Caller(id="alice", tenant="acme", environment=one) for one in ("staging", "production"))
    first, second = await engine.call(call, staging), await engine.call(call, production)
    assert (first.status, second.error and second.error.code) == ("ok", "IDEMPOTENCY_CONFLICT")
    assert desk.done == ["staging"]


async def test_other_keys_than_those_of_the_database_are_refused(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    await engine.call(pay_call(), desk.alice)
    await engine.close()
    moved = (desk.folder / "surehand.db.keys").rename(desk.folder / "away")
    with pytest.raises(sh.ConfigError, match="keys"):
        await open_desk(pay_tool(desk))
    with pytest.raises(sh.ConfigError, match="keys"):
        await open_desk(pay_tool(desk), settings=sh.Settings(keys=str(desk.folder / "others")))
    moved.rename(desk.folder / "surehand.db.keys")
    again: sh.Engine = await open_desk(pay_tool(desk))
    assert (await again.call(pay_call(), desk.alice)).replayed
    assert len(desk.done) == 1


@pytest.mark.parametrize("key", ["", "  ", "\ud800", 7])
async def test_a_key_that_names_no_effect_is_refused(desk: Desk, open_desk: Any, key: Any) -> None:
    """An application whose header was missing must not get another call's result for its own."""
    engine: sh.Engine = await open_desk(pay_tool(desk, key=[]))
    with pytest.raises(sh.ConfigError, match="idempotency_key must be a text that is not empty"):
        await engine.call(pay_call(), desk.alice, idempotency_key=key)
    assert desk.done == []


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"run_id": "", "turn": 0}, "run_id must be a text of 1 to 256"),
        ({"run_id": None, "turn": 0}, "run_id must be a text of 1 to 256"),
        ({"run_id": "r" * 257, "turn": 0}, "run_id must be a text of 1 to 256"),
        ({"run_id": "\ud800", "turn": 0}, "run_id must be a text of 1 to 256"),
        ({"run_id": "r", "turn": -1}, "turn must be a whole number from 0"),
        ({"run_id": "r", "turn": True}, "turn must be a whole number from 0"),
        ({"run_id": "r", "turn": 0, "position": 2**31}, "position must be a whole number from 0"),
    ],
)
def test_a_place_that_is_in_no_run_is_refused(place: Any, said: str) -> None:
    with pytest.raises(sh.ConfigError, match=said):
        sh.RunStep(**place)
