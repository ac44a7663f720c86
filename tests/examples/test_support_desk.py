"""The demo as users start it: real processes, with and without a terminal."""

import json
import os
import pty
import select
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "support_desk"
SMALL = [("acme", "A-10421", 1, 2500), ("acme", "A-10421", 2, 4000)]
LARGE = ("acme", "A-10388", 1, 18900)
MODULE = ["-m", "examples.support_desk"]

RESUME = str(Path(__file__).with_name("resume.py"))

pytestmark = pytest.mark.timeout(30)


def refunds(folder: Path) -> list[tuple[object, ...]]:
    """Read what the shop paid, from its own books."""
    connection = sqlite3.connect(folder / "shop.db")
    try:
        return list(connection.execute("SELECT tenant, order_id, refund_no, amount_cents FROM refunds ORDER BY id"))
    finally:
        connection.close()


def kettle(folder: Path) -> str:
    """Read how the order stands that is to be cancelled."""
    connection = sqlite3.connect(folder / "shop.db")
    try:
        return connection.execute("SELECT status FROM orders WHERE order_id = 'A-10455'").fetchone()[0]
    finally:
        connection.close()


def environment(**extra: str) -> dict[str, str]:
    """Give a process what a user has, without what this test run happens to set for colours."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**kept, "TERM": "xterm-256color", **extra}


def without_terminal(command: list[str], cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run to the end with nobody to ask."""
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


class Terminal:
    """A process with a terminal of its own."""

    def __init__(self, command: list[str], **extra: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=environment(**extra), stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.text = ""

    def read_until(self, wanted: str, times: int = 1) -> None:
        """Read what it prints until `wanted` was printed so often."""
        deadline = time.monotonic() + 20
        while self.text.count(wanted) < times:
            assert time.monotonic() < deadline, self.text
            assert self._read(), self.text

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._master, text.encode())

    def answer(self, *texts: str) -> int:
        """Answer its questions one by one, then read to the end; gives the exit code."""
        for number, text in enumerate(texts, 1):
            self.read_until("[y/N]", number)
            self.type(text)
        return self.end()

    def end(self) -> int:
        """Read to the end; gives the exit code."""
        while self._read():
            pass
        os.close(self._master)
        return self.process.wait(20)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 20)
        try:
            piece = os.read(self._master, 65536) if ready else b""
        except OSError:  # how Linux says that the other end is closed
            piece = b""
        self.text += piece.decode()
        return bool(piece)


def test_without_a_terminal_the_finance_manager_approves(tmp_path: Path) -> None:
    done = without_terminal([*MODULE, "--dir", str(tmp_path / "desk")])
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "The run ended: completed" in lines
    assert "audit: verified" in lines
    assert "refunds: exactly the 3 that should exist" in lines
    assert "There is no terminal to ask, so a second configured caller approves: fiona" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert refunds(tmp_path / "desk") == [*SMALL, LARGE]
    assert kettle(tmp_path / "desk") == "cancelled"
    assert len(list((tmp_path / "desk" / "outbox").glob("*.eml"))) == 1


def test_yes_at_the_terminal(tmp_path: Path) -> None:
    terminal = Terminal([*MODULE, "--dir", str(tmp_path / "desk")])
    terminal.read_until("[y/N]")
    assert "At this terminal you act as fiona" in terminal.text
    assert "18900" in terminal.text
    assert refunds(tmp_path / "desk") == SMALL
    assert terminal.answer("y\n", "y\n") == 0, terminal.text
    assert "audit: verified" in terminal.text
    assert "\x1b[" in terminal.text
    assert refunds(tmp_path / "desk") == [*SMALL, LARGE]
    assert kettle(tmp_path / "desk") == "cancelled"


@pytest.mark.parametrize("typed", ["n\n", "\n", "yess\n", "\x04"], ids=["no", "enter", "unclear", "end-of-input"])
def test_anything_but_yes_is_no(tmp_path: Path, typed: str) -> None:
    terminal = Terminal([*MODULE, "--dir", str(tmp_path / "desk")], NO_COLOR="1")
    assert terminal.answer(typed, typed) == 0, terminal.text
    assert "The run ended: completed" in terminal.text
    assert "audit: verified" in terminal.text
    assert "a person said no" in terminal.text
    assert "\x1b[3" not in terminal.text
    assert refunds(tmp_path / "desk") == SMALL
    assert kettle(tmp_path / "desk") == "paid"


