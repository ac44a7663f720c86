"""What every `Store` must do about runs. See `store_contract`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from msgspec.structs import replace

from ..errors import StoreError
from ..ports import RunRecord, RunSave, Store, StoredEvent, TurnRecord
from ..types import Caller
from .store_records import LEASE_US, NOW_US


def run(run_id: str, **changes: Any) -> RunRecord:
    """A run, driven by `p1` unless said otherwise."""
    record = RunRecord(
        run_id=run_id,
        tenant="acme",
        caller=Caller(id="alice", tenant="acme", roles=["clerk"], scopes=["pay"], agent="bot"),
        model="openai:gpt-5",
        status="running",
        owner="p1",
        start=b"\x00start\xff",
        created_us=NOW_US,
        updated_us=NOW_US,
    )
    return replace(record, **changes)


def turn(run_id: str, number: int, **changes: Any) -> TurnRecord:
    """A turn without results."""
    record = TurnRecord(
        run_id=run_id, tenant="acme", turn=number, view_digest="v", answer=b"\x00answer\xff", created_us=NOW_US
    )
    return replace(record, **changes)


def event(run_id: str, seq: int, **changes: Any) -> StoredEvent:
    """An event."""
    return replace(StoredEvent(run_id=run_id, tenant="acme", seq=seq, at_us=NOW_US, body=b"\x00event\xff"), **changes)


def saving(run_id: str, owner: str = "p1", **changes: Any) -> RunSave:
    """A change of a run that goes on."""
    save = RunSave(tenant="acme", run_id=run_id, expect_owner=owner, status="running", now_us=NOW_US + 5)
    return replace(save, **changes)


def take(
    store: Store, run_id: str, owner: str, now_us: int = NOW_US, silent_us: int = LEASE_US
) -> Awaitable[RunRecord | None]:
    """Takes a run, if its owner has been silent for long enough."""
    return store.take_run("acme", run_id, owner, now_us=now_us, silent_us=silent_us)


async def everything(store: Store, run_id: str) -> tuple[Any, ...]:
    """All that is stored of one run."""
    return (
        await store.get_run("acme", run_id),
        await store.list_turns("acme", run_id),
        await store.list_run_events("acme", run_id),
    )


class TakeContract:
    """Who starts and drives a run."""

    async def test_a_run_reads_back_as_it_was(self, store: Store) -> None:
        """Every field, at its limits."""
        plain = run("r1")
        full = run(
            "r2",
            caller=Caller(id="ä\u2028\"'%s?", tenant="acme", roles=["r2", "r1"], run_state="planning"),
            status="waiting",
            reason="",
            owner=None,
            cancel=True,
            turns=2**31 - 1,
            start=bytes(range(256)) * 40,
            created_us=0,
            updated_us=2**62,
        )
        assert [await store.create_run(record) for record in (plain, full)] == [True, True]
        assert [await store.get_run("acme", record.run_id) for record in (plain, full)] == [plain, full]
        assert await store.get_run("acme", "r3") is None
        assert await store.list_turns("acme", "r3") == await store.list_run_events("acme", "r3") == []

    async def test_a_run_is_started_once(self, store: Store) -> None:
        """The second of that id writes nothing; in another tenant it is another run."""
        records = [run("r1", start=b"%d" % n) for n in range(20)]
        made = await asyncio.gather(*(store.create_run(record) for record in records))
        assert made.count(True) == 1
        assert await store.get_run("acme", "r1") == records[made.index(True)]
        assert await store.create_run(run("r1", tenant="other"))
        assert await store.get_run("other", "r1") == run("r1", tenant="other")

    async def test_of_many_takers_one_drives(self, store: Store) -> None:
        """At once, in one process, although none of them has beaten: to take a run is a beat."""
        before = run("r1", owner=None, status="waiting", cancel=True, turns=3)
        await store.create_run(before)
        taken = await asyncio.gather(*(take(store, "r1", f"p{n}", NOW_US + 7) for n in range(20)))
        (won,) = (n for n, found in enumerate(taken) if found)
        assert taken[won] == replace(before, owner=f"p{won}", updated_us=NOW_US + 7)
        assert taken[won] == await store.get_run("acme", "r1")

    async def test_a_run_is_taken_from_the_dead_only(self, store: Store) -> None:
        """An owner lives when it says so, when it starts a run and when it takes one."""
        await store.create_run(run("r1"))
        assert await take(store, "r1", "p2") is None
        assert await store.get_run("acme", "r1") == run("r1")
        assert await take(store, "r1", "p2", silent_us=0) is not None
        assert await take(store, "r1", "p3") is None
        assert await take(store, "r1", "p2") is not None
        assert await take(store, "r1", "p1") is None
        assert await store.save_run(saving("r1", "p2"))
        assert not await store.save_run(saving("r1", "p1"))
        assert await take(store, "r1", "p1", silent_us=0) is not None
        assert not await store.save_run(saving("r1", "p2"))

    async def test_a_run_let_go_is_anybodys(self, store: Store) -> None:
        """Also its last owner's, who is still alive."""
        await store.create_run(run("r1"))
        assert await store.save_run(saving("r1", status="waiting", release=True))
        assert await store.get_run("acme", "r1") == run("r1", status="waiting", owner=None, updated_us=NOW_US + 5)
        assert not await store.save_run(saving("r1"))
        assert await take(store, "r1", "p2") is not None
        assert await take(store, "r1", "p1") is None

    async def test_what_has_ended_is_not_taken(self, store: Store) -> None:
        """Nor what is not there, or of another tenant."""
        await store.create_run(run("r1", status="ended", owner=None))
        await store.create_run(run("r2", owner=None, tenant="other"))
        assert [await take(store, run_id, "p2") for run_id in ("r1", "r2", "r3")] == [None] * 3
        assert await store.get_run("acme", "r1") == run("r1", status="ended", owner=None)
        assert await store.get_run("other", "r2") == run("r2", owner=None, tenant="other")


