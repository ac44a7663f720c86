"""What a transaction can do, and the statements it is given: the seam between the two databases and all else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, bindparam
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

Row: TypeAlias = "tuple[Any, ...]"
Values: TypeAlias = Mapping[str, Any]


class Now(ColumnElement[int]):
    """The time in microseconds: the parameter `now_us`, or the time of a database that several machines share."""

    inherit_cache = True
    type = BigInteger()


@compiles(Now)
def _given(element: Now, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(bindparam("now_us", type_=BigInteger), **options)


@compiles(Now, "postgresql")
def _of_the_server(element: Now, compiler: SQLCompiler, **options: Any) -> str:
    return "(extract(epoch from clock_timestamp()) * 1000000)::bigint"  # also later within a transaction


class Compiled(NamedTuple):
    """A statement as one driver takes it."""

    sql: str
    take: Callable[[Values], Row]
    """Picks the parameters in the order in which the text wants them."""


class Statement:
    """One statement for both databases, compiled for each when it is first used there.

    It runs on the driver itself: SQLAlchemy's execution costs several times the CPU of the row.
    """

    def __init__(self, clause: ClauseElement) -> None:
        self._clause = clause

    @cached_property
    def for_sqlite(self) -> Compiled:
        """As `apsw` takes it."""
        from sqlalchemy.dialects.sqlite.base import SQLiteDialect

        return self._compile(SQLiteDialect(paramstyle="qmark"))

    @cached_property
    def for_postgres(self) -> Compiled:
        """As `psycopg` takes it."""
        from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

        return self._compile(PGDialect_psycopg(paramstyle="format"))

    def _compile(self, dialect: Dialect) -> Compiled:
        compiled: Any = self._clause.compile(dialect=dialect)
        names: tuple[str, ...] = tuple(compiled.positiontup)
        # SQLAlchemy adds parameters of its own, such as an offset of 0.
        fixed = {name: compiled.params[name] for name in names if not compiled.binds[name].required}
        return Compiled(str(compiled), _picker(names, fixed))


def _picker(names: tuple[str, ...], fixed: Values) -> Callable[[Values], Row]:
    if fixed or len(names) < 2:
        return lambda values: tuple(fixed[name] if name in fixed else values[name] for name in names)
    return itemgetter(*names)


class Tx(Protocol):
    """An open transaction. What it runs is undone when the body it was handed to raises."""

    def rows(self, statement: Statement, values: Values) -> list[Row]:
        """Runs a query."""
        ...

    def change(self, statement: Statement, values: Values) -> int:
        """Runs an update or delete and tells how many rows it met."""
        ...

    def write(self, statement: Statement, values: Values) -> None:
        """Runs a statement that has nothing to tell."""
        ...


class LostRaceError(Exception):
    """Another process changed what this transaction had read: run it again."""


class Trouble(NamedTuple):
    """What an exception means for the writes that are not committed yet."""

    scope: Literal["write", "race", "database"]
    """`write`: that one cannot be done. `race`: it may be run again. `database`: none can be done now."""
    error: Exception
    """What their callers get."""


class Session(Tx, Protocol):
    """One connection, used by one thread."""

    def begin(self) -> None:
        """Starts a transaction that no other writer can make fail later, or that sees what others committed."""
        ...

    def commit(self) -> None:
        """Makes all since `begin` durable."""
        ...

    def rollback(self) -> None:
        """Undoes all since `begin`. Never raises."""
        ...

    def understand(self, error: Exception) -> Trouble:
        """Says what went wrong; the driver's own exceptions go no further."""
        ...

    def close(self) -> None:
        """Disconnects. Never raises."""
        ...


class SchemaSession(Session, Protocol):
    """A session that can also change the schema."""

    @property
    def dialect(self) -> Literal["sqlite", "postgresql"]:
        """As Alembic names it."""
        ...

    def begin_alone(self) -> None:
        """Starts a transaction that only one process at a time can be in."""
        ...

    def revision(self) -> str | None:
        """Of the schema, as stored; `None` in an empty database."""
        ...

    def script(self, sql: str) -> None:
        """Runs several statements."""
        ...


class Driver(Protocol):
    """One database behind a store."""

    @property
    def readers(self) -> int:
        """How many connections read; 0 if the writer has to."""
        ...

    def writer(self) -> SchemaSession:
        """Connects to write.

        Raises:
            StoreError: It cannot.
        """
        ...

    def reader(self) -> Session:
        """Connects to read what is committed."""
        ...
