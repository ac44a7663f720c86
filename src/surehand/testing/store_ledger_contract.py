"""What every `Store` must do about calls. See `store_contract`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import msgspec

from ..ports import Existing, Move, Store
from ..types import Caller
from .store_records import LEASE_US, NOW_US, call, claim, fact, move, question


class LedgerContract:
    """Claims and moves."""

    async def test_a_claimed_call_reads_back_as_it_was(self, store: Store) -> None:
        """Every field, at its limits."""
        plain = call("c1")
        full = call(
            "c2",
            caller=Caller(id="ä\u2028\"'%s?", tenant="acme", roles=["r2", "r1"], run_state="planning"),
            run_id="r",
            step_index=0,
            position=2**31 - 1,
            key="",
            digest="d",
            approval_id="a",
            attempt=3,
            outcome=b"",
            result=bytes(range(256)) * 40,
            error_code="TOOL_ERROR",
            started_us=2**62,
            finished_us=0,
            key_expires_us=1,
            parent_call_id="c1",
            depth=3,
            undoes="c0",
        )
        assert [await store.claim(claim(record)) for record in (plain, full)] == [None, None]
        assert [await store.get_call("acme", record.call_id) for record in (plain, full)] == [plain, full]

    async def test_a_key_is_held_once(self, store: Store) -> None:
        """The second claim gets the first call and writes nothing."""
        first = call("c1", key="k")
        assert await store.claim(claim(first, rows=1)) is None
        found = await store.claim(claim(call("c2", key="k"), approval=question("a", "c2"), rows=1))
        assert isinstance(found, Existing)
        assert found.record == first
        assert await store.get_call("acme", "c2") is None
        assert await store.get_approval("acme", "a") is None
        assert len(await store.list_audit("acme")) == 1

    async def test_keys_of_others_are_others(self, store: Store) -> None:
        """A key counts within its tenant and tool; a call without one repeats nothing."""
        claims = [
            call("c1", key="k"),
            call("c2", key="k", tenant="other"),
            call("c3", key="k", name="pay"),
            call("c4"),
            call("c5"),
        ]
        assert [await store.claim(claim(record)) for record in claims] == [None] * 5

    async def test_of_many_claims_one_wins(self, store: Store) -> None:
        """At once, in one process."""
        found = await asyncio.gather(*(store.claim(claim(call(f"c{n}", key="k"))) for n in range(20)))
        assert found.count(None) == 1
        assert {other.record.call_id for other in found if isinstance(other, Existing)} == {f"c{found.index(None)}"}

    async def test_a_key_lapses(self, store: Store) -> None:
        """Only that of a finished call, and only when its time has come."""
        await store.claim(claim(call("c1", key="k", status="ok", key_expires_us=NOW_US)))
        await store.claim(claim(call("c2", key="l", status="unknown", key_expires_us=NOW_US)))
        assert await store.claim(claim(call("c3", key="k"), now_us=NOW_US - 1)) is not None
        assert await store.claim(claim(call("c4", key="l"))) is not None
        assert await store.claim(claim(call("c5", key="k"))) is None
        again = await store.claim(claim(call("c6", key="k")))
        assert isinstance(again, Existing)
        assert again.record.call_id == "c5"
        assert await store.get_call("acme", "c1") is not None

    async def test_an_open_unknown_stands_in_the_way_of_its_repeat(self, store: Store) -> None:
        """Whatever the keys; until it is settled."""
        await store.claim(claim(call("c1", key="k1", args_hash="x", status="unknown")))
        await store.claim(claim(call("c2", key="lapsed", status="ok", key_expires_us=0)))
        for repeat in (
            call("c3", args_hash="x"),
            call("c3", key="k3", args_hash="x"),
            call("c3", key="lapsed", args_hash="x"),
        ):
            found = await store.claim(claim(repeat))
            assert isinstance(found, Existing)
            assert found.record.call_id == "c1"
        others = [
            call("c4", args_hash="y"),
            call("c5", args_hash="x", tenant="other"),
            call("c6", args_hash="x", name="pay"),
        ]
        assert [await store.claim(claim(record)) for record in others] == [None] * 3
        assert await store.move(move("c1", "unknown", "ok"))
        assert await store.claim(claim(call("c7", key="lapsed", args_hash="x"))) is None

    async def test_the_holder_of_the_key_comes_before_an_unknown(self, store: Store) -> None:
        """Both are there."""
        await store.claim(claim(call("c1", key="k")))
        await store.claim(claim(call("c2", args_hash="x", status="unknown")))
        found = await store.claim(claim(call("c3", key="k", args_hash="x")))
        assert isinstance(found, Existing)
        assert found.record.call_id == "c1"

    async def test_signs_of_life(self, store: Store) -> None:
        """A process lives when it says so, not when it starts a call; a call that waits has no process."""
        await store.claim(claim(call("c1", key="k1", started_us=NOW_US)))
        await store.claim(claim(call("c2", key="k2", owner="p2")))
        await store.claim(claim(call("c3", key="k3", owner=None, status="waiting")))
        await store.claim(claim(call("c4", owner=None, tenant="other", created_us=NOW_US + 1)))
        await store.beat("p2", NOW_US)
        await store.beat("p2", NOW_US)
        again = [await store.claim(claim(call("c9", key=key))) for key in ("k1", "k2", "k3")]
        silent = [isinstance(found, Existing) and found.owner_silent_us for found in again]
        assert (silent[0], silent[2]) == (None, None)
        assert silent[1] is not None
        assert 0 <= silent[1] < LEASE_US
        assert await store.silence("p1", now_us=NOW_US) is None
        assert 0 <= (await store.silence("p2", now_us=NOW_US) or 0) < LEASE_US
        lists = [await store.orphans(now_us=NOW_US, silent_us=silent_us) for silent_us in (LEASE_US, 0)]
        assert [[found.call_id for found in orphans] for orphans in lists] == [["c1", "c4"], ["c1", "c2", "c4"]]
        assert lists[0] == [call("c1", key="k1", started_us=NOW_US), lists[1][2]]
        assert len(await store.orphans(now_us=NOW_US, silent_us=0, limit=1)) == 1

    async def test_running_calls_of_a_process(self, store: Store) -> None:
        """Oldest first, of all tenants; whether or not it lives."""
        await store.claim(claim(call("c1", created_us=NOW_US + 2)))
        await store.claim(claim(call("c2", created_us=NOW_US + 1, tenant="other")))
        await store.claim(claim(call("c3", status="unknown")))
        await store.claim(claim(call("c4", owner="p2")))
        assert [found.call_id for found in await store.running_of("p1")] == ["c2", "c1"]
        assert [found.call_id for found in await store.running_of("p1", limit=1)] == ["c2"]
        assert await store.running_of("p2") == [call("c4", owner="p2")]
        assert await store.running_of("p3") == []

    async def test_a_move_changes_what_it_names(self, store: Store) -> None:
        """And nothing else."""
        before = call("c1", outcome=b"o", attempt=1)
        await store.claim(claim(before))
        changes: dict[str, Any] = {"result": b"r", "finished_us": NOW_US + 1, "error_code": "TOOL_ERROR", "attempt": 2}
        assert await store.move(move("c1", "running", "error", expect_owner="p1", audit=(fact("x", "c1"),), **changes))
        assert await store.get_call("acme", "c1") == msgspec.structs.replace(before, status="error", **changes)
        assert await store.list_audit("acme") == [fact("x", "c1")]

    async def test_a_call_without_an_owner(self, store: Store) -> None:
        """Nobody runs it any more; somebody may again."""
        await store.claim(claim(call("c1")))
        assert await store.move(move("c1", "running", "unknown", expect_owner="p1", release_owner=True))
        assert await store.get_call("acme", "c1") == call("c1", status="unknown", owner=None)
        assert not await store.move(move("c1", "unknown", "ok", expect_owner="p1"))
        assert await store.move(move("c1", "unknown", "unknown", release_owner=True))
        assert await store.move(move("c1", "unknown", "running", owner="p2"))
        assert await store.get_call("acme", "c1") == call("c1", owner="p2")

    async def test_a_move_means_one_start(self, store: Store) -> None:
        """The call was started again by the same process: what is late for the first start changes nothing."""
        await store.claim(claim(call("c1", started_us=NOW_US)))
        await store.claim(claim(call("c2")))
        late: dict[str, Any] = {"expect_owner": "p1", "expect_started_us": NOW_US, "audit": (fact("late"),)}
        assert await store.move(move("c1", "running", "ready", expect_started_us=NOW_US))
        assert await store.move(move("c1", "ready", "running", owner="p1", started_us=NOW_US + 2**40))
        assert not await store.move(move("c1", "running", "unknown", **late))
        assert not await store.move(move("c2", "running", "unknown", **late))
        assert await store.get_call("acme", "c1") == call("c1", started_us=NOW_US + 2**40)
        assert await store.list_audit("acme") == []
        assert await store.move(move("c1", "running", "ok", **{**late, "expect_started_us": NOW_US + 2**40}))

    async def test_a_move_whose_condition_fails_changes_nothing(self, store: Store) -> None:
        """State, owner, start, tenant, approval: each is a part of the condition."""
        asked = call("c1", status="waiting", approval_id="a1")
        await store.claim(claim(asked, approval=question("a1", "c1", status="approved")))
        await store.claim(claim(call("c2", status="waiting"), approval=question("a2", "c2")))
        taken: dict[str, Any] = {"approval": ("a1", ("approved",), "consumed"), "audit": (fact("x"),)}
        refused = [
            move("c1", "ready", "running", **taken),
            move("c1", "waiting", "running", **taken, expect_owner="p2"),
            move("c1", "waiting", "running", **taken, expect_started_us=NOW_US),
            move("c1", "waiting", "running", **taken, tenant="other"),
            Move(tenant="acme", call_id="c1", expect=(), to="running", **taken),
            move("c1", "waiting", "running", **{**taken, "approval": ("a1", ("open",), "consumed")}),
            move("c1", "waiting", "running", **{**taken, "approval": ("a2", ("open",), "consumed")}),
            move("c1", "waiting", "running", **{**taken, "approval": ("a3", ("open",), "consumed")}),
            move("c3", "waiting", "running", audit=(fact("x"),)),
        ]
        assert [await store.move(one) for one in refused] == [False] * len(refused)
        assert await store.get_call("acme", "c1") == asked
        assert [one.status for one in await store.list_approvals("acme")] == ["approved", "open"]
        assert await store.list_audit("acme") == []
        assert await store.move(Move(tenant="acme", call_id="c1", expect=("ready", "waiting"), to="running", **taken))
        assert [one.status for one in await store.list_approvals("acme")] == ["consumed", "open"]

    async def test_of_many_moves_one_happens(self, store: Store) -> None:
        """At once, in one process."""
        await store.claim(claim(call("c1", status="ready")))
        moves = [move("c1", "ready", "running", owner=f"p{n}", audit=(fact(str(n)),)) for n in range(20)]
        done = await asyncio.gather(*(store.move(one) for one in moves))
        assert done.count(True) == 1
        found = await store.get_call("acme", "c1")
        assert found is not None
        assert found.owner == f"p{done.index(True)}"
        assert len(await store.list_audit("acme")) == 1

    async def test_a_key_is_released_by_its_holder_only(self, store: Store) -> None:
        """Without release a failed call still answers for its key."""
        await store.claim(claim(call("c1", key="k")))
        await store.move(move("c1", "running", "error", key_expires_us=NOW_US + 5))
        assert await store.claim(claim(call("c2", key="k"))) is not None
        assert await store.claim(claim(call("c3", key="k"), now_us=NOW_US + 5)) is None
        assert await store.move(move("c1", "error", "error", release_key=True))
        assert await store.claim(claim(call("c4", key="k"))) is not None
        assert await store.move(move("c3", "running", "cancelled", release_key=True))
        assert await store.claim(claim(call("c5", key="k"))) is None

    async def test_writes_keep_the_order_of_their_calls(self, store: Store) -> None:
        """Although none is awaited before the next, and each starts without being awaited."""
        writes: list[Awaitable[Any]] = []
        for n in range(50):
            writes += [store.claim(claim(call(f"c{n}"))), store.move(move(f"c{n}", "running", "ok", attempt=n))]
        await asyncio.sleep(0)
        assert await writes[-1]
        assert await asyncio.gather(*writes[:-1]) == [None, True] * 49 + [None]

    async def test_calls_are_listed_newest_first(self, store: Store) -> None:
        """Within a tenant and states."""
        for n, status in enumerate(["ok", "running", "ok", "error"]):
            await store.claim(claim(call(f"c{n}", status=status, created_us=NOW_US + n)))
        await store.claim(claim(call("c9", tenant="other")))
        ids = [[c.call_id for c in await store.list_calls("acme", limit=limit)] for limit in (100, 3)]
        assert ids == [["c3", "c2", "c1", "c0"], ["c3", "c2", "c1"]]
        chosen = await store.list_calls("acme", statuses=["ok", "error"], limit=2)
        assert [c.call_id for c in chosen] == ["c3", "c2"]
        assert await store.get_call("other", "c0") is None

    async def test_the_calls_of_one_run_are_found_behind_newer_ones(self, store: Store) -> None:
        """Within a tenant and states, however many others there are."""
        for n, status in enumerate(["running", "ok", "running"]):
            await store.claim(claim(call(f"c{n}", status=status, run_id="r1", created_us=NOW_US + n)))
        for n in range(5):
            await store.claim(claim(call(f"d{n}", status="running", run_id="r2", created_us=NOW_US + 10 + n)))
        await store.claim(claim(call("e", tenant="other", status="running", run_id="r1")))
        found = await store.list_calls("acme", statuses=["running", "ready"], run_id="r1", limit=2)
        assert [one.call_id for one in found] == ["c2", "c0"]
        assert [one.call_id for one in await store.list_calls("acme", run_id="r1")] == ["c2", "c1", "c0"]
        assert await store.list_calls("acme", run_id="r3") == []
