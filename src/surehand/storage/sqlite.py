"""SQLite by `apsw`, which brings a SQLite of its own.

Python's module `sqlite3` must never open the file: before 3.51.3, SQLite can corrupt a database in WAL mode that
has several connections, and Python's is often older.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any, Literal

import apsw

from ..errors import StoreError
from .tables import VERSION_TABLE
from .tx import LostRaceError, Row, Statement, Trouble, Values

BUSY_TIMEOUT_S = 5.0
_CACHED_STATEMENTS = 200

_DATABASE_TROUBLE: dict[type[apsw.Error], str] = {
    apsw.BusyError: "another process keeps it locked",
    apsw.LockedError: "another connection keeps it locked",
    apsw.FullError: "the disk is full",
    apsw.ReadOnlyError: "it is read-only",
    apsw.NotADBError: "it is not a SQLite database",
    apsw.CorruptError: "it is damaged",
    apsw.CantOpenError: "it cannot be opened",
    apsw.IOError: "reading or writing it failed",
    apsw.PermissionsError: "access is denied",
    apsw.NoMemError: "memory ran out",
}


class SqliteSession:
    """One connection. See `tx.Session`."""

    dialect: Literal["sqlite"] = "sqlite"

    def __init__(self, path: Path | None, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Connects.

        Args:
            path: `None` for a database in memory that only this session has.
            busy_timeout_s: How long to wait for other processes.
        """
        self.name = "in memory" if path is None else str(path)
        self._busy_timeout_s = busy_timeout_s
        try:
            self.connection: Any = _connect(path, busy_timeout_s)  # its stubs name types of Python 3.12
        except (OSError, apsw.Error) as error:
            raise self.understand(error).error from error
        self._cursor: Any = self.connection.cursor()

    def rows(self, statement: Statement, values: Values) -> list[Row]:
        """See `tx.Tx`."""
        self.write(statement, values)
        return self._cursor.fetchall()

    def change(self, statement: Statement, values: Values) -> int:
        """See `tx.Tx`."""
        self.write(statement, values)
        return self.connection.changes()

    def write(self, statement: Statement, values: Values) -> None:
        """See `tx.Tx`."""
        sql, take = statement.for_sqlite
        try:
            self._cursor.execute(sql, take(values))
        except (ValueError, TypeError, OverflowError) as error:  # such as half of a surrogate pair
            raise StoreError(f"a value cannot be stored: {error}") from error

    def begin(self) -> None:
        """See `tx.Session`. Takes the write lock at once: a transaction that read first could not get it later."""
        self._cursor.execute("BEGIN IMMEDIATE")

    def begin_alone(self) -> None:
        """See `tx.SchemaSession`."""
        self.begin()

    def commit(self) -> None:
        """See `tx.Session`."""
        self._cursor.execute("COMMIT")

    def rollback(self) -> None:
        """See `tx.Session`."""
        with contextlib.suppress(apsw.Error):
            if self.connection.in_transaction:  # SQLite itself undoes everything after some errors
                self._cursor.execute("ROLLBACK")

    def understand(self, error: Exception) -> Trouble:
        """See `tx.Session`."""
        if isinstance(error, LostRaceError):
            return Trouble("race", error)
        if isinstance(error, OSError):
            return Trouble("database", self._trouble(error.strerror or str(error), error))
        if not isinstance(error, apsw.Error):
            return Trouble("write", error)
        for kind, reason in _DATABASE_TROUBLE.items():
            if isinstance(error, kind):
                waited = f" (waited {self._busy_timeout_s:g} s)" if kind is apsw.BusyError else ""
                return Trouble("database", self._trouble(reason + waited, error))
        return Trouble("write", self._trouble(str(error), error))

    def _trouble(self, reason: str, cause: Exception) -> StoreError:
        trouble = StoreError(f"the database {self.name} cannot be used: {reason}")
        trouble.__cause__ = cause
        return trouble

    def revision(self) -> str | None:
        """See `tx.SchemaSession`."""
        self._cursor.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (VERSION_TABLE,))
        if not self._cursor.fetchall():
            return None
        self._cursor.execute(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608
        return next((row[0] for row in self._cursor.fetchall()), None)

    def script(self, sql: str) -> None:
        """See `tx.SchemaSession`."""
        self._cursor.execute(sql).fetchall()  # a statement that returns a row stops the script until it is fetched

    def close(self) -> None:
        """See `tx.Session`."""
        with contextlib.suppress(apsw.Error):
            self.connection.close()


def _connect(path: Path | None, busy_timeout_s: float) -> Any:
    if path is None:
        return _tuned(apsw.Connection(":memory:", statementcachesize=_CACHED_STATEMENTS))
    if not path.parent.is_dir():
        raise FileNotFoundError(None, f"the folder {path.parent} does not exist")
    # SQLite would make it readable for others. The files that it adds get the mode of this one.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
    connection: Any = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=_CACHED_STATEMENTS
    )
    try:
        connection.set_busy_timeout(round(busy_timeout_s * 1000))
        _use_wal(connection, time.monotonic() + busy_timeout_s)
        # What is committed survives a power cut: that is what FULL costs a sync of the disk for. macOS needs to be
        # told twice.
        connection.pragma("synchronous", "FULL")
        connection.pragma("fullfsync", True)
        connection.pragma("journal_size_limit", 64 << 20)
        return _tuned(connection)
    except BaseException:
        connection.close()
        raise


def _tuned(connection: Any) -> Any:
    # Else SQLite plans a query again for each value that might make another partial index usable: 20 times the cost.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def _use_wal(connection: Any, deadline: float) -> None:
    """Of several processes that do this to a new file at once, SQLite tells some that it is locked, at once."""
    while True:
        try:
            mode = connection.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
            continue
        if mode != "wal":
            raise OSError(None, "its file system does not support what several processes need (WAL)")
        return


class SqliteDriver:
    """A file, or memory. See `tx.Driver`."""

    def __init__(self, path: Path | None, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self.readers = 0 if path is None else 2

    def writer(self) -> SqliteSession:
        """See `tx.Driver`."""
        return SqliteSession(self._path, busy_timeout_s=self._busy_timeout_s)

    def reader(self) -> SqliteSession:
        """See `tx.Driver`."""
        session = self.writer()
        session.connection.pragma("query_only", True)
        return session
