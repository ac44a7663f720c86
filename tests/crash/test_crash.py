"""Real processes killed with -9 at every boundary of a call. No refund is ever made twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.driver import LEASE_S, Shop

BEFORE_EFFECT = ["before-claim", "after-claim", "handler-before-effect"]
AFTER_EFFECT = ["handler-after-effect", "before-settle", "after-settle", "before-record", "after-record"]
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(30)


def start(folder: Path, where: str = "nowhere", mode: str = "call", store: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.driver", str(folder), where, mode],
        cwd=ROOT,
        env={**os.environ, **({"STORE": store} if store else {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """What each of its calls gave."""
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def kill(folder: Path, where: str, mode: str = "call", store: str = "") -> None:
    process = start(folder, where, mode, store)
    out, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGKILL, (out, err)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.mark.parametrize("mode", ["call", "ask"])
@pytest.mark.parametrize("where", [*BEFORE_EFFECT, *AFTER_EFFECT])
def test_killed_anywhere_it_happens_once(tmp_path: Path, where: str, mode: str, store: str) -> None:
    if mode == "ask":
        where = where.replace("claim", "start")
    kill(tmp_path, where, mode, store)
    shop = Shop(tmp_path / "shop.db")
    happened = len(shop.refunds())
    assert happened == (1 if where in AFTER_EFFECT else 0)
    time.sleep(LEASE_S)  # the lease of the dead process; no hope is involved
    result, again = finish(start(tmp_path, mode=f"{mode}-twice", store=store))
    assert (result["status"], result["content"]) == ("ok", "refunded 500")
    assert (again["status"], again["content"], again["replayed"]) == ("ok", "refunded 500", True)
    assert [amount for _, amount in shop.refunds()] == [500]


@pytest.mark.parametrize("where", ["after-claim", "handler-before-effect", "handler-after-effect", "before-settle"])
def test_without_a_status_check_it_stays_unknown(tmp_path: Path, where: str, store: str) -> None:
    kill(tmp_path, where, "unchecked", store)
    shop = Shop(tmp_path / "shop.db")
    before = len(shop.refunds())
    time.sleep(LEASE_S)
    results = finish(start(tmp_path, mode="unchecked-twice", store=store))
    assert [(result["status"], result["code"]) for result in results] == [("unknown", "TOOL_OUTCOME_UNKNOWN")] * 2
    assert len(shop.refunds()) == before


def test_within_the_lease_the_call_counts_as_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASE_S", "600")
    kill(tmp_path, "handler-after-effect")
    (result,) = finish(start(tmp_path))
    assert result["code"] == "TOOL_DUPLICATE_REQUEST"
    assert len(Shop(tmp_path / "shop.db").refunds()) == 1


def test_two_processes_resume_one_approved_call(tmp_path: Path, store: str) -> None:
    (waiting,) = finish(start(tmp_path, mode="ask-leave", store=store))
    assert waiting["status"] == "pending"
    racers = [start(tmp_path, mode=f"ask-resume:{waiting['call_id']}", store=store) for _ in range(2)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    results = [result for racer in racers for result in finish(racer)]
    assert [result["status"] for result in results] == ["ok", "ok"]
    assert [result["content"] for result in results] == ["refunded 500", "refunded 500"]
    assert len(Shop(tmp_path / "shop.db").refunds()) == 1
