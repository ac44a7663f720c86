"""The parameters of statements, bound by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Integer, Table, Text, bindparam, insert

from .tx import Statement


def text(name: str) -> Any:
    """A text."""
    return bindparam(name, type_=Text)


def number(name: str) -> Any:
    """A whole number of up to 64 bits."""
    return bindparam(name, type_=BigInteger)


def limit() -> Any:
    """How many rows at most: `limit`."""
    return bindparam("limit", type_=Integer)


def inserted(table: Table) -> Statement:
    """One row with all its columns, each bound by its name."""
    return Statement(insert(table).values({column.name: bindparam(column.name) for column in table.columns}))
