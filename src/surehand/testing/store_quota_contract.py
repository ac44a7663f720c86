"""What every `Store` must do about budgets, rates and health. See `store_contract`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ..limits import Charge, Counter, Full, Held
from ..ports import Existing, HealthRecord, ReadCharges, Store
from .store_records import LEASE_US, NOW_US, call, claim, move, question, voting


def charge(limit: str = "money", amount: int = 1, **changes: Any) -> Charge:
    """What a call takes of a budget of 10, unless said otherwise."""
    made = Charge(limit=limit, kind="budget", scope="{}", amount=amount, cap=10)
    return msgspec.structs.replace(made, **changes)


def reading(call_id: str, *charges: Charge, owner: str = "p1") -> ReadCharges:
    """What a read takes."""
    return ReadCharges(tenant="acme", call_id=call_id, owner=owner, charges=charges, now_us=NOW_US)


async def used(store: Store, limit: str = "money", tenant: str = "acme") -> int:
    """What is used of a limit in all scopes."""
    return sum(one.used for one in await store.list_counters(tenant) if one.limit == limit)


class QuotaContract:
    """Reserve, then settle or give back."""

    async def test_a_claim_reserves_and_a_full_budget_writes_nothing(self, store: Store) -> None:
        """All limits or none; a tenant and a scope count for themselves."""
        assert await store.claim_within(claim(call("c1", key="k1")), [charge(amount=8)]) is None
        full = await store.claim_within(
            claim(call("c2", key="k2"), rows=1), [charge("calls"), charge(amount=3), charge("aaa")]
        )
        assert full == Full(charge=charge(amount=3), used=8)
        assert await store.get_call("acme", "c2") is None
        assert await store.list_audit("acme") == []
        assert await store.list_counters("acme") == [
            Counter(limit="money", scope="{}", window_us=0, used=8, reserved=8)
        ]
        assert await store.claim_within(claim(call("c2", key="k2")), [charge(amount=2)]) is None
        assert await store.claim_within(claim(call("c3")), [charge(amount=10, scope='{"caller":"x"}')]) is None
        assert await store.claim_within(claim(call("c4", tenant="other")), [charge(amount=10)]) is None
        assert await used(store, tenant="other") == 10

    async def test_what_is_already_there_takes_nothing(self, store: Store) -> None:
        """Also where there is no room any more."""
        await store.claim_within(claim(call("c1", key="k")), [charge(amount=10)])
        found = await store.claim_within(claim(call("c2", key="k")), [charge(amount=10)])
        assert isinstance(found, Existing)
        assert found.record.call_id == "c1"
        assert await used(store) == 10

    async def test_the_end_of_a_call_ends_its_reservation(self, store: Store) -> None:
        """Whichever move ends it; each with a record of what became of the budget."""
        money, place = charge(amount=2), charge("place", kind="place", cap=1)
        ends: dict[str, tuple[Any, int, list[str]]] = {
            "ok": (move("ok", "running", "ok", finished_us=NOW_US), 2, ["budget.settled"]),
            "error": (move("error", "running", "error", release_key=True), 0, ["budget.released"]),
            "spent": (move("spent", "running", "error", release_key=True, spent=True), 2, ["budget.settled"]),
            "unknown": (move("unknown", "running", "unknown"), 2, []),
        }
        for call_id, (end, stays, kinds) in ends.items():
            before = await used(store)
            await store.claim_within(claim(call(call_id, key=call_id)), [money, place])
            assert await store.held_by("acme", call_id) == [
                Held(limit="money", kind="budget", scope="{}", amount=2, window_us=0),
                Held(limit="place", kind="place", scope="{}", amount=1, window_us=0),
            ]
            assert await store.move(end)
            assert await used(store) - before == stays, call_id
            assert await used(store, "place") == 0
            assert [row.kind for row in await store.list_audit("acme", call_id=call_id)] == kinds
        assert [one.limit for one in await store.held_by("acme", "unknown")] == ["money"]
        assert await store.move(move("ok", "ok", "ok", result=b"r"))
        assert await store.move(move("unknown", "unknown", "unknown", release_owner=True))
        assert await used(store) == 6
        assert await store.move(move("unknown", "unknown", "error", release_key=True))
        assert await used(store) == 4
        assert await store.held_by("acme", "unknown") == []

    async def test_a_question_holds_its_budget_until_it_ends(self, store: Store) -> None:
        """A yes keeps it, a no gives it back with the vote."""
        rows: list[tuple[str, Any, Any]] = [("yes", "approve", "ready"), ("no", "reject", "denied")]
        for call_id, verdict, to in rows:
            asked = question(f"a-{call_id}", call_id)
            await store.claim_within(claim(call(call_id, status="waiting"), approval=asked), [charge(amount=3)])
            then = move(call_id, "waiting", to, release_key=to == "denied")

            def decide(approval: Any, then: Any = then, verdict: Any = verdict) -> Any:
                counted: Any = voting("bob", verdict=verdict, then=then)(approval)
                return msgspec.structs.replace(counted, move=then, audit=())

            await store.vote("acme", f"a-{call_id}", decide)
        assert await used(store) == 3

    async def test_a_start_takes_its_rate_and_keeps_its_budget(self, store: Store) -> None:
        """Without room the call stays ready. What it has reserved is not taken twice; another amount replaces it."""
        await store.claim_within(claim(call("c1", status="ready")), [charge(amount=9)])
        rate = charge("rate", kind="rate", cap=1)
        start = move("c1", "ready", "running")
        await store.charge_read(reading("r1", rate))
        assert await store.move_within(start, [charge(amount=9), rate]) == Full(charge=rate, used=1)
        found = await store.get_call("acme", "c1")
        assert found is not None
        assert found.status == "ready"
        assert await store.move_within(move("c1", "waiting", "running"), [charge(amount=9)]) is False
        later = msgspec.structs.replace(rate, window_us=5, ends_us=9)
        assert await store.move_within(start, [charge(amount=10), later]) is True
        assert await used(store) == 10
        assert await store.move_within(start, [charge(amount=9), charge("other")]) is False
        assert await used(store, "other") == 0

    async def test_a_new_window_begins_anew_and_an_old_one_gives_nothing_back(self, store: Store) -> None:
        """A machine whose clock is behind counts in the window that has begun."""
        first, second = (charge(amount=6, window_us=at, ends_us=at + 10) for at in (10, 20))
        await store.claim_within(claim(call("c1", key="k1")), [first])
        assert isinstance(await store.claim_within(claim(call("c2", key="k2")), [first]), Full)
        assert await store.claim_within(claim(call("c2", key="k2")), [second]) is None
        assert isinstance(await store.claim_within(claim(call("c3", key="k3")), [first]), Full)
        await store.move(move("c1", "running", "error", release_key=True))
        assert await used(store) == 6
        await store.move(move("c2", "running", "error", release_key=True))
        assert await used(store) == 0

    async def test_a_dead_process_gives_back_what_its_reads_hold(self, store: Store) -> None:
        """And one finds its own."""
        place = charge("place", kind="place", cap=2)
        await store.beat("p1", NOW_US)
        assert await store.charge_read(reading("r1", place, charge(amount=4))) is None
        assert await store.charge_read(reading("r2", place, owner="dead")) is None
        assert await store.charge_read(reading("r3", place)) == Full(charge=place, used=2)
        both = await store.open_reads("p1", now_us=NOW_US, silent_us=LEASE_US)
        assert sorted(both) == [("acme", "r1"), ("acme", "r2")]
        assert await store.open_reads("p2", now_us=NOW_US, silent_us=LEASE_US) == [("acme", "r2")]
        for _ in range(2):
            await store.end_read("acme", "r2", spent=True)
            await store.end_read("acme", "r1", spent=False)
            await store.end_read("other", "r1", spent=False)
        assert (await used(store), await used(store, "place")) == (0, 0)
        assert await store.open_reads("p1", now_us=NOW_US, silent_us=0) == []

    async def test_of_many_at_once_no_more_than_fit(self, store: Store) -> None:
        """In one process."""
        found = await asyncio.gather(
            *(store.claim_within(claim(call(f"c{n}", key=f"k{n}")), [charge(amount=3)]) for n in range(12))
        )
        assert found.count(None) == 3
        assert await used(store) == 9

    async def test_health_is_what_each_engine_said_last(self, store: Store) -> None:
        """Of the tenant."""
        ill = HealthRecord(
            tenant="acme", subject="tool t@1", owner="p1", state="open", failures=5, changed_us=NOW_US, retry_us=1
        )
        well = msgspec.structs.replace(ill, state="closed", failures=0, retry_us=None)
        for one in (ill, msgspec.structs.replace(ill, owner="p2"), well):
            await store.note_health(one)
        assert await store.list_health("acme") == [well, msgspec.structs.replace(ill, owner="p2")]
        assert await store.list_health("other") == []


class SharedQuotaContract:
    """Two stores on one database."""

    async def test_two_stores_never_beat_a_cap(self, store: Store, reopen: Callable[[], Awaitable[Store]]) -> None:
        """Claims, starts, ends and the first use of a scope, all at once."""
        stores = (store, await reopen())
        for n in range(10):
            scope = f'{{"caller":"{n}"}}'
            takes = [charge(amount=4, scope=scope), charge("aaa", cap=100)]
            claims = [claim(call(f"c{n}-{k}", key=f"k{n}-{k}")) for k in range(6)]
            found = await asyncio.gather(*(stores[k % 2].claim_within(c, takes) for k, c in enumerate(claims)))
            won = [k for k, one in enumerate(found) if one is None]
            assert len(won) == 2
            ends = [move(f"c{n}-{k}", "running", "error", release_key=True) for k in won]
            again = claim(call(f"again{n}", key=f"again{n}"))
            results = await asyncio.gather(
                stores[0].move(ends[0]), stores[1].move(ends[1]), stores[n % 2].claim_within(again, takes)
            )
            assert results[:2] == [True, True]
            (counter,) = [one for one in await store.list_counters("acme") if one.scope == scope]
            assert counter.used == (4 if results[2] is None else 0)
