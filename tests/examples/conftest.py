"""A project folder of the support desk, fresh for each test, and its tools imported from there."""

import importlib
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import surehand as sh
from examples.support_desk.perform import prepare
from surehand.settings import read_project


def _forget() -> None:
    """Drop the project's modules: each test has its own, and they find the database beside themselves."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "desk"]:
        del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Make a project folder with a fresh shop in it."""
    _forget()
    prepare(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    _forget()


@pytest.fixture
def callers(folder: Path) -> Mapping[str, sh.Caller]:
    """Read who the project knows."""
    return read_project(folder / "surehand.toml")[0].callers


@dataclass
class Desk:
    """The project's modules."""

    shop: ModuleType
    orders: ModuleType
    refunds: ModuleType
    customers: ModuleType

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Read the shop's database."""
        with self.shop.reading() as connection:
            return [tuple(row) for row in connection.execute(sql, values)]

    @property
    def refunded(self) -> list[tuple[Any, ...]]:
        """Every refund that was paid."""
        return self.rows("SELECT tenant, order_id, refund_no, amount_cents FROM refunds ORDER BY id")


@pytest.fixture
def desk(folder: Path) -> Desk:
    """Import the tools from the project folder."""
    found = Desk(*(importlib.import_module(f"desk.{name}") for name in ("shop", "orders", "refunds", "customers")))
    assert folder / "shop.db" == found.shop.DATABASE
    return found


@pytest.fixture
async def engine(folder: Path, desk: Desk) -> AsyncGenerator[sh.Engine]:
    """Open the project."""
    async with sh.open_project(folder / "surehand.toml") as opened:
        yield opened
