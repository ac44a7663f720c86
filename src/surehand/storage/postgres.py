"""PostgreSQL by `psycopg`.

The tables are made in, and found by, the connection's `search_path`. Prepared statements and session settings need
a connection of one's own: a pooler between must not give each transaction another one.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError, StoreError
from .tables import VERSION_TABLE
from .tx import LostRaceError, Row, Statement, Trouble, Values

if TYPE_CHECKING:
    import psycopg

_DEFAULTS = {
    "application_name": "surehand",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    "tcp_user_timeout": "30000",
}
# Every query finds its rows by an index. Without the second setting, one that was prepared while the tables were
# empty scans them whole for as long as the connection lives, or until the server gathers statistics.
_SETTINGS = (
    b"SET lock_timeout = '5s'",
    b"SET enable_seqscan = off",
    b"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
_MIGRATION_LOCK = 0x5375_7265_6861_6E64
_RACES = frozenset({"23505", "40001", "40P01"})
"""Unique violation: another process inserted first. Serialization failure, deadlock."""
_DATABASE_CLASSES = ("08", "53", "57P", "58", "25006")
"""Connection lost, resources (such as a full disk) exhausted, shutdown, system error, read-only."""


class PostgresSession:
    """One connection, renewed when it is found dead before a transaction. See `tx.Session`."""

    dialect: Literal["postgresql"] = "postgresql"

    def __init__(self, url: str) -> None:
        self._psycopg = _psycopg()
        self._url = url
        self._committing = False
        self.name = _name(url)
        self._connect()

    def _connect(self) -> None:
        conninfo = self._psycopg.conninfo
        try:
            given = conninfo.conninfo_to_dict(self._url)
            self.connection: psycopg.Connection[Row] = self._psycopg.connect(
                self._url, autocommit=True, **{key: value for key, value in _DEFAULTS.items() if key not in given}
            )
            for setting in _SETTINGS:
                self.connection.execute(setting)
        except self._psycopg.Error as error:
            raise self._trouble(f"it cannot be reached: {_line(error)}", error) from error
        self._cursor = self.connection.cursor()

    def rows(self, statement: Statement, values: Values) -> list[Row]:
        """See `tx.Tx`."""
        self.write(statement, values)
        return self._cursor.fetchall()

    def change(self, statement: Statement, values: Values) -> int:
        """See `tx.Tx`."""
        self.write(statement, values)
        return self._cursor.rowcount

    def write(self, statement: Statement, values: Values) -> None:
        """See `tx.Tx`."""
        sql, take = statement.for_postgres
        try:
            self._cursor.execute(sql.encode(), take(values))
        except (ValueError, TypeError, OverflowError) as error:  # such as half of a surrogate pair
            raise StoreError(f"a value cannot be stored: {error}") from error

    def begin(self) -> None:
        """See `tx.Session`. Each statement sees what was committed before it."""
        self._run(b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")

    def begin_alone(self) -> None:
        """See `tx.SchemaSession`."""
        self.begin()
        self._cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))

    def _run(self, sql: bytes) -> None:
        """For what surely did nothing if the connection turns out to be dead: once more, on a new one."""
        try:
            self._cursor.execute(sql)
        except self._psycopg.Error:
            if not self.connection.closed:
                raise
            self._connect()
            self._cursor.execute(sql)

    def commit(self) -> None:
        """See `tx.Session`."""
        self._committing = True
        self._cursor.execute(b"COMMIT")
        if self._cursor.statusmessage != "COMMIT":
            raise StoreError("the transaction had failed")
        self._committing = False

    def rollback(self) -> None:
        """See `tx.Session`. A connection on which this fails is given up, and the server undoes it."""
        self._committing = False
        try:
            if not self.connection.closed and self.connection.info.transaction_status:
                self._cursor.execute(b"ROLLBACK")
        except self._psycopg.Error:
            self.close()

    def understand(self, error: Exception) -> Trouble:
        """See `tx.Session`."""
        if isinstance(error, LostRaceError):
            return Trouble("race", error)
        if not isinstance(error, self._psycopg.Error):
            return Trouble("write", error)
        if self.connection.closed:
            reason = "the connection was lost"
            if self._committing:
                reason += " during a commit: whether it took effect is not known"
            return Trouble("database", self._trouble(f"{reason}: {_line(error)}", error))
        state = str(getattr(error, "sqlstate", None) or "")
        trouble = self._trouble(_line(error), error)
        if state.startswith(_DATABASE_CLASSES):
            return Trouble("database", trouble)
        return Trouble("race" if state in _RACES else "write", trouble)

    def _trouble(self, reason: str, cause: Exception) -> StoreError:
        trouble = StoreError(f"the database {self.name} cannot be used: {reason}")
        trouble.__cause__ = cause
        return trouble

    def revision(self) -> str | None:
        """See `tx.SchemaSession`."""
        # By a query: `to_regclass` may answer from a cache, as it was before the wait in `begin_alone`.
        self._cursor.execute(
            "SELECT 1 FROM pg_catalog.pg_class WHERE relname = %s AND pg_catalog.pg_table_is_visible(oid)",
            (VERSION_TABLE,),
        )
        if not self._cursor.fetchall():
            return None
        self._cursor.execute(f"SELECT version_num FROM {VERSION_TABLE}".encode())  # noqa: S608
        return next((row[0] for row in self._cursor.fetchall()), None)

    def script(self, sql: str) -> None:
        """See `tx.SchemaSession`."""
        self._cursor.execute(sql.encode())

    def close(self) -> None:
        """See `tx.Session`."""
        with contextlib.suppress(self._psycopg.Error):
            self.connection.close()


class PostgresReader(PostgresSession):
    """A session that reads, one statement at a time; a read is simply done again on a new connection."""

    def rows(self, statement: Statement, values: Values) -> list[Row]:
        """See `tx.Tx`."""
        try:
            return super().rows(statement, values)
        except self._psycopg.Error:
            if not self.connection.closed:
                raise
            self._connect()
            return super().rows(statement, values)


class PostgresDriver:
    """A database by its URL. See `tx.Driver`."""

    readers = 2

    def __init__(self, url: str) -> None:
        _psycopg()
        _name(url)
        self._url = url

    def writer(self) -> PostgresSession:
        """See `tx.Driver`."""
        return PostgresSession(self._url)

    def reader(self) -> PostgresReader:
        """See `tx.Driver`."""
        return PostgresReader(self._url)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise ConfigError('PostgreSQL needs psycopg: pip install "surehand[postgres]"') from error
    return psycopg


def _name(url: str) -> str:
    """The database for messages: never with the password."""
    psycopg = _psycopg()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise ConfigError("the URL of the PostgreSQL database is not valid") from error
    return f"{parts.get('dbname', 'of the default name')} on {parts.get('host', 'localhost')}"


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
