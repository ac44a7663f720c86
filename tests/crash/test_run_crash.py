"""Processes that drive a run, killed with -9 anywhere: another goes on to the same end, and nothing happens twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.crash.driver import LEASE_S, Shop

ROOT = Path(__file__).parents[2]
WHERE = [
    "after-create",
    *(f"{when}-save-{number}" for number in range(1, 8) for when in ("before", "after")),
    "handler-before-effect",
    "handler-after-effect",
    "waiting",
]

pytestmark = pytest.mark.timeout(30)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def drive(folder: Path, where: str, store: str, lease_s: float = LEASE_S) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.run_driver", str(folder), where],
        cwd=ROOT,
        env={**os.environ, "LEASE_S": str(lease_s), **({"STORE": store} if store else {})},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("where", WHERE)
def test_killed_anywhere_the_run_comes_to_the_same_end(tmp_path: Path, where: str, store: str) -> None:
    code, out, err = drive(tmp_path, where, store)
    if code != -signal.SIGKILL:
        # The run has fewer saves than the highest number here: then it simply ended.
        assert (code, json.loads(out)["reason"]) == (0, "completed"), err
    time.sleep(LEASE_S)  # the lease of the dead process; no hope is involved
    code, out, err = drive(tmp_path, "nowhere", store)
    assert code == 0, err
    ended = json.loads(out.splitlines()[-1])
    assert (ended["reason"], ended["text"]) == ("completed", "All refunded.")
    assert sorted(amount for _, amount in Shop(tmp_path / "shop.db").refunds()) == [500, 600, 5000]
    asked = [int(line) for line in (tmp_path / "asked").read_text().split()]
    assert len(asked) == len(set(asked)), f"a stored turn was asked again: {asked}"


@pytest.mark.parametrize(
    ("where", "ends"),
    [
        ("handler-before-effect", {"0": {"error", "unknown"}}),
        ("handler-after-effect", {"0": {"ok", "unknown"}}),
        ("waiting", {"0": {"ok"}, "1": {"cancelled"}}),
    ],
)
def test_a_stop_within_the_lease_of_a_killed_driver_ends_the_run(
    tmp_path: Path, where: str, ends: dict[str, set[str]], store: str
) -> None:
    """Nobody resumes it: any engine ends it when the lease is over, and says what is known of its calls."""
    code, _, err = drive(tmp_path, where, store, lease_s=1)
    assert code == -signal.SIGKILL, err
    code, out, err = drive(tmp_path, "cancel", store, lease_s=1)
    assert code == 0, err
    first, told = out.splitlines()
    assert first in ("running", "waiting")
    ended = json.loads(told)
    assert (ended["last"], ended["questions"]) == (["run.ended", "cancelled"], 0)
    assert ended["ends"].keys() == ends.keys()
    assert all(ended["ends"][position] in may for position, may in ends.items())
