"""URLs, and what opening a database that cannot be used says."""

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from surehand.errors import ConfigError, StoreError
from surehand.storage import SqlStore, open_store
from surehand.storage.sqlite import SqliteDriver, SqliteSession
from surehand.testing.store_records import call, claim


async def opened(store: SqlStore) -> SqlStore:
    await store.open()
    return store


async def refusal(store: SqlStore) -> str:
    """Give the message of the error that opening raises."""
    with pytest.raises(StoreError) as refused:
        await store.open()
    with pytest.raises(StoreError):
        await store.list_calls("acme")
    return str(refused.value)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        pytest.param("sqlite:///store.db", "store.db", id="relative"),
        pytest.param("sqlite:///{folder}/store.db", "store.db", id="absolute"),
        pytest.param("sqlite:///sub dir%20/ä.db", "sub dir%20/ä.db", id="taken-as-written"),
    ],
)
async def test_sqlite_urls(url: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    store = open_store(url.format(folder=tmp_path))
    monkeypatch.chdir("/")
    await (await opened(store)).close()
    assert (tmp_path / file).exists()


async def test_a_path_and_its_url_are_one_database(tmp_path: Path) -> None:
    first = await opened(open_store(tmp_path / "store.db"))
    second = await opened(open_store(f"sqlite:///{tmp_path}/store.db"))
    await first.claim(claim(call("c1")))
    assert await second.get_call("acme", "c1") is not None
    await first.close()
    await second.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
async def test_in_memory_each_store_is_its_own(url: str) -> None:
    first, second = await opened(open_store(url)), await opened(open_store(url))
    await first.claim(claim(call("c1")))
    assert await second.list_calls("acme") == []
    await first.close()
    await second.close()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite://store.db", "sqlite:///relative"),
        ("sqlite:///store.db?mode=ro", "sqlite:///relative"),
        ("store.db", "starts with sqlite://"),
        ("mysql://me:secret@host/db", "not with 'mysql'"),
        ("postgresql+psycopg://me:secret@host/db", "postgresql://"),
        ("postgresql://me:secret@host/db?nonsense=1", "not valid"),
    ],
)
def test_urls_that_are_none(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as error:
        open_store(url)
    assert "secret" not in str(error.value)


def test_postgres_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r'pip install "surehand\[postgres\]"'):
        open_store("postgresql://localhost/db")


async def test_postgres_that_is_not_there(tmp_path: Path) -> None:
    message = await refusal(open_store(f"postgresql://me:secret@/data?host={tmp_path}"))
    assert "cannot be reached" in message
    assert f"data on {tmp_path}" in message
    assert "secret" not in message


async def test_a_new_file_is_only_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await opened(open_store(path))
    await store.claim(claim(call("c1")))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in os.scandir(tmp_path)}
    assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)
    await store.close()
    os.chmod(path, 0o640)
    await (await opened(open_store(path))).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_commit_is_on_the_disk(tmp_path: Path) -> None:
    session = SqliteSession(tmp_path / "store.db")
    pragmas = ("journal_mode", "synchronous", "fullfsync")
    assert [session.connection.pragma(name) for name in pragmas] == ["wal", 2, 1]
    session.close()


async def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    message = await refusal(open_store(tmp_path / "no" / "store.db"))
    assert message == (f"the database {tmp_path}/no/store.db cannot be used: the folder {tmp_path}/no does not exist")


async def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    assert "Is a directory" in await refusal(open_store(tmp_path))


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and long enough for a header " * 20, encoding="utf-8")
    before = path.read_bytes()
    assert "is not a SQLite database" in await refusal(open_store(path))
    assert path.read_bytes() == before


async def test_a_database_that_others_keep_locked(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await opened(SqlStore(SqliteDriver(path, busy_timeout_s=0.05)))
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"another process keeps it locked \(waited 0.05 s\)"):
        await store.claim(claim(call("c1")))
    assert await store.get_call("acme", "c1") is None
    other.execute("ROLLBACK")
    assert await store.claim(claim(call("c1"))) is None
    other.close()
    await store.close()


async def test_a_database_locked_before_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE theirs (x); BEGIN EXCLUSIVE")
    assert "keeps it locked" in await refusal(SqlStore(SqliteDriver(path, busy_timeout_s=0.05)))
    other.close()
    await (await opened(open_store(path))).close()


async def test_a_read_that_fails(any_url: str) -> None:
    store = await opened(open_store(any_url))
    session: Any = await store._writer.submit(lambda tx: tx)
    session.script("ALTER TABLE surehand_calls RENAME TO hidden")
    with pytest.raises(StoreError, match="surehand_calls"):
        await store.get_call("acme", "c1")
    session.script("ALTER TABLE hidden RENAME TO surehand_calls")
    assert await store.get_call("acme", "c1") is None
    await store.close()


@pytest.mark.parametrize(
    ("pragma", "value", "usual", "says"),
    [("max_page_count", 1, 1 << 20, "the disk is full"), ("query_only", 1, 0, "it is read-only")],
)
async def test_a_write_that_fails_leaves_nothing_and_later_ones_work(
    pragma: str, value: int, usual: int, says: str, tmp_path: Path
) -> None:
    store = await opened(open_store(tmp_path / "store.db"))
    session: Any = await store._writer.submit(lambda tx: tx)
    session.connection.pragma(pragma, value)
    large = claim(call("c1", arguments=bytes(1 << 20)), rows=1)
    small = claim(call("c2"))
    results = await asyncio.gather(store.claim(large), store.claim(small), return_exceptions=True)
    assert [says in str(result) for result in results] == [True, True]
    assert await store.list_audit("acme") == await store.list_calls("acme") == []
    session.connection.pragma(pragma, usual)
    assert await store.claim(large) is None
    await store.close()


async def test_a_database_newer_than_the_package(any_url: str) -> None:
    store = await opened(open_store(any_url))
    await store.close()
    session = store._driver.writer()
    session.script("UPDATE surehand_version SET version_num = '9999'")
    session.close()
    assert "schema 9999, which is newer than this version of surehand knows" in await refusal(store)


@pytest.mark.timeout(30)
def test_opening_a_current_database_imports_no_alembic(any_url: str) -> None:
    script = (
        "import asyncio, sys; from surehand.storage import open_store\n"
        "async def main():\n"
        f"    store = open_store({any_url!r})\n"
        "    await store.open()\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
        "print('alembic' in sys.modules)"
    )
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in "12"]
    assert [run.stdout.strip() for run in runs] == ["True", "False"]
