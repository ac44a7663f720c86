"""`python -m benchmarks [--json]`: what governance costs, beside the floor and the disk, in one run."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw

import surehand as sh
from benchmarks import models, work
from surehand.testing import ScriptedModel

Row = tuple[str, float, str]
REPEATS = 9
SECONDS = 0.25


async def per_call_us(call: Callable[[int], Awaitable[Any]], *, together: int = 1) -> float:
    """Median microseconds of one call over repeats; `together` calls at once count each."""
    done = 0

    async def some(count: int) -> float:
        nonlocal done
        began = time.perf_counter()
        for _ in range(count):
            if together == 1:
                await call(done)
            else:
                await asyncio.gather(*(call(done + i) for i in range(together)))
            done += together
        return (time.perf_counter() - began) / (count * together) * 1e6

    await some(3)
    count = max(1, int(SECONDS * 1e6 / (await some(3)) / together))
    return statistics.median([await some(count) for _ in range(REPEATS)])


def bare_commit_us(folder: Path) -> float:
    """A row of the same size, written and synced with nothing around it."""
    db: Any = apsw.Connection(str(folder / "bare.db"))
    for statement in ("pragma journal_mode=wal", "pragma synchronous=full", "create table rows (id integer, body)"):
        db.execute(statement).fetchall()
    body = os.urandom(600)

    def one() -> float:
        began = time.perf_counter()
        with db:
            db.execute("insert into rows (body) values (?)", (body,))
        return (time.perf_counter() - began) * 1e6

    times = [one() for _ in range(400)]
    db.close()
    return statistics.median(times)


async def runs(engine: sh.Engine) -> list[Row]:
    """Whole runs with a scripted model: what the loop costs around the calls."""

    async def run(calls: int) -> None:
        model = ScriptedModel(work.agent_steps(calls), chunk_chars=10_000)
        told = sh.run(engine, model=model, caller=work.CALLER, messages=["go"], stream=False)
        events = [event async for event in told]
        assert events[-1].data["reason"] == "completed", events[-1]

    one = await per_call_us(lambda n: run(1))
    hundred = await per_call_us(lambda n: run(100))
    return [
        ("run: one call, then text", one, "floor"),
        ("100 parallel calls in a turn of a run, each", (hundred - one) / 99, "floor"),
    ]


def decisions() -> list[Row]:
    """What policy alone costs, with policies that are all about the called tool: the worst case."""
    rows: list[Row] = [("floor, in CPU time", per_decision_us(lambda n: floor_now()), "cpu")]
    for count in (5, 50, 500):
        policies, spec = work.many_policies(count), work.limited_sales.spec
        arguments = json.loads(work.ARGUMENTS)

        def decide(n: int, policies: Any = policies, spec: Any = spec, arguments: Any = arguments) -> None:
            policies.authorize(work.CALLER, spec, {**arguments, "limit": n}, now_ns=0)

        rows += [
            (f"decision of {count} policies, cached", per_decision_us(lambda n, d=decide: d(-1)), "cpu"),
            (f"decision of {count} policies, never seen", per_decision_us(decide), "cpu"),
        ]
    return rows


def per_decision_us(decide: Callable[[int], None]) -> float:
    """Median microseconds of CPU time over repeats: nothing here waits, and a busy machine must not count."""
    numbers = iter(range(10**9))

    def one(count: int) -> float:
        began = time.process_time_ns()
        for _ in range(count):
            decide(next(numbers))
        return (time.process_time_ns() - began) / count / 1e3

    one(100)
    count = max(1, int(2e3 / one(100)))
    return statistics.median([one(count) for _ in range(100)])


def floor_now() -> None:
    """The floor, without an event loop."""
    try:
        work.floor().send(None)
    except StopIteration:
        return


async def views() -> list[Row]:
    """Views of 1,000 tools: worked out, kept, narrowed and searched."""
    few = sh.Settings(limits=sh.Limits(view_tools=128), always=("sales_7",))
    engine = sh.open_engine(store="sqlite://", tools=work.many_tools(1000), settings=few)
    async with engine:
        world = engine.services.world

        async def computed(n: int) -> None:
            world.renewed(world.catalog, world.policies, world.kills, 0).view(work.CALLER, now_us=n)

        async def kept(n: int) -> None:
            await engine.view(work.CALLER)

        loaded = [f"sales_{n}" for n in range(20)]

        async def narrowed(n: int) -> None:
            await engine.view(work.CALLER, loaded=loaded)

        search = work.caller_of_calls(engine, "search_tools", lambda n: json.dumps({"query": f"sales {n % 50} north"}))
        return [
            ("view of 1,000 tools, worked out", await per_call_us(computed), "floor"),
            ("view of 1,000 tools, kept", await per_call_us(kept), "floor"),
            ("view of 1,000 tools, kept, 20 of them loaded", await per_call_us(narrowed), "floor"),
            ("search in 1,000 tools, a governed call", await per_call_us(search), "floor"),
        ]


async def measure(folder: Path) -> list[Row]:
    """All rows: what, microseconds a call, what it is a ratio of."""
    floor = await per_call_us(lambda n: work.floor())
    rows: list[Row] = [("floor: json.loads + await handler(**args) + json.dumps", floor, "floor"), *decisions()]
    engine = sh.open_engine(
        store=f"sqlite:///{folder / 'bench.db'}",
        policies=work.POLICIES,
        tools=[work.read_sales, work.limited_sales, work.book_sales],
    )
    async with engine:
        arguments = json.loads(work.ARGUMENTS)
        same = work.caller_of_calls(engine, "read_sales", lambda n: work.ARGUMENTS)
        varied = work.caller_of_calls(
            engine, "limited_sales", lambda n: json.dumps({**arguments, "limit": n % 900 + 1, "note": str(n)})
        )
        fresh = work.caller_of_calls(
            engine, "limited_sales", lambda n: json.dumps({**arguments, "limit": -n, "note": str(n)})
        )
        effect = work.caller_of_calls(engine, "book_sales", lambda n: work.ARGUMENTS)
        rows += [
            ("governed read, decision cached", await per_call_us(same), "floor"),
            ("governed read, decision by arguments, seen before", await per_call_us(varied), "floor"),
            ("governed read, decision by arguments, never seen", await per_call_us(fresh), "floor"),
            ("100 governed reads at once, each", await per_call_us(same, together=100), "floor"),
        ]
        commit = bare_commit_us(folder)
        rows += [
            ("bare durable commit of one row", commit, "commit"),
            ("effect, written ahead, alone", await per_call_us(effect), "commit"),
        ]
        done = 1_000_000
        many = work.caller_of_calls(engine, "book_sales", lambda n: work.ARGUMENTS)
        rows += await runs(engine)
        rows.append(("100 effects at once, each", await per_call_us(lambda n: many(done + n), together=100), "commit"))
    return [*rows, *await views(), *await models.requests(), *models.answers()]


def main() -> int:
    """Prints the table, or JSON."""
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(Path(folder)))
    base = {
        "floor": rows[0][1],
        "cpu": rows[1][1],
        "commit": next(us for name, us, _ in rows if name.startswith("bare")),
        **{of: next(us for _, us, one in rows if one == of) for of in ("sdk", "chunks", "message")},
    }
    if "--json" in sys.argv:
        print(
            json.dumps([{"what": n, "us": round(us, 2), "ratio": round(us / base[b], 2), "of": b} for n, us, b in rows])
        )
        return 0
    print(f"{'':55}{'us':>10}{'ratio':>9}")
    for name, us, of in rows:
        print(f"{name:55}{us:10.1f}{us / base[of]:8.1f}x {of}")
    print(f"\nload of the machine meanwhile: {os.getloadavg()[0]:.1f}; cores: {os.cpu_count()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
