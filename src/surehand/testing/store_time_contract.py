"""By which clock a `Store` measures silence: one of two contracts holds. See `store_contract`."""

from __future__ import annotations

from ..ports import Existing, Store
from .store_records import LEASE_US, NOW_US, call, claim
from .store_run_contract import run, take

_HOUR_US = 3_600_000_000


async def _orphans(store: Store, now_us: int, silent_us: int) -> list[str]:
    return [found.call_id for found in await store.orphans(now_us=now_us, silent_us=silent_us)]


class GivenTimeContract:
    """The time is what the process says: for a database that only processes of one machine use."""

    async def test_silence_is_measured_to_the_microsecond(self, store: Store) -> None:
        """From the last beat to the moment given; never less than nothing."""
        await store.claim(claim(call("c1", key="k")))
        for seen_us in (NOW_US + 1, NOW_US + 9):
            await store.beat("p1", seen_us)
        ages = {NOW_US + 9 + LEASE_US: LEASE_US, NOW_US + 10: 1, NOW_US + 9: 0, NOW_US: 0}
        for now_us, age in ages.items():
            assert await store.silence("p1", now_us=now_us) == age
            found = await store.claim(claim(call("c9", key="k"), now_us=now_us))
            assert isinstance(found, Existing)
            assert found.owner_silent_us == age
        assert await _orphans(store, NOW_US + 8 + LEASE_US, LEASE_US) == []
        assert await _orphans(store, NOW_US + 9 + LEASE_US, LEASE_US) == ["c1"]

    async def test_to_take_a_run_is_a_beat_that_takes_back_no_later_one(self, store: Store) -> None:
        """The moment at which its owner is dead is exact too."""
        await store.create_run(run("r1"))
        assert await take(store, "r1", "p2", NOW_US + 9, silent_us=10) is None
        assert await take(store, "r1", "p2", NOW_US + 10, silent_us=10) is not None
        assert await store.silence("p2", now_us=NOW_US + 10) == 0
        assert await take(store, "r1", "p2", NOW_US + 3) is not None
        await store.create_run(run("r2", owner="p2", created_us=NOW_US))
        assert await store.silence("p2", now_us=NOW_US + 11) == 1


class OwnTimeContract:
    """The time is the database's own: for one that several machines share."""

    async def test_a_process_whose_clock_is_wrong_makes_nobody_look_dead(self, store: Store) -> None:
        """It is an hour ahead of, or behind, the one that beats."""
        await store.beat("p1", NOW_US)
        await store.claim(claim(call("c1", key="k")))
        await store.create_run(run("r1"))
        for now_us in (NOW_US + _HOUR_US, NOW_US - _HOUR_US, 0, 2**62):
            silent_us = await store.silence("p1", now_us=now_us)
            assert silent_us is not None
            assert 0 <= silent_us < LEASE_US
            found = await store.claim(claim(call("c9", key="k"), now_us=now_us))
            assert isinstance(found, Existing)
            assert found.owner_silent_us is not None
            assert silent_us <= found.owner_silent_us < LEASE_US
            assert await _orphans(store, now_us, LEASE_US) == []
            assert await take(store, "r1", "p2", now_us) is None

    async def test_a_process_whose_clock_is_wrong_looks_neither_dead_nor_immortal(self, store: Store) -> None:
        """Whatever time it gives when it beats, starts a run or takes one."""
        for n, now_us in enumerate((NOW_US + _HOUR_US, 0)):
            owner, call_id, run_id = f"p{n}", f"c{n}", f"r{n}"
            await store.claim(claim(call(call_id, owner=owner)))
            await store.beat(owner, now_us)
            await store.create_run(run(run_id, owner=owner, created_us=now_us))
            assert await take(store, run_id, "other") is None
            assert call_id not in await _orphans(store, NOW_US, LEASE_US)
            silent_us = await store.silence(owner, now_us=NOW_US)
            assert silent_us is not None
            assert call_id in await _orphans(store, NOW_US, silent_us)
            assert await take(store, run_id, "other", now_us, silent_us) is not None
            assert await take(store, run_id, owner) is None
