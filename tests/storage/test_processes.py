"""Real processes on one database: they race, and they are killed."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from surehand.storage import open_store
from surehand.testing.store_records import call, claim
from surehand.testing.store_run_contract import run

RACER = Path(__file__).with_name("racer.py")
ROUNDS = 30


def start(url: str, what: str, name: str) -> subprocess.Popen[str]:
    """Start a racer and wait until it has opened the store."""
    command = [sys.executable, str(RACER), url, what, name]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def race(url: str, what: str, lines: list[str]) -> Counter[str]:
    """Give three racers the same lines at once, and count the words that they print."""
    racers = [start(url, what, f"p{n}") for n in range(3)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("".join(f"{line}\n" for line in lines))
        racer.stdin.close()
    tally: Counter[str] = Counter()
    for racer in racers:
        with racer:
            assert racer.stdout is not None
            tally.update(word for line in racer.stdout for word in line.split())
        assert racer.returncode == 0
    return tally


@pytest.mark.timeout(30)
async def test_of_racing_processes_exactly_one_wins(any_url: str) -> None:
    store = open_store(any_url)
    await store.open()
    for n in range(ROUNDS):
        await store.claim(claim(call(f"shared k{n}", status="ready")))
    tally = race(any_url, "claims", [f"k{n}" for n in range(ROUNDS)])
    assert (tally["won"], tally["lost"]) == (ROUNDS, 2 * ROUNDS)
    assert (tally["started"], tally["late"]) == (ROUNDS, 2 * ROUNDS)
    assert len(await store.list_calls("acme", limit=1000)) == 2 * ROUNDS
    await store.close()


@pytest.mark.timeout(30)
async def test_of_racing_processes_exactly_one_drives_a_run(any_url: str) -> None:
    """Free runs, and such of an owner that is dead."""
    store = open_store(any_url)
    await store.open()
    for n in range(ROUNDS):
        await store.create_run(run(f"r{n}", owner="dead" if n % 2 else None))
    await store._writer.submit(let_an_hour_pass)
    tally = race(any_url, "takes", [f"r{n}" for n in range(ROUNDS)])
    assert (tally["taken"], tally["left"]) == (ROUNDS, 2 * ROUNDS)
    assert (tally["saved"], tally["refused"]) == (ROUNDS, 2 * ROUNDS)
    for record in await store.list_runs("acme"):
        (saved,) = await store.list_turns("acme", record.run_id)
        assert saved.answer.decode() == record.owner
        assert record.turns == len(await store.list_run_events("acme", record.run_id)) == 1
    await store.close()


def let_an_hour_pass(tx: Any) -> None:
    """Make everybody who has beaten look dead, whichever clock the database goes by."""
    tx.connection.execute("UPDATE surehand_workers SET seen_us = seen_us - 3600000000")


@pytest.mark.timeout(60)
async def test_racing_processes_never_beat_a_budget(any_url: str) -> None:
    store = open_store(any_url)
    await store.open()
    tally = race(any_url, "spends", [f"b{n}" for n in range(ROUNDS)])
    counters = await store.list_counters("acme")
    assert len(counters) == ROUNDS
    assert all(counter.used == counter.reserved <= 10 for counter in counters)
    assert sum(counter.used for counter in counters) == 3 * (tally["spent"] - tally["returned"])
    assert tally["refused"] > 0
    await store.close()


@pytest.mark.timeout(30)
async def test_racing_processes_remember_the_same(any_url: str) -> None:
    store = open_store(any_url)
    await store.open()
    tally = race(any_url, "remembers", [f"k{n}" for n in range(ROUNDS)])
    kept = [await store.remember(f"k{n}", "late") for n in range(ROUNDS)]
    assert tally == {f"k{n}={name}": 3 for n, name in enumerate(kept)}
    assert "late" not in kept
    await store.close()


@pytest.mark.timeout(30)
async def test_a_killed_process_loses_nothing_that_was_acknowledged(any_url: str) -> None:
    acknowledged: set[str] = set()
    for name in ("first", "second"):
        with start(any_url, "writes", name) as writer:
            assert writer.stdout is not None
            acknowledged.update(writer.stdout.readline().strip() for _ in range(100))
            writer.kill()
            acknowledged.update(line.strip() for line in writer.stdout if line.endswith("\n"))
    store = open_store(any_url)
    await store.open()
    found = {record.call_id for record in await store.list_calls("acme", limit=100_000)}
    assert acknowledged <= found
    assert {row.call_id for row in await store.list_audit("acme", limit=100_000)} == found
    await store.close()
