"""The server that stands in for the providers: `@copilotkit/aimock`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.npm import install, node

HERE = Path(__file__).parent
STARTUP_S = 30.0
SHUTDOWN_S = 5.0


class AimockStartError(Exception):
    """The server is installed, but did not come up; the message holds its log."""


@dataclass(frozen=True, slots=True)
class Aimock:
    """The running server."""

    url: str

    def journal(self, test: str) -> list[dict[str, Any]]:
        """What was asked of it under the header `x-test-id`, oldest first."""
        answer = httpx2.get(f"{self.url}/__aimock/journal", params={"testId": test}, trust_env=False)
        return answer.raise_for_status().json()


@contextlib.contextmanager
def running_server(log: Path) -> Generator[Aimock]:
    """Installs what is needed, starts the server, gives it, and stops it again."""
    install(HERE)
    with log.open("wb") as output:
        server = subprocess.Popen(
            [node(), HERE / "server.mjs"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=HERE,
            start_new_session=True,
        )
    try:
        yield Aimock(_url(server, log))
    finally:
        assert server.stdin is not None
        server.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(SHUTDOWN_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _url(server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + STARTUP_S
    while True:
        said = log.read_text(encoding="utf-8", errors="replace")
        for line in said.splitlines(keepends=True):
            if line.startswith("serving on ") and line.endswith("\n"):
                return line.removeprefix("serving on ").strip()
        if server.poll() is not None or time.monotonic() > deadline:
            raise AimockStartError(f"aimock did not come up ({server.poll()}):\n{said}")
        time.sleep(0.02)
