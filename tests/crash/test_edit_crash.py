"""A process killed with -9 around an edit leaves the old question or the new one, whole, and its call runs once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.driver import Shop
from tests.crash.test_crash import ROOT

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def run(folder: Path, where: str, store: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({"STORE": store} if store else {})}
    command = [sys.executable, "-m", "tests.crash.edit_driver", str(folder), where]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize(
    ("where", "edited"),
    [("before-edit", False), ("during-edit:0", None), ("during-edit:0.002", None), ("after-edit", True)],
)
def test_killed_around_an_edit(tmp_path: Path, store: str, where: str, edited: bool | None) -> None:
    killed = run(tmp_path, where, store)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    finished = run(tmp_path, "", store)
    assert finished.returncode == 0, finished.stderr
    status, edited_by, replayed, edits = json.loads(finished.stdout)
    assert (status, replayed) == ("ok", True)
    assert edited in (None, edited_by == "fiona")
    assert edits == (1 if edited_by else 0)
    assert [amount for _, amount in Shop(tmp_path / "shop.db").refunds()] == [300 if edited_by else 500]
