"""The queue in front of the writer, on a real database."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from surehand.errors import StoreError
from surehand.storage import SqlStore, lane, open_store
from surehand.storage.store import MAX_BATCH
from surehand.storage.tx import Tx
from surehand.testing.store_records import call, claim, fact


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    store = open_store("sqlite://")
    await store.open()
    yield store
    await store.close()


class Held:
    """The writer, held up until the test says so."""

    def __init__(self, store: SqlStore) -> None:
        self._go = threading.Event()
        self._reached = threading.Event()
        self.commits = -1  # not its own
        self._held = store._writer.submit(self._hold)

    def _hold(self, tx: Tx) -> None:
        def committed() -> bool:
            self.commits += 1
            return False

        tx.connection.set_commit_hook(committed)  # pyright: ignore[reportAttributeAccessIssue]
        self._reached.set()
        assert self._go.wait(4)

    async def reached(self) -> None:
        await asyncio.to_thread(self._reached.wait, 4)

    async def release(self) -> None:
        self._go.set()
        await self._held


async def test_what_waits_is_committed_together(store: SqlStore) -> None:
    held = Held(store)
    await held.reached()
    writes = [store.claim(claim(call(f"c{n}"), rows=1)) for n in range(MAX_BATCH + 10)]
    await held.release()
    assert await asyncio.gather(*writes) == [None] * len(writes)
    assert held.commits == 2


async def test_one_that_fails_costs_one_more_commit(store: SqlStore) -> None:
    held = Held(store)
    await held.reached()
    ids = [*range(10), 3, *range(10, 20)]
    writes = [store.claim(claim(call(f"c{n}"), rows=1)) for n in ids]
    await held.release()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [n for n, result in enumerate(results) if result] == [10]
    assert isinstance(results[10], StoreError)
    assert held.commits == 2
    assert len(await store.list_calls("acme")) == 20


async def test_one_wake_up_serves_a_batch(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(store)
    await held.reached()
    writes = [store.record([fact(str(n))]) for n in range(100)]
    loop = asyncio.get_running_loop()
    woken: list[object] = []
    wake = loop.call_soon_threadsafe

    def count(*args: object, **kwargs: object) -> object:
        woken.append(args[0])
        return wake(*args, **kwargs)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(loop, "call_soon_threadsafe", count)
    await held.release()
    await asyncio.gather(*writes)
    assert len(woken) == 2


async def test_what_does_not_fit_in_the_queue_is_refused_at_once(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "MAX_WAITING", 3)
    held = Held(store)
    await held.reached()
    writes = [asyncio.ensure_future(store.record([fact(str(n))])) for n in range(5)]
    assert [write.done() for write in writes] == [False] * 3 + [True] * 2
    assert "too far behind" in str(writes[3].exception())
    assert "too far behind" in str(writes[4].exception())
    await held.release()
    await asyncio.gather(*writes[:3])
    assert {row.row_id for row in await store.list_audit("acme")} == {"0", "1", "2"}


async def test_a_caller_that_gives_up_does_not_undo_its_write(store: SqlStore) -> None:
    held = Held(store)
    await held.reached()
    given_up = asyncio.ensure_future(store.claim(claim(call("c1"))))
    given_up.cancel()
    await held.release()
    assert await store.get_call("acme", "c1") is not None


async def test_close_writes_what_was_accepted_and_refuses_the_rest(store: SqlStore) -> None:
    held = Held(store)
    await held.reached()
    accepted = store.claim(claim(call("c1")))
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreError, match="closed"):
        await store.claim(claim(call("c2")))
    await held.release()
    assert await accepted is None
    await closing


async def test_a_store_serves_several_loops(store: SqlStore) -> None:
    def elsewhere() -> bool:
        async def write() -> bool:
            return await store.claim(claim(call("c1", key="k"))) is None

        return asyncio.run(write())

    assert await asyncio.to_thread(elsewhere)
    assert await store.claim(claim(call("c2", key="k"))) is not None


async def test_a_loop_that_is_gone_harms_nobody(store: SqlStore) -> None:
    held = Held(store)
    await held.reached()

    def leave() -> None:
        async def write() -> None:
            store.record([fact("left behind")])

        asyncio.run(write())

    await asyncio.to_thread(leave)
    await held.release()
    assert await store.list_audit("acme") == [fact("left behind")]


async def test_a_store_must_be_opened() -> None:
    store = open_store("sqlite://")
    with pytest.raises(StoreError, match="not open"):
        await store.get_call("acme", "c1")
    await store.close()


async def test_a_closed_store_can_be_opened_again(store: SqlStore) -> None:
    await store.open()
    await store.claim(claim(call("c1")))
    await store.close()
    await store.open()
    assert await store.list_calls("acme") == []
