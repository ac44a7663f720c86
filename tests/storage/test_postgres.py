"""What only PostgreSQL does: connections are lost, transactions collide."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from surehand.errors import StoreError
from surehand.ports import Existing
from surehand.storage import SqlStore, open_store
from surehand.storage.postgres import PostgresSession
from surehand.storage.tx import Trouble
from surehand.testing.store_records import NOW_US, call, claim, fact, move, question
from surehand.testing.store_run_contract import event, run, saving, take, turn


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[SqlStore]:
    store = open_store(postgres_url)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def admin(postgres_url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as admin:
        yield admin


async def cut_off(admin: psycopg.AsyncConnection) -> None:
    """End all other connections to this database, and wait until they are gone."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    await admin.execute(f"SELECT pg_terminate_backend(pid, 4000) {others}".encode())


async def run_sql(store: SqlStore, sql: str) -> None:
    """Run a statement on the writer's connection."""

    def body(tx: Any) -> None:
        tx.connection.execute(sql)

    await store._writer.submit(body)


async def test_a_connection_lost_while_idle_is_not_noticed(store: SqlStore, admin: psycopg.AsyncConnection) -> None:
    await store.claim(claim(call("c1")))
    await cut_off(admin)
    assert await store.claim(claim(call("c2"))) is None
    assert len(await store.list_calls("acme")) == 2


async def test_a_connection_lost_amid_a_write_fails_that_write(store: SqlStore, postgres_url: str) -> None:
    def die(tx: Any) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 4000)", (tx.connection.info.backend_pid,))
        tx.connection.execute("SELECT 1")

    with pytest.raises(StoreError, match="connection was lost"):
        await store._writer.submit(die)
    assert await store.claim(claim(call("c1"))) is None


async def test_a_commit_cut_off_is_an_error_and_is_not_done_again(
    store: SqlStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = PostgresSession.commit

    def committed_but_cut_off(session: PostgresSession) -> None:
        commit(session)
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 4000)", (session.connection.info.backend_pid,))
        commit(session)

    monkeypatch.setattr(PostgresSession, "commit", committed_but_cut_off)
    with pytest.raises(StoreError, match="whether it took effect is not known"):
        await store.claim(claim(call("c1", key="k"), rows=1))
    monkeypatch.undo()
    existing = await store.claim(claim(call("c2", key="k")))
    assert isinstance(existing, Existing)
    assert existing.record.call_id == "c1"
    assert len(await store.list_audit("acme")) == 1


async def test_a_lock_that_others_keep_fails_only_what_needs_it(
    store: SqlStore, admin: psycopg.AsyncConnection
) -> None:
    for n in (1, 2):
        await store.claim(claim(call(f"c{n}", status="ready")))
    await run_sql(store, "SET lock_timeout = '50ms'")
    async with admin.transaction():
        await admin.execute("SELECT 1 FROM surehand_calls WHERE call_id = 'c1' FOR UPDATE")
        moves = [store.move(move(f"c{n}", "ready", "running")) for n in (1, 2)]
        kept, free = await asyncio.gather(*moves, return_exceptions=True)
    assert isinstance(kept, StoreError)
    assert "lock timeout" in str(kept)
    assert free is True


