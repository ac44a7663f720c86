"""A row that somebody damaged hides no other row, and takes nobody's place."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from surehand.errors import StoreError
from surehand.ports import Ballot
from surehand.storage import SqlStore, open_store
from surehand.testing.store_grant_contract import give, grant
from surehand.testing.store_records import LEASE_US, NOW_US, call, claim, question, voting
from surehand.testing.store_run_contract import run, take

GARBAGE = {
    "no-json": "garbage",
    "empty": "",
    "no-object": "[1]",
    "a-field-lacks": '{"id":"alice"}',
    "deep": '{"x":' + "[" * 100_000,
}


@pytest.fixture(params=["sqlite", "memory", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[SqlStore]:
    """Give a store with five calls, questions and runs, from old to new."""
    store = open_store("sqlite://" if request.param == "memory" else _url(request))
    await store.open()
    for n in range(5):
        asked = question(f"a{n}", f"w{n}", "boss", "law", created_us=NOW_US + n, expires_us=NOW_US + 10 + n)
        await store.claim(claim(call(f"w{n}", status="waiting"), approval=asked))
        await store.claim(claim(call(f"c{n}", key=f"k{n}", created_us=NOW_US + n)))
        await store.create_run(run(f"r{n}", owner=None, created_us=NOW_US + n))
    yield store
    await store.close()


def _url(request: pytest.FixtureRequest) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{request.getfixturevalue('tmp_path')}/store.db"


async def damage(store: SqlStore, change: str, *ids: str, garbage: str = "garbage") -> None:
    """Write into the database what no store writes."""
    table, column, key = change.split()

    def body(tx: Any) -> None:
        for one in ids:
            tx.connection.execute(f"UPDATE surehand_{table} SET {column} = '{garbage}' WHERE {key} = '{one}'")

    await store._writer.submit(body)


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_calls(store: SqlStore, garbage: str) -> None:
    await damage(store, "calls caller call_id", "c0", "c1", "c3", garbage=garbage)
    assert await store.running_of("p1", limit=1) == [call("c2", key="k2", created_us=NOW_US + 2)]
    for limit, ids in ((1, ["c2"]), (2, ["c2", "c4"]), (3, ["c2", "c4"]), (5, ["c2", "c4"]), (100, ["c2", "c4"])):
        orphans = await store.orphans(now_us=NOW_US, silent_us=LEASE_US, limit=limit)
        assert [one.call_id for one in orphans] == ids
        assert [one.call_id for one in await store.running_of("p1", limit=limit)] == ids
        newest = await store.list_calls("acme", statuses=["running"], limit=limit)
        assert [one.call_id for one in newest] == ["c4", "c2"][:limit]
    with pytest.raises(StoreError, match="call c1 of tenant acme"):
        await store.get_call("acme", "c1")
    with pytest.raises(StoreError, match="call c1 of tenant acme"):
        await store.claim(claim(call("c9", key="k1")))
    assert await store.get_call("acme", "c9") is None


@pytest.mark.parametrize("change", ["approvals needs approval_id", "votes groups approval_id"])
async def test_approvals(store: SqlStore, change: str) -> None:
    for n in range(5):
        for who, group in (("bob", "boss"), ("ada", "law")):
            assert isinstance(await store.vote("acme", f"a{n}", voting(f"{who}{n}", group)), Ballot)
    await damage(store, change, "a0", "a1", "a3")
    for limit, ids in ((1, ["a2"]), (2, ["a2", "a4"]), (100, ["a2", "a4"])):
        listed = await store.list_approvals("acme", limit=limit)
        assert [(one.approval_id, len(one.votes)) for one in listed] == [(one, 2) for one in ids]
        assert await store.expired_approvals(NOW_US + 99, limit=limit) == listed
    with pytest.raises(StoreError, match="approval a1 of tenant acme"):
        await store.get_approval("acme", "a1")
    with pytest.raises(StoreError, match="approval a1 of tenant acme"):
        await store.vote("acme", "a1", voting("eve"))
    assert await store.count_open_approvals("acme") == 5


@pytest.mark.parametrize("change", ["grants needs grant_id", "grants giver grant_id"])
async def test_grants(store: SqlStore, change: str) -> None:
    await give(store, *(grant(f"g{n}", created_us=NOW_US + n) for n in range(5)))
    await damage(store, change, "g0", "g2", "g4")
    for limit, ids in ((1, ["g3"]), (2, ["g3", "g1"]), (100, ["g3", "g1"])):
        assert [one.grant_id for one in await store.list_grants("acme", limit=limit)] == ids
    found = await store.open_grants("acme", "alice", "refund", "1.0.0", now_us=NOW_US, limit=2)
    assert [one.grant_id for one in found] == ["g1", "g3"]
    with pytest.raises(StoreError, match="grant g2 of tenant acme"):
        await store.get_grant("acme", "g2")


async def test_runs(store: SqlStore) -> None:
    await damage(store, "runs caller run_id", "r0", "r2", "r4")
    for limit, ids in ((1, ["r3"]), (2, ["r3", "r1"]), (100, ["r3", "r1"])):
        assert [one.run_id for one in await store.list_runs("acme", limit=limit)] == ids
    with pytest.raises(StoreError, match="run r2 of tenant acme"):
        await store.get_run("acme", "r2")
    with pytest.raises(StoreError, match="run r2 of tenant acme"):
        await take(store, "r2", "p1")
    assert await take(store, "r1", "p1") is not None
    for n in (2, 3):
        assert await store.cancel_run("acme", f"r{n}", NOW_US)
    assert [one.run_id for one in await store.undriven_stops(now_us=NOW_US, silent_us=1)] == ["r3"]


async def test_what_is_damaged_is_told(store: SqlStore, caplog: pytest.LogCaptureFixture) -> None:
    await damage(store, "calls caller call_id", "c1", garbage='{"id":"a secret"}')
    await store.list_calls("acme")
    assert [record.getMessage() for record in caplog.records] == [
        "the row of call c1 of tenant acme is damaged and cannot be read"
    ]