class RunContract(TakeContract):
    """What a run goes through."""

    async def test_a_save_changes_what_it_names(self, store: Store) -> None:
        """The run, a new turn and events, in one commit."""
        await store.create_run(run("r1"))
        first = turn("r1", 0, results=b"")
        assert await store.save_run(saving("r1", turn=first, events=(event("r1", 1), event("r1", 2, body=b""))))
        after = run("r1", turns=1, updated_us=NOW_US + 5)
        assert await everything(store, "r1") == (after, [first], [event("r1", 1), event("r1", 2, body=b"")])
        assert await store.save_run(saving("r1", now_us=NOW_US + 6, status="waiting"))
        assert await store.get_run("acme", "r1") == replace(after, status="waiting", updated_us=NOW_US + 6)
        assert await store.save_run(saving("r1", now_us=NOW_US + 7, start=b"\x00another\xff"))
        assert await store.get_run("acme", "r1") == replace(after, start=b"\x00another\xff", updated_us=NOW_US + 7)

    async def test_a_turn_gets_its_results(self, store: Store) -> None:
        """As often as they change; what the model answered stays, and so do other turns."""
        await store.create_run(run("r1"))
        for number in (0, 1, 10):
            assert await store.save_run(saving("r1", turn=turn("r1", number)))
        for results in (b"one", b"one, two"):
            again = turn("r1", 1, results=results, answer=b"another", created_us=NOW_US + 1)
            assert await store.save_run(saving("r1", turn=again))
        found, turns, _ = await everything(store, "r1")
        assert found.turns == 11
        assert turns == [turn("r1", 0), turn("r1", 1, results=b"one, two"), turn("r1", 10)]

    async def test_a_run_that_ended_has_no_owner(self, store: Store) -> None:
        """And nothing about it changes any more."""
        await store.create_run(run("r1"))
        last = saving("r1", status="ended", reason="done", turn=turn("r1", 0), events=(event("r1", 1),))
        assert await store.save_run(last)
        ended = await everything(store, "r1")
        after = run("r1", status="ended", reason="done", owner=None, turns=1, updated_us=NOW_US + 5)
        assert ended == (after, [turn("r1", 0)], [event("r1", 1)])
        assert not await store.save_run(saving("r1", turn=turn("r1", 0, results=b"r"), events=(event("r1", 2),)))
        assert not await store.cancel_run("acme", "r1", NOW_US + 9)
        assert await take(store, "r1", "p1", NOW_US + 9) is None
        assert not await store.create_run(run("r1"))
        assert await everything(store, "r1") == ended

    async def test_a_save_whose_condition_fails_changes_nothing(self, store: Store) -> None:
        """Owner, state, tenant and run: each is a part of the condition."""
        await store.create_run(run("r1"))
        await store.create_run(run("r2", owner=None))
        await store.create_run(run("r3", status="ended"))
        for run_id, owner in (("r1", "p2"), ("r2", "p1"), ("r2", ""), ("r3", "p1"), ("r4", "p1")):
            before = await everything(store, run_id)
            new = turn(run_id, 0, results=b"r")
            save = saving(run_id, owner, status="ended", release=True, turn=new, events=(event(run_id, 1),))
            assert not await store.save_run(save)
            assert await everything(store, run_id) == before
        theirs = saving("r1", tenant="other", turn=turn("r1", 0, tenant="other"))
        assert not await store.save_run(theirs)
        assert await store.list_turns("other", "r1") == await store.list_turns("acme", "r1") == []

    async def test_a_save_that_cannot_be_done_harms_no_other(self, store: Store) -> None:
        """All are on their way at once: a value cannot be stored, or a part is of another run or tenant."""
        for run_id in ("r1", "r2"):
            await store.create_run(run(run_id))
        new = turn("r1", 1, results=b"bad")
        bad = [
            saving("r1", status="ended", turn=replace(new, view_digest="\ud800"), events=(event("r1", 2),)),
            saving("r1", turn=replace(new, tenant="other")),
            saving("r1", turn=replace(new, run_id="r2")),
            saving("r1", turn=new, events=(event("r1", 2, tenant="other"),)),
            saving("r1", turn=new, events=(event("r2", 2),)),
        ]
        first = saving("r1", turn=turn("r1", 0), events=(event("r1", 1),))
        last = saving("r2", turn=turn("r2", 0), events=(event("r2", 1),))
        saves = [store.save_run(save) for save in (first, *bad, last)]
        results = await asyncio.gather(*saves, return_exceptions=True)
        assert [type(result) for result in results] == [bool, *[StoreError] * len(bad), bool]
        for run_id in ("r1", "r2"):
            after = run(run_id, turns=1, updated_us=NOW_US + 5)
            assert await everything(store, run_id) == (after, [turn(run_id, 0)], [event(run_id, 1)])
        assert await store.list_turns("other", "r1") == await store.list_run_events("other", "r1") == []

    async def test_an_event_is_stored_once(self, store: Store) -> None:
        """Whoever does not know whether a save was made gives its events again: what is stored stays."""
        await store.create_run(run("r1"))
        await store.create_run(run("r1", tenant="other"))
        first = (event("r1", 1), event("r1", 3))
        assert await store.save_run(saving("r1", events=first))
        again = (event("r1", 1, body=b"another"), event("r1", 2), event("r1", 3, body=b"another"), event("r1", 4))
        assert await store.save_run(saving("r1", events=again))
        stored = [event("r1", 1), event("r1", 2), event("r1", 3), event("r1", 4)]
        assert await store.list_run_events("acme", "r1") == stored
        theirs = event("r1", 1, tenant="other", body=b"theirs")
        assert await store.save_run(saving("r1", tenant="other", events=(theirs,)))
        assert await store.list_run_events("other", "r1") == [theirs]

    async def test_of_many_endings_one_happens(self, store: Store) -> None:
        """At once, in one process."""
        await store.create_run(run("r1"))
        saves = [saving("r1", status="ended", reason=str(n), events=(event("r1", n + 1),)) for n in range(20)]
        done = await asyncio.gather(*(store.save_run(save) for save in saves))
        assert done.count(True) == 1
        found, _, events = await everything(store, "r1")
        assert found.reason == str(done.index(True))
        assert events == [event("r1", done.index(True) + 1)]

    async def test_somebody_else_asks_a_run_to_stop(self, store: Store) -> None:
        """It stays asked, whoever saves or takes it; no other run is."""
        await store.create_run(run("r1"))
        await store.create_run(run("r1", tenant="other"))
        await store.create_run(run("r2", status="waiting", owner=None))
        assert [await store.cancel_run("acme", run_id, NOW_US + 1) for run_id in ("r1", "r1", "r3")] == [
            True,
            True,
            False,
        ]
        assert await store.get_run("acme", "r1") == run("r1", cancel=True, updated_us=NOW_US + 1)
        assert await store.save_run(saving("r1", release=True))
        taken = await take(store, "r1", "p2")
        assert taken is not None
        assert taken.cancel
        assert await store.get_run("other", "r1") == run("r1", tenant="other")
        assert await store.get_run("acme", "r2") == run("r2", status="waiting", owner=None)
        assert not await store.cancel_run("other", "r2", NOW_US + 1)

    async def test_stops_of_runs_that_nobody_drives_are_found(self, store: Store) -> None:
        """Of all tenants, those that were changed longest ago first; a living driver ends its own."""
        await store.create_run(run("driven"))  # which is a beat of `p1`
        await store.create_run(run("let-go", owner=None, status="waiting"))
        await store.create_run(run("let-go", owner=None, tenant="other"))
        await store.create_run(run("ended", owner=None, status="ended", cancel=True))
        await store.create_run(run("driven-too", owner="p2", cancel=True))
        await store.create_run(run("not-stopped", owner=None))
        order = (("acme", "driven"), ("other", "let-go"), ("acme", "let-go"))
        for n, (tenant, run_id) in enumerate(order, 10):
            assert await store.cancel_run(tenant, run_id, NOW_US + n)

        async def found(silent_us: int, **more: int) -> list[tuple[str, str]]:
            stops = await store.undriven_stops(now_us=NOW_US, silent_us=silent_us, **more)
            assert all(one.cancel and one.status != "ended" for one in stops)
            return [(one.tenant, one.run_id) for one in stops]

        assert await found(LEASE_US) == [("other", "let-go"), ("acme", "let-go")]
        assert await found(LEASE_US, limit=1) == [("other", "let-go")]
        assert await found(0) == [("acme", "driven-too"), *order]

    async def test_runs_are_listed_newest_first(self, store: Store) -> None:
        """Within a tenant and states."""
        for n, status in enumerate(["ended", "running", "waiting", "ended", "running"]):
            await store.create_run(run(f"r{n}", status=status, created_us=NOW_US + n // 2))
        await store.create_run(run("r9", tenant="other", created_us=NOW_US + 9))
        ids = [[r.run_id for r in await store.list_runs("acme", limit=limit)] for limit in (100, 3)]
        assert ids == [["r4", "r3", "r2", "r1", "r0"], ["r4", "r3", "r2"]]
        open_ones = await store.list_runs("acme", statuses=["running", "waiting"], limit=2)
        assert [r.run_id for r in open_ones] == ["r4", "r2"]
        assert await store.list_runs("acme", statuses=["ended"]) == [
            run(f"r{n}", status="ended", created_us=NOW_US + n // 2) for n in (3, 0)
        ]
        assert await store.list_runs("nobody") == []

    async def test_what_a_run_holds_belongs_to_its_tenant(self, store: Store) -> None:
        """Two tenants have a run of the same id."""
        for tenant in ("acme", "other"):
            await store.create_run(run("r1", tenant=tenant))
            of: dict[str, Any] = {"tenant": tenant}
            parts: dict[str, Any] = {
                "turn": turn("r1", 0, answer=tenant.encode(), **of),
                "events": (event("r1", 1, **of),),
            }
            assert await store.save_run(saving("r1", **of, **parts))
        assert await store.save_run(saving("r1", turn=turn("r1", 0, results=b"r"), status="ended"))
        assert await store.list_turns("other", "r1") == [turn("r1", 0, tenant="other", answer=b"other")]
        assert await store.list_run_events("other", "r1") == [event("r1", 1, tenant="other")]
        assert await store.get_run("other", "r1") == run("r1", tenant="other", turns=1, updated_us=NOW_US + 5)

    async def test_events_are_listed_in_order(self, store: Store) -> None:
        """From any place, however many, whenever they were stored."""
        await store.create_run(run("r1"))
        await store.create_run(run("r2"))
        await store.save_run(saving("r2", events=tuple(event("r2", n) for n in range(1, 5))))
        for numbers in ((9, 10, 11), (1, 2), (2**40,)):
            assert await store.save_run(saving("r1", events=tuple(event("r1", n) for n in numbers)))
        every = [1, 2, 9, 10, 11, 2**40]
        assert [one.seq for one in await store.list_run_events("acme", "r1")] == every
        assert [one.seq for one in await store.list_run_events("acme", "r1", after_seq=2)] == every[2:]
        assert [one.seq for one in await store.list_run_events("acme", "r1", after_seq=3, limit=2)] == [9, 10]
        assert await store.list_run_events("acme", "r1", after_seq=2**40) == []

    async def test_writes_of_a_run_keep_the_order_of_their_calls(self, store: Store) -> None:
        """Although none is awaited before the next."""
        writes: list[Awaitable[Any]] = [store.create_run(run("r1"))]
        for n in range(30):
            new = turn("r1", n)
            writes += [store.save_run(saving("r1", turn=new, events=(event("r1", n + 1),)))]
            writes += [store.save_run(saving("r1", turn=replace(new, results=b"%d" % n)))]
        writes += [store.save_run(saving("r1", status="ended")), store.cancel_run("acme", "r1", NOW_US)]
        assert await asyncio.gather(*writes) == [True] * (len(writes) - 1) + [False]
        found, turns, events = await everything(store, "r1")
        assert (found.turns, found.status) == (30, "ended")
        assert turns == [turn("r1", n, results=b"%d" % n) for n in range(30)]
        assert [one.seq for one in events] == list(range(1, 31))