@pytest.mark.parametrize(
    ("chair", "status"), [("y\n", "paid"), ("n\n", "cancelled")], ids=["chair-only", "kettle-only"]
)
def test_each_question_has_its_own_answer(tmp_path: Path, chair: str, status: str) -> None:
    terminal = Terminal([*MODULE, "--dir", str(tmp_path / "desk")])
    assert terminal.answer(chair, "n\n" if chair == "y\n" else "y\n") == 0, terminal.text
    assert refunds(tmp_path / "desk") == ([*SMALL, LARGE] if chair == "y\n" else SMALL)
    assert kettle(tmp_path / "desk") == status


@pytest.mark.parametrize("answered", [0, 1])
def test_killed_while_it_waits_another_process_resumes_it(tmp_path: Path, answered: int) -> None:
    folder = tmp_path / "desk"
    terminal = Terminal([*MODULE, "--dir", str(folder)])
    for number in range(answered):
        terminal.read_until("[y/N]", number + 1)
        terminal.type("y\n")
    terminal.read_until("[y/N]", answered + 1)
    paid = [*SMALL, LARGE][: 2 + answered]
    deadline = time.monotonic() + 10
    while refunds(folder) != paid:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    terminal.process.kill()
    assert terminal.end() == -signal.SIGKILL
    done = without_terminal([RESUME, str(folder)])
    assert done.stdout.split() == ["completed", "verified"], done.stdout + done.stderr
    assert refunds(folder) == [*SMALL, LARGE]
    assert kettle(folder) == "cancelled"
    assert len(list((folder / "outbox").glob("*.eml"))) == 1


def test_interrupted_at_the_question_it_leaves_nothing(tmp_path: Path) -> None:
    terminal = Terminal([*MODULE, "--dir", str(tmp_path / "desk")])
    terminal.read_until("[y/N]")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text
    assert not (tmp_path / "desk").exists()


def test_runs_again_and_again_in_a_folder_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(EXAMPLE / "demo.py")],
            cwd=tmp_path,
            env=environment(TMPDIR=str(tmp_path)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert str(tmp_path) in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_does_not_touch_a_folder_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    done = without_terminal([*MODULE, "--dir", str(tmp_path)])
    assert done.returncode == 2
    assert "not an empty folder" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]


def test_works_wherever_its_folder_is_copied_to(tmp_path: Path) -> None:
    copy = tmp_path / "copied-here"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sys; sys.path.insert(0, sys.argv[1]); import demo; sys.exit(demo.run(['--dir', sys.argv[2]]))"
    done = without_terminal(["-W", "error", "-c", code, str(copy), str(tmp_path / "desk")], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert refunds(tmp_path / "desk") == [*SMALL, LARGE]


def test_the_commands_that_it_prints_work(tmp_path: Path) -> None:
    done = without_terminal([*MODULE, "--dir", str(tmp_path / "desk")])
    commands = [shlex.split(line)[1:] for line in done.stdout.splitlines() if line.startswith("  surehand --project")]
    code = "import sys, json, surehand.cli.app as cli; print([cli.run(command) for command in json.loads(sys.argv[1])])"
    ran = without_terminal(["-c", code, json.dumps(commands)], cwd=tmp_path)
    assert "[0, 0, 0, 0, 3, 0, 0]" in ran.stdout.splitlines(), ran.stdout + ran.stderr
    assert "fiona said approve" in ran.stdout
    assert "status: pending" in ran.stdout
    assert "audit: verified" in ran.stdout
    assert refunds(tmp_path / "desk") == [*SMALL, LARGE]


def test_an_answer_that_the_script_does_not_expect_fails_loudly(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    script = copy / "model.json"
    script.write_text(script.read_text().replace("Only 7480 cents", "Only 7479 cents"))
    done = without_terminal([str(copy / "demo.py"), "--dir", str(tmp_path / "desk")], cwd=tmp_path)
    assert done.returncode == 1
    assert "other than its script expects" in done.stderr
    assert "Only 7480 cents" in done.stderr
    assert "Traceback" not in done.stderr