async def test_a_deadlock_is_resolved(
    store: SqlStore, admin: psycopg.AsyncConnection, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other transaction holds what the second write of a batch wants, and wants what the first one got."""
    met: list[str | None] = []
    understand = PostgresSession.understand

    def listen(session: PostgresSession, error: Exception) -> Trouble:
        met.append(getattr(error, "sqlstate", None))
        return understand(session, error)

    monkeypatch.setattr(PostgresSession, "understand", listen)
    for n in (1, 2):
        await store.claim(claim(call(f"c{n}", status="ready")))
    # Less than the other's, which is the default of one second: so it is the store that has to give in.
    await run_sql(store, "SET deadlock_timeout = '300ms'")
    lock = "SELECT 1 FROM surehand_calls WHERE call_id = %s FOR UPDATE"
    async with admin.transaction():
        await admin.execute(lock, ("c2",))
        moves = [asyncio.ensure_future(store.move(move(f"c{n}", "ready", "running"))) for n in (1, 2)]
        await asyncio.to_thread(until_it_waits, postgres_url)
        await admin.execute(lock, ("c1",))
    assert await asyncio.gather(*moves) == [True, True]
    assert met == ["40P01"]


async def test_a_taker_that_waited_for_another_sees_it_alive(
    store: SqlStore, admin: psycopg.AsyncConnection, postgres_url: str
) -> None:
    """The other's first beat commits with its taking, after the statement that waits for it began."""
    await store.create_run(run("r1", owner=None))
    async with admin.transaction():
        await admin.execute("UPDATE surehand_runs SET owner = 'p1'")
        now_us = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
        await admin.execute(f"INSERT INTO surehand_workers VALUES ('p1', {now_us})".encode())
        taking = asyncio.ensure_future(take(store, "r1", "p2"))
        await asyncio.to_thread(until_it_waits, postgres_url)
    assert await taking is None
    assert await store.get_run("acme", "r1") == run("r1")


def until_it_waits(url: str) -> None:
    """Return when a session waits for a lock."""
    with psycopg.connect(url, autocommit=True) as watcher:
        while not watcher.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall():
            time.sleep(0.001)


async def test_a_read_only_server(store: SqlStore) -> None:
    def standby(tx: Any) -> None:
        tx.connection.execute("SET TRANSACTION READ ONLY")
        tx.connection.execute("DELETE FROM surehand_keys")

    with pytest.raises(StoreError, match="read-only transaction"):
        await store._writer.submit(standby)
    assert await store.claim(claim(call("c1"))) is None


async def test_settings_of_the_writer(store: SqlStore, postgres_url: str) -> None:
    """A commit is on the disk even where the server's default is not to wait for it."""
    names = ("synchronous_commit", "client_encoding", "application_name", "lock_timeout")

    def settings(tx: Any) -> list[str]:
        return [tx.connection.execute(f"SHOW {name}").fetchone()[0] for name in names]

    assert await store._writer.submit(settings) == ["on", "UTF8", "surehand", "5s"]
    named = open_store(f"{postgres_url}&application_name=mine")
    await named.open()
    assert await named._writer.submit(settings) == ["on", "UTF8", "mine", "5s"]
    await named.close()


async def test_tables_are_where_the_search_path_says(
    store: SqlStore, admin: psycopg.AsyncConnection, postgres_url: str
) -> None:
    await admin.execute("CREATE SCHEMA apart")
    apart = open_store(f"{postgres_url}&options=-csearch_path%3Dapart")
    await apart.open()
    await apart.claim(claim(call("c1")))
    assert await store.list_calls("acme") == []
    assert len(await apart.list_calls("acme")) == 1
    await apart.close()


async def test_plans_made_while_the_tables_were_empty_use_the_indexes(store: SqlStore) -> None:
    """Prepared statements keep their first plan; here nothing ever tells the server to make another."""
    for n in range(20):
        asked = question(f"a{n}", f"c{n}")
        await store.claim(claim(call(f"c{n}", key=f"k{n}", status="waiting"), approval=asked))
        await store.move(move(f"c{n}", "waiting", "ready", approval=(f"a{n}", ("open",), "approved")))
        await store.record([fact(f"r{n}")])
        assert await store.move(move(f"c{n}", "ready", "running", owner="p1", started_us=n))
        assert await store.move(move(f"c{n}", "running", "ok", expect_owner="p1", expect_started_us=n))
        await store.beat("p1", NOW_US)
        await store.remember(f"name {n}", "value")
        await store.create_run(run(f"r{n}", owner="dead"))
        assert await take(store, f"r{n}", "p1", silent_us=0)
        for results in (None, b"r"):
            new = turn(f"r{n}", 0, results=results)
            assert await store.save_run(saving(f"r{n}", turn=new, events=(event(f"r{n}", 1 if results else 2),)))
        assert await store.cancel_run("acme", f"r{n}", NOW_US)

    def read(tx: Any) -> dict[str, int]:
        plans: dict[str, int] = {}
        query = (
            "SELECT name, statement FROM pg_prepared_statements WHERE generic_plans > 0 AND statement LIKE '%surehand%'"
        )
        for name, statement in tx.connection.execute(query).fetchall():
            nulls = ", ".join(["NULL"] * max(int(number) for number in re.findall(r"\$(\d+)", statement)))
            plan = tx.connection.execute(f"EXPLAIN EXECUTE {name}({nulls})").fetchall()
            plans[statement[:30]] = sum("Seq Scan" in line for (line,) in plan)
        return plans

    plans = await store._writer.submit(read)
    assert len(plans) >= 10
    assert set(plans.values()) == {0}
