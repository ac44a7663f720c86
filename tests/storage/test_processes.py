"""Real processes on one database: they race, and they are killed."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from surehand.storage import open_store
from surehand.testing.store_records import call, claim

RACER = Path(__file__).with_name("racer.py")
ROUNDS = 30


def start(url: str, what: str, name: str) -> subprocess.Popen[str]:
    """Start a racer and wait until it has opened the store."""
    command = [sys.executable, str(RACER), url, what, name]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


@pytest.mark.timeout(30)
async def test_of_racing_processes_exactly_one_wins(any_url: str) -> None:
    store = open_store(any_url)
    await store.open()
    for n in range(ROUNDS):
        await store.claim(claim(call(f"shared k{n}", status="ready")))
    keys = "".join(f"k{n}\n" for n in range(ROUNDS))
    racers = [start(any_url, "claims", f"p{n}") for n in range(3)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(keys)
        racer.stdin.close()
    tally: Counter[str] = Counter()
    for racer in racers:
        with racer:
            assert racer.stdout is not None
            tally.update(word for line in racer.stdout for word in line.split())
        assert racer.returncode == 0
    assert (tally["won"], tally["lost"]) == (ROUNDS, 2 * ROUNDS)
    assert (tally["started"], tally["late"]) == (ROUNDS, 2 * ROUNDS)
    assert len(await store.list_calls("acme", limit=1000)) == 2 * ROUNDS
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
