"""The store's contract on every database."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from surehand.ports import Store
from surehand.storage import SqlStore, open_store
from surehand.testing.store_contract import Reopen, SharedStoreContract, StoreContract
from surehand.testing.store_time_contract import GivenTimeContract, OwnTimeContract


@asynccontextmanager
async def opening(url: str | Path) -> AsyncGenerator[Reopen]:
    """Give what opens stores, and close them all."""
    stores: list[SqlStore] = []

    async def reopen() -> Store:
        store = open_store(url)
        stores.append(store)
        await store.open()
        return store

    try:
        yield reopen
    finally:
        for store in stores:
            await store.close()


class TestSqliteInMemory(StoreContract, GivenTimeContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        async with opening("sqlite://") as reopen:
            yield await reopen()


class TestSqliteFile(SharedStoreContract, GivenTimeContract):
    @pytest.fixture
    async def reopen(self, tmp_path: Path) -> AsyncIterator[Reopen]:
        async with opening(f"sqlite:///{tmp_path}/store.db") as reopen:
            yield reopen

    @pytest.fixture
    async def store(self, reopen: Reopen) -> Store:
        return await reopen()


class TestPostgres(SharedStoreContract, OwnTimeContract):
    @pytest.fixture
    async def reopen(self, postgres_url: str) -> AsyncIterator[Reopen]:
        async with opening(postgres_url) as reopen:
            yield reopen

    @pytest.fixture
    async def store(self, reopen: Reopen) -> Store:
        return await reopen()
