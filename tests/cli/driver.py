"""A small real project, and the real program driven on it as a process."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("surehand")

PROJECT = """\
store = "sqlite:///state.db"
policies = "policies"
tools = ["desk"]

[callers.alice]
tenant = "acme"
scopes = ["desk:use"]
agent = "desk-bot"
environment = "test"

[callers.bob]
tenant = "acme"
roles = ["finance", "auditor", "operator"]
scopes = ["desk:use"]

[callers.eve]
tenant = "other"
roles = ["finance", "auditor", "operator"]
"""

POLICY = """\
@id("pay-large") @approvers("finance") @reason("payments over 100.00 need finance")
forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.cents > 10000 };
"""

TOOLS = '''\
import asyncio
from pathlib import Path
from typing import Annotated

import surehand as sh

HERE = Path(__file__).parent


@sh.tool(read_only=True, permissions=["desk:use"])
def echo(text: str) -> str:
    """Gives [bold]text[/bold] back."""
    return text


@sh.tool(read_only=True, permissions=["desk:use"])
def show() -> str:
    """Is named like a command."""
    return "shown"


@sh.tool(read_only=True, permissions=["vault:open"])
def vault() -> str:
    """Is hidden."""
    return ""


def look(arguments, key):
    return sh.Done({"paid": 7}) if (HERE / "found").exists() else sh.StillUnknown()


@sh.tool(permissions=["desk:use"], key=["order"], status_check=look)
def pay(order: str, cents: int) -> dict[str, object]:
    """Pays money."""
    if order == "lost":
        raise sh.OutcomeUnknown("gone")
    return {"paid": cents}


@sh.tool(permissions=["desk:use"])
async def slow(order: str, *, progress: Annotated[object, sh.Injected("progress")]) -> str:
    """Takes long."""
    progress("[red]half way")
    (HERE / "started").touch()
    await asyncio.sleep(30)
    return "done"
'''


@dataclass(frozen=True)
class Ran:
    """How the program ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document of stdout."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Project:
    """A project on disk."""

    folder: Path

    def run(self, *args: str, stdin: str = "", **env: str) -> Ran:
        """Runs `surehand` in the project's folder, without a terminal."""
        ended = subprocess.run(
            [PROGRAM, *args],
            cwd=self.folder,
            env=environment(**env),
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        assert "Traceback" not in ended.stdout + ended.stderr
        return Ran(ended.returncode, ended.stdout, ended.stderr)

    def json(self, *args: str, code: int = 0) -> Any:
        """Runs a command that must end with `code`, and gives its document."""
        ran = self.run(*args, "--json")
        assert ran.code == code, ran
        return ran.document

    def start(self, *args: str) -> "subprocess.Popen[str]":
        """Starts `surehand` and returns at once."""
        return subprocess.Popen(
            [PROGRAM, *args],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def on_terminal(self, *args: str, answers: Sequence[tuple[str, str]] = (), **env: str) -> tuple[int, str]:
        """Runs `surehand` on a terminal; types each answer when its question has appeared. `^C` interrupts."""
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        process = subprocess.Popen(
            [PROGRAM, *args],
            cwd=self.folder,
            env=environment(**{"TERM": "xterm-256color", **env}),
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        shown, left = "", list(answers)
        deadline = time.monotonic() + 60
        while (chunk := _read(outer, deadline)) is not None:
            shown += chunk
            if left and left[0][0] in shown:
                answer = left.pop(0)[1]
                if answer == "^C":
                    process.send_signal(signal.SIGINT)
                else:
                    os.write(outer, answer.encode())
        os.close(outer)
        assert "Traceback" not in shown
        return process.wait(timeout=10), shown.replace("\r\n", "\n")


def _read(terminal: int, deadline: float) -> str | None:
    ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
    try:
        return (os.read(terminal, 65536).decode(errors="replace") or None) if ready else None
    except OSError:  # how Linux says that the other side is closed
        return None


def environment(**more: str) -> dict[str, str]:
    """What the program inherits: nothing that changes how it prints."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "TZ": "Europe/Berlin", **more}


def make(folder: Path) -> Project:
    """Writes the project."""
    (folder / "policies").mkdir(parents=True)
    (folder / "surehand.toml").write_text(PROJECT, encoding="utf-8")
    (folder / "desk.py").write_text(TOOLS, encoding="utf-8")
    (folder / "policies" / "pay.cedar").write_text(POLICY, encoding="utf-8")
    return Project(folder)
