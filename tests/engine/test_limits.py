"""Budgets, rates and places: reserved with the claim, settled with the outcome, never beaten."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.engine.stopping import withdraw_all
from surehand.testing import FakeClock
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until

DAY = 86_400
MONEY = sh.Budget(name="money", tools=("pay",), amount="amount", limit=1000, raised_by="finance")


def limits(*declared: sh.Budget | sh.Rate, **more: Any) -> sh.Settings:
    return sh.Settings(
        budgets=tuple(one for one in declared if isinstance(one, sh.Budget)),
        rates=tuple(one for one in declared if isinstance(one, sh.Rate)),
        **more,
    )


def code(result: sh.ToolResult) -> str:
    return "" if result.error is None else result.error.code


async def left(engine: sh.Engine, by: sh.Caller, name: str = "money") -> str:
    return next(one.left for one in await engine.limits.list(by=by) if one.name == name)


async def audited(engine: sh.Engine, call_id: str, by: sh.Caller) -> list[str]:
    return [step.kind for step in (await engine.audit.story(call_id, by=by)).steps if "budget" in step.kind]


async def test_money_is_reserved_and_used(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), settings=limits(MONEY))
    heard: list[sh.Event] = []
    engine.on_event(heard.append)
    done = await engine.call(pay_call(1, 700), desk.alice)
    assert done.status == "ok"
    refused = await engine.call(pay_call(2, 301), desk.alice)
    assert (code(refused), desk.done) == ("BUDGET_EXCEEDED", [("pay", "bob", 1, 700)])
    assert refused.error is not None
    assert refused.error.details == {"limit": "money", "retry_after_s": None}
    assert "not renewed by itself; tell the user that finance can raise it" in refused.content
    assert "300" not in refused.content  # it must not try less
    assert not refused.error.retryable
    replay = await engine.call(pay_call(1, 700), desk.alice)
    assert replay.replayed
    assert await left(engine, desk.alice) == "300"
    assert (await engine.call(pay_call(2, 300), desk.alice)).status == "ok"
    assert (await engine.call(pay_call(3, 0), desk.alice)).status == "ok"
    assert await audited(engine, done.call_id, desk.alice) == ["budget.settled"]
    story = await engine.audit.story(done.call_id, by=desk.alice)
    assert story.facts["charges"] == [["money", 700]]
    assert "700 of the budget money was used" in [step.text for step in story.steps]
    assert (await engine.audit.story(refused.call_id, by=desk.alice)).facts["limit"] == "money"
    assert [e.data["limit"] for e in heard if e.kind == "limit.refused"] == ["money"]
    assert next(e.data["charges"] for e in heard if e.kind == "limit.reserved") == [["money", 700]]
    assert not [one for one in await engine.audit.verify() if not one.ok]


@pytest.mark.parametrize("how", ["reject", "expire", "withdrawn", "denied at start"])
async def test_what_never_runs_gives_back(desk: Desk, open_desk: Any, how: str) -> None:
    clock = FakeClock()
    big = sh.Budget(name="money", tools=("pay",), amount="amount", limit=60_000)
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=limits(big), clock=clock)
    run = sh.RunStep(run_id="r1", turn=0) if how == "withdrawn" else None
    waiting = await engine.call(pay_call(1, 50_000), desk.alice, run=run)
    assert waiting.status == "pending"
    assert await left(engine, desk.alice) == "10000"
    assert code(await engine.call(pay_call(2, 50_000), desk.alice)) == "BUDGET_EXCEEDED"
    assert waiting.approval_id is not None
    if how == "reject":
        await engine.approvals.reject(waiting.approval_id, by=desk.fiona)
    elif how == "withdrawn":
        await withdraw_all(engine.services, "acme", "r1")
    elif how == "expire":
        clock.advance(days=2)
        await engine.resume(waiting.call_id, by=desk.alice)
    else:
        await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
        poorer = sh.Caller(id="alice", tenant="acme", scopes=["orders:read"])
        assert (await engine.resume(waiting.call_id, by=poorer)).is_error
    assert await left(engine, desk.alice) == "60000"
    assert desk.done == []
    assert await audited(engine, waiting.call_id, desk.alice) == ["budget.released"]


@pytest.mark.parametrize(
    ("raises", "idempotency", "left_over", "kinds"),
    [
        (sh.BusinessError("no"), "single_effect", "1000", ["budget.released"]),
        (sh.Unavailable("down"), "single_effect", "1000", ["budget.released"]),
        (ValueError("bug"), "single_effect", "500", []),
        (ValueError("bug"), "idempotency_key", "500", ["budget.settled"]),
    ],
    ids=["business", "unavailable", "unknown", "may have worked"],
)
async def test_an_error_gives_back_only_what_had_no_effect(
    desk: Desk, open_desk: Any, raises: Exception, idempotency: Any, left_over: str, kinds: list[str]
) -> None:
    @sh.tool(permissions=["pay"], key=["no"], idempotency=idempotency)
    async def pay(to: str, no: int, amount: int) -> str:
        """Pays, or does not."""
        raise raises

    engine: sh.Engine = await open_desk(pay, settings=limits(MONEY))
    result = await engine.call(pay_call(1, 500), desk.alice)
    assert await left(engine, desk.alice) == left_over
    assert await audited(engine, result.call_id, desk.alice) == kinds
    if result.status == "unknown":
        operator = sh.Caller(id="olga", tenant="acme", roles=["operator"])
        await engine.unknown.resolve(result.call_id, sh.NotDone(), by=operator, evidence="I looked")
        assert await left(engine, desk.alice) == "1000"


async def test_a_denied_call_costs_nothing(desk: Desk, open_desk: Any) -> None:
    calls = sh.Budget(name="calls", limit=1)
    engine: sh.Engine = await open_desk(pay_tool(desk), settings=limits(calls))
    nobody = sh.Caller(id="nobody", tenant="acme")
    for _ in range(3):
        assert (await engine.call(pay_call(), nobody)).is_error
    assert await left(engine, desk.alice, "calls") == "1"


AMOUNTS: list[tuple[Any, Any, str]] = [
    (1000, {}, "is missing"),
    (1000, {"amount": None}, "is missing"),
    (1000, {"amount": -1}, "is negative"),
    (1000, {"amount": True}, "is no number"),
    (1000, {"amount": 1.5}, "is not whole"),
    (1000, {"amount": 1e300}, "is no plain finite number"),
    (1000, {"amount": "NaN"}, "is no plain finite number"),
    (1000, {"amount": "1e3"}, "is no plain finite number"),
    (1000, {"amount": "\uff11"}, "is no plain finite number"),
    (1000, {"amount": [1]}, "is no number"),
    ("10.00", {"amount": "1.001"}, "has more than 2 decimals"),
    (1000, {"amount": 10**30}, "is no plain finite number"),
    (1000, {"amount": 1.0}, "999"),
    (1000, {"amount": "7"}, "993"),
    ("10.00", {"amount": "0.10"}, "9.90"),
    ("10.00", {"amount": 0.1}, "9.90"),
    ("10.00", {"amount": 3}, "7.00"),
]


@pytest.mark.parametrize(("limit", "arguments", "said"), AMOUNTS, ids=repr)
async def test_an_amount_is_exact_or_refused(
    desk: Desk, open_desk: Any, limit: Any, arguments: dict[str, Any], said: str
) -> None:
    spec = sh.ToolSpec(
        name="move",
        description="Moves money.",
        parameters={"type": "object", "properties": {"amount": {}}},
        idempotency="idempotency_key",
    )
    done: list[Any] = []

    async def move(context: Any, text: str) -> str:
        done.append(text)
        return "moved"

    budget = sh.Budget(name="money", tools=("move",), amount="amount", limit=limit)
    engine: sh.Engine = await open_desk(sh.raw_tool(spec, move), settings=limits(budget))
    result = await engine.call(sh.ToolCall(id="c", name="move", arguments=arguments), desk.alice)
    if said[0].isdigit():
        assert result.status == "ok"
        assert await left(engine, desk.alice) == said
    else:
        assert (code(result), done) == ("TOOL_ARGUMENT_INVALID", [])
        assert f"its argument `amount` {said}, and the budget `money` counts by it" in result.content


async def test_windows_and_scopes(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    each = sh.Budget(name="each", tools=("pay",), limit=1, per=("caller",), period_s=DAY)
    in_run = sh.Budget(name="in-run", tools=("note",), limit=1, per=("run", "tool"))

    @sh.tool(key=["no"])
    async def note(no: int) -> str:
        """Notes."""
        return "noted"

    engine: sh.Engine = await open_desk(pay_tool(desk), note, settings=limits(each, in_run), clock=clock)
    assert (await engine.call(pay_call(1), desk.alice)).status == "ok"
    refused = await engine.call(pay_call(2), desk.alice)
    assert refused.error is not None
    assert refused.error.details["retry_after_s"] == DAY // 2
    assert "renewed in 43200 s" in refused.content
    bert = sh.Caller(id="bert", tenant="acme", scopes=["pay"])
    assert (await engine.call(pay_call(3), bert)).status == "ok"
    clock.advance(DAY // 2)
    assert (await engine.call(pay_call(2), desk.alice)).status == "ok"

    def noting(no: int, run_id: str | None) -> Any:
        run = None if run_id is None else sh.RunStep(run_id=run_id, turn=no)
        return engine.call(sh.ToolCall(id="c", name="note", arguments={"no": no}), desk.alice, run=run)

    results = [await noting(no, run_id) for no, run_id in enumerate(["r1", "r1", "r2", None])]
    assert [code(one) for one in results] == ["", "BUDGET_EXCEEDED", "", "BUDGET_EXCEEDED"]
    assert "counts per run" in results[3].content
    assert [(u.scope, u.left) for u in await engine.limits.list(by=bert) if u.name == "each"] == [
        ({"caller": "bert"}, "1")
    ]
    auditor = sh.Caller(id="ada", tenant="acme", roles=["auditor"])
    everybody = await engine.limits.list(by=auditor, everything=True)
    assert {u.scope.get("caller") for u in everybody if u.name == "each"} == {"ada", "alice", "bert"}
    with pytest.raises(sh.NotAllowedError, match="may not read the limits"):
        await engine.limits.list(by=bert, everything=True)


async def test_a_rate_refuses_the_start_and_keeps_the_yes(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    slow = sh.Rate(name="slow", tools=("pay",), calls=1, window_s=60)
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=limits(slow), clock=clock)
    waiting = await engine.call(pay_call(1, 50_000), desk.alice)
    assert waiting.approval_id is not None
    assert (await engine.call(pay_call(2), desk.alice)).status == "ok"
    refused = await engine.call(pay_call(3), desk.alice)
    assert refused.error is not None
    assert (refused.error.code, refused.error.retryable) == ("RATE_LIMITED", True)
    assert refused.error.details == {"limit": "slow", "retry_after_s": 60}
    assert "Try again in 60 s" in refused.content
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    held_up = await engine.resume(waiting.call_id, by=desk.alice)
    assert (held_up.status, code(held_up), held_up.is_error) == ("pending", "RATE_LIMITED", False)
    assert "was approved and waits" in held_up.content
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    assert (story.status, story.steps[-1].kind) == ("ready", "limit.refused")
    clock.advance(60)
    done = await engine.resume(waiting.call_id, by=desk.alice)
    assert (done.status, len(desk.done)) == ("ok", 2)
    assert (await engine.approvals.get(waiting.approval_id, by=desk.fiona)).status == "consumed"


async def test_places_are_free_when_their_calls_end(desk: Desk, open_desk: Any) -> None:
    go = asyncio.Event()

    @sh.tool(read_only=True)
    async def look() -> str:
        """Looks."""
        await go.wait()
        return "seen"

    @sh.tool(key=["no"])
    async def act(no: int) -> str:
        """Acts."""
        await go.wait()
        return "done"

    one = sh.Rate(name="one", at_once=1, per=("tool",))
    engine: sh.Engine = await open_desk(look, act, settings=limits(one))
    other: sh.Engine = await open_desk(look, act, settings=limits(one))

    def calls(of: sh.Engine, no: int) -> list[Any]:
        return [
            of.call(sh.ToolCall(id="c", name="look", arguments={}), desk.alice),
            of.call(sh.ToolCall(id="c", name="act", arguments={"no": no}), desk.alice),
        ]

    running = [asyncio.create_task(one) for one in calls(engine, 1)]

    async def used() -> list[str]:
        return [one.used for one in await engine.limits.list(by=desk.alice)]

    async def both_run() -> bool:
        return await used() == ["1", "1"]

    async def all_is_free() -> bool:
        return await used() == ["0", "0"]

    await until(both_run)
    refused = await asyncio.gather(*calls(other, 2))
    assert [(code(r), r.error.details["retry_after_s"]) for r in refused] == [("RATE_LIMITED", 1)] * 2
    go.set()
    assert [(await task).status for task in running] == ["ok", "ok"]
    await until(all_is_free)
    assert [r.status for r in await asyncio.gather(*calls(other, 2))] == ["ok", "ok"]


async def test_a_limit_that_could_never_count_is_refused(desk: Desk, open_desk: Any, tmp_path: Path) -> None:
    rows: list[tuple[Any, str]] = [
        (lambda: limits(sh.Budget(name="b", tools=("payy",), limit=1)), "b: there is no tool 'payy'"),
        (lambda: limits(sh.Budget(name="b", tools=("pay",), amount="sum", limit=1)), "'pay' has no argument 'sum'"),
        (lambda: limits(sh.Rate(name="b", calls=1), sh.Budget(name="b", limit=1)), "two limits have the name 'b'"),
        (lambda: sh.Budget(name="b", amount="amount", limit=1), "name the tools"),
        (lambda: sh.Budget(name="b", limit=1.5), "limit must be a whole number or a decimal string"),  # pyright: ignore[reportArgumentType]
        (lambda: sh.Budget(name="b", limit=True), "limit must be a whole number"),
        (lambda: sh.Budget(name="b", limit=0), "limit must be above 0"),
        (lambda: sh.Budget(name="b", limit="1.5"), "calls are counted whole"),
        (lambda: sh.Budget(name="b", limit=1, per=("agent",)), "per may hold tenant, caller, tool, run"),  # pyright: ignore[reportArgumentType]
        (lambda: sh.Budget(name="b", limit=1, period_s=0), "period_s must be a number of seconds"),
        (lambda: sh.Budget(name="", limit=1), "name must match"),
        (lambda: sh.Rate(name="r"), "write either calls (with window_s) or at_once"),
        (lambda: sh.Rate(name="r", calls=1, at_once=1), "write either"),
        (lambda: sh.Rate(name="r", calls=0), "calls must be a whole number above 0"),
    ]
    for make, said in rows:
        with pytest.raises(sh.ConfigError) as refused:
            await open_desk(pay_tool(desk), settings=make())
        assert said in str(refused.value)
    file = tmp_path / "surehand.toml"
    for text, said in [
        ("[[budgets]]\nlimit = 1", "budgets, number 1: name is missing"),
        ("[[budgets]]\nname = 'b'", "budgets, number 1: limit is missing"),
        ("[[rates]]\nname = 'r'\ncall = 1", "rates, number 1: there is no field 'call'"),
        ("[rates]\nname = 'r'", "rates must be tables [[rates]]"),
    ]:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(sh.ConfigError) as refused:
            sh.read_project(file)
        assert said in str(refused.value)


async def test_three_transfers_at_once_cannot_beat_a_cap(desk: Desk, open_desk: Any) -> None:
    settings = limits(MONEY)
    engines: list[sh.Engine] = [await open_desk(pay_tool(desk), settings=settings) for _ in range(3)]
    results = await asyncio.gather(
        *(engine.call(pay_call(no, 400), desk.alice) for no, engine in enumerate(engines)),
        *(engine.call(pay_call(no + 10, 400), desk.alice) for no, engine in enumerate(engines)),
    )
    assert sorted(code(one) for one in results) == ["", "", *["BUDGET_EXCEEDED"] * 4]
    assert sum(amount for *_, amount in desk.done) == 800
