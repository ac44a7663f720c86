"""What every `Store` must do, as tests to inherit.

Needs pytest with pytest-asyncio in its mode `auto`:

    class TestMyStore(SharedStoreContract):
        @pytest.fixture
        async def reopen(self, tmp_path):
            ...  # yields an async function that opens one more store on the same empty database

        @pytest.fixture
        async def store(self, reopen):
            return await reopen()

A store that only one process can ever see inherits `StoreContract` and needs the fixture `store` alone. Either one
also inherits from `store_time_contract` what holds for the clock that it measures silence by.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ..approval import Approval, Refused
from ..call import Artifact
from ..errors import StoreError
from ..ports import Ballot, Store, StoredArtifact
from .store_approvals_contract import DeputyContract, RevisionContract
from .store_control_contract import ControlContract, SharedControlContract
from .store_grant_contract import GrantContract, SharedGrantContract
from .store_ledger_contract import LedgerContract
from .store_quota_contract import QuotaContract, SharedQuotaContract
from .store_records import NOW_US, call, claim, fact, link, move, question, seal, voting
from .store_run_contract import RunContract, event, run, saving, take, turn
from .store_undo_contract import UndoContract

Reopen = Callable[[], Awaitable[Store]]


async def check_chain(store: Store, length: int) -> None:
    """The chain has no gap and no fork, and ends where the last checkpoint says."""
    previous = ""
    rows = await store.list_audit("acme", order="chain")
    assert [row.seq for row in rows] == list(range(1, length + 1))
    for row in rows:
        previous = link(previous, row.seq or 0, row.digest)
        assert row.chain == previous
    last = (await store.checkpoints("acme"))[-1]
    assert (last.seq, last.chain) == (length, previous)


class ApprovalContract:
    """Questions and votes."""

    async def test_votes_add_up(self, store: Store) -> None:
        """The last one needed moves the call, in the same commit."""
        asked = question("a1", "c1", "boss", "law")
        await store.claim(claim(call("c1", status="waiting"), approval=asked))
        assert await store.get_approval("acme", "a1") == asked
        then = move("c1", "waiting", "ready", audit=(fact("moved"),))
        assert isinstance(await store.vote("acme", "a1", voting("bob", "boss", then=then)), Ballot)
        half = await store.get_approval("acme", "a1")
        assert half is not None
        assert (half.status, half.decided_us, [v.approver for v in half.votes]) == ("open", None, ["bob"])
        assert isinstance(await store.vote("acme", "a1", voting("ada", "law", then=then)), Ballot)
        done = await store.get_approval("acme", "a1")
        assert done is not None
        assert (done.status, done.decided_us, [v.approver for v in done.votes]) == (
            "approved",
            NOW_US + 1,
            ["bob", "ada"],
        )
        assert done.votes[1].groups == ("law",)
        found = await store.get_call("acme", "c1")
        assert found is not None
        assert found.status == "ready"
        assert len(await store.list_audit("acme")) == 3

    async def test_a_vote_that_does_not_count_leaves_nothing(self, store: Store) -> None:
        """Refused, of nobody's approval, failed, or too late for the call."""
        asked = question("a1", "c1")
        await store.claim(claim(call("c1", status="cancelled"), approval=asked))
        too_late = voting("bob", then=move("c1", "waiting", "ready"))
        assert isinstance(await store.vote("acme", "a1", voting("eve", "staff")), Refused)
        assert isinstance(await store.vote("acme", "a1", too_late), Refused)
        assert await store.vote("other", "a1", voting("bob")) is None
        assert await store.vote("acme", "a9", voting("bob")) is None
        failed = ValueError("decide")

        def fail(approval: Approval) -> Ballot:
            raise failed

        assert await asyncio.gather(store.vote("acme", "a1", fail), return_exceptions=True) == [failed]
        assert await store.get_approval("acme", "a1") == asked
        assert await store.list_audit("acme") == []

    async def test_of_many_deciding_votes_one_counts(self, store: Store) -> None:
        """At once, in one process; the reject too ends it."""
        await store.claim(claim(call("c1", status="waiting"), approval=question("a1", "c1")))
        votes = [voting(f"boss{n}", verdict="reject" if n % 2 else "approve") for n in range(10)]
        results = await asyncio.gather(*(store.vote("acme", "a1", vote) for vote in votes))
        assert sum(isinstance(result, Ballot) for result in results) == 1
        found = await store.get_approval("acme", "a1")
        assert found is not None
        assert found.status in {"approved", "rejected"}
        assert len(found.votes) == 1

    async def test_a_call_can_be_asked_about_again(self, store: Store) -> None:
        """The new question becomes the call's approval."""
        await store.claim(claim(call("c1", status="waiting", approval_id="a1"), approval=question("a1", "c1")))
        again = question("a2", "c1", digest="d2")
        stale: Any = ("a1", ("open", "approved"), "stale")
        assert await store.move(move("c1", "waiting", "waiting", approval=stale, new_approval=again, new_digest="d2"))
        found = await store.get_call("acme", "c1")
        assert found is not None
        assert (found.approval_id, found.digest) == ("a2", "d2")
        assert [(a.approval_id, a.status) for a in await store.list_approvals("acme")] == [
            ("a1", "stale"),
            ("a2", "open"),
        ]

    async def test_approvals_are_listed_oldest_first(self, store: Store) -> None:
        """Within a tenant and states, each with its votes; those past their time of all tenants."""
        for n, status in enumerate(["open", "approved", "consumed", "open"]):
            changes: dict[str, Any] = {"status": status, "created_us": NOW_US + n, "expires_us": NOW_US + 10 + n}
            await store.claim(claim(call(f"c{n}"), approval=question(f"a{n}", f"c{n}", "boss", "law", **changes)))
        other = question("a9", "c9", tenant="other", created_us=NOW_US + 9, expires_us=NOW_US)
        await store.claim(claim(call("c9", tenant="other"), approval=other))
        for who, group in (("bob", "boss"), ("ada", "law")):
            await store.vote("acme", "a0", voting(who, group))
        listed = await store.list_approvals("acme", statuses=["open", "approved"], limit=2)
        assert [(a.approval_id, len(a.votes)) for a in listed] == [("a0", 2), ("a1", 0)]
        assert [a.approval_id for a in await store.list_approvals("acme")] == ["a0", "a1", "a2", "a3"]
        assert {a.approval_id for a in await store.expired_approvals(NOW_US + 12)} == {"a0", "a1", "a9"}
        assert [a.approval_id for a in await store.expired_approvals(NOW_US + 12, limit=1)] == ["a9"]
        assert await store.get_approval("other", "a0") is None
        assert [await store.count_open_approvals(tenant) for tenant in ("acme", "other", "nobody")] == [3, 1, 0]


class AuditContract:
    """The record and its chain, and what is kept beside a result."""

    async def test_rows_are_listed(self, store: Store) -> None:
        """Newest first, or those of one call oldest first; never another tenant's."""
        rows = [fact("1", "c1"), fact("2"), fact("3", "c1")]
        await store.record(rows)
        await store.record([fact("9", "c1", tenant="other")])
        assert await store.list_audit("acme") == rows[::-1]
        assert await store.list_audit("acme", limit=1) == rows[2:]
        assert await store.list_audit("acme", call_id="c1") == [rows[0], rows[2]]
        assert await store.unsealed("acme") == rows
        assert await store.tenants() == await store.tenants(unsealed=True) == ["acme", "other"]

    async def test_sealing_makes_a_chain(self, store: Store) -> None:
        """In batches, each with a checkpoint; per tenant."""
        assert await seal(store) is None
        assert await store.tenants() == []
        await store.record([fact(str(n)) for n in range(5)])
        await store.record([fact("9", tenant="other")])
        assert await seal(store, limit=3) == (await store.checkpoints("acme"))[0]
        assert [row.row_id for row in await store.unsealed("acme")] == ["3", "4"]
        assert await store.tenants(unsealed=True) == ["acme", "other"]
        await seal(store)
        assert await seal(store) is None
        await check_chain(store, 5)
        assert [one.seq for one in await store.checkpoints("acme")] == [3, 5]
        tail = await store.list_audit("acme", order="chain", after_seq=3, limit=1)
        assert [row.row_id for row in tail] == ["3"]
        assert await store.tenants(unsealed=True) == ["other"]
        assert await store.tenants() == ["acme", "other"]
        assert await store.checkpoints("other") == await store.list_audit("other", order="chain") == []

    async def test_artifacts_belong_to_a_tenant(self, store: Store) -> None:
        """And read back as they were."""
        artifact = Artifact(id="f1", media_type="text/plain", size_bytes=2**40, sha256="0")
        stored = StoredArtifact(artifact=artifact, tenant="acme", call_id="c1", body=b"\x00body")
        await store.put_artifacts([stored, msgspec.structs.replace(stored, tenant="other", body=b"")])
        assert await store.get_artifact("acme", "f1") == stored
        assert await store.get_artifact("acme", "f2") is None


class StoreContract(
    LedgerContract,
    ApprovalContract,
    RevisionContract,
    DeputyContract,
    AuditContract,
    RunContract,
    GrantContract,
    QuotaContract,
    ControlContract,
    UndoContract,
):
    """All that holds for a store in any process."""

    async def test_a_write_that_cannot_be_done_harms_no_other(self, store: Store) -> None:
        """All are on their way at once; the bad one leaves nothing of itself."""
        twice = claim(call("c1", key="k2"), rows=1)
        claims = [claim(call("c1", key="k1")), twice, claim(call("c2", key="k2"))]
        results = await asyncio.gather(*(store.claim(one) for one in claims), return_exceptions=True)
        assert [type(result) for result in results] == [type(None), StoreError, type(None)]
        assert await store.list_audit("acme") == []

    async def test_text_that_a_database_cannot_hold(self, store: Store) -> None:
        """Is kept exactly, or refused as a whole."""
        for n, text in enumerate(("nul \x00 inside", "half \ud800 pair")):
            record = call(f"c{n}", tool_call_id=text)
            with contextlib.suppress(StoreError):
                await store.claim(claim(record, rows=1))
            assert await store.get_call("acme", record.call_id) in {None, record}
        assert len(await store.list_audit("acme")) == len(await store.list_calls("acme"))

    async def test_what_is_remembered_first_stays(self, store: Store) -> None:
        """Under its name, whoever asks, and however many at once."""
        kept = await asyncio.gather(*(store.remember("a", str(n)) for n in range(20)))
        assert set(kept) == {"0"}
        assert await store.remember("b", "") == ""
        assert [await store.remember(name, "late") for name in ("a", "b", "c")] == ["0", "", "late"]

    async def test_a_closed_store_says_so(self, store: Store) -> None:
        """Closing it again is fine."""
        await store.close()
        await store.close()
        uses = (store.get_call("acme", "c1"), store.claim(claim(call("c1"))))
        for use in (*uses, store.get_run("acme", "r1"), store.create_run(run("r1"))):
            (error,) = await asyncio.gather(use, return_exceptions=True)
            assert isinstance(error, StoreError)


class SharedStoreContract(StoreContract, SharedGrantContract, SharedQuotaContract, SharedControlContract):
    """All that holds for a store whose database outlives it and can be used by several processes."""

    async def test_what_was_written_is_there_after_reopening(self, store: Store, reopen: Reopen) -> None:
        """Also a record that nobody awaited before the store was closed."""
        record = call("c1", key="k", status="waiting", approval_id="a1")
        await store.claim(claim(record, approval=question("a1", "c1")))
        await store.vote("acme", "a1", voting("bob"))
        await store.create_run(run("r1"))
        await store.save_run(saving("r1", turn=turn("r1", 0), events=(event("r1", 1),)))
        store.record([fact("unawaited")])
        await store.close()
        again = await reopen()
        assert await again.get_call("acme", "c1") == record
        approval = await again.get_approval("acme", "a1")
        assert approval is not None
        assert len(approval.votes) == 1
        assert {row.row_id for row in await again.list_audit("acme")} == {"vote of bob", "unawaited"}
        assert [one.run_id for one in await again.list_runs("acme", statuses=["running"])] == ["r1"]
        assert await again.list_turns("acme", "r1") == [turn("r1", 0)]
        assert await again.list_run_events("acme", "r1") == [event("r1", 1)]

    async def test_two_stores_share_one_truth(self, store: Store, reopen: Reopen) -> None:
        """Of each pair of racing claims and moves one wins, also when the key is free because it lapsed."""
        stores = (store, await reopen())
        for n in range(20):
            if n % 2:
                await store.claim(claim(call(f"c{n}", key=f"k{n}", status="ok", key_expires_us=NOW_US)))
            claims = [claim(call(f"c{n}-{k}", key=f"k{n}", status="ready")) for k in range(2)]
            found = await asyncio.gather(*(one.claim(c) for one, c in zip(stores, claims, strict=True)))
            assert found.count(None) == 1
            won = f"c{n}-{found.index(None)}"
            moves = [move(won, "ready", "running", owner=f"p{k}") for k in range(2)]
            moved = await asyncio.gather(*(one.move(m) for one, m in zip(stores, moves, strict=True)))
            assert sorted(moved) == [False, True]

    async def test_racing_votes_of_two_stores_are_all_seen(self, store: Store, reopen: Reopen) -> None:
        """The second one counted knows the first: the quorum is met exactly once."""
        stores = (store, await reopen())
        for n in range(20):
            asked = question(f"a{n}", f"c{n}", "boss", "law")
            await store.claim(claim(call(f"c{n}", status="waiting"), approval=asked))
            then = move(f"c{n}", "waiting", "ready")
            votes = (voting(f"bob{n}", "boss", then=then), voting(f"ada{n}", "law", then=then))
            await asyncio.gather(*(one.vote("acme", f"a{n}", v) for one, v in zip(stores, votes, strict=True)))
            found = await store.get_call("acme", f"c{n}")
            assert found is not None
            assert found.status == "ready"

    async def test_of_two_stores_one_drives_a_run(self, store: Store, reopen: Reopen) -> None:
        """Of each pair that races to start it, to take it and to save it one wins."""
        stores = (store, await reopen())
        for n in range(20):
            run_id = f"r{n}"
            before = [run(run_id, owner=None, start=name.encode()) for name in ("p0", "p1")]
            made = await asyncio.gather(*(one.create_run(r) for one, r in zip(stores, before, strict=True)))
            assert sorted(made) == [False, True]
            taken = await asyncio.gather(*(take(one, run_id, f"p{k}", NOW_US + 1) for k, one in enumerate(stores)))
            (won,) = (k for k, found in enumerate(taken) if found)
            assert taken[won] == await stores[1 - won].get_run("acme", run_id)
            saves = [
                saving(run_id, f"p{k}", turn=turn(run_id, 0, answer=b"%d" % k), events=(event(run_id, 1),))
                for k in range(2)
            ]
            saved = await asyncio.gather(*(one.save_run(s) for one, s in zip(stores, saves, strict=True)))
            assert saved.index(True) == won
            assert sorted(saved) == [False, True]
            assert await store.list_turns("acme", run_id) == [saves[won].turn]

    async def test_two_stores_remember_the_same(self, store: Store, reopen: Reopen) -> None:
        """Of each pair that races to be first one wins, and both are told which."""
        stores = (store, await reopen())
        for n in range(20):
            kept = await asyncio.gather(*(one.remember(f"name {n}", f"of {k}") for k, one in enumerate(stores)))
            assert kept[0] == kept[1] == await store.remember(f"name {n}", "late")
            assert kept[0] in {"of 0", "of 1"}

    async def test_two_sealers_make_one_chain(self, store: Store, reopen: Reopen) -> None:
        """While rows go on coming."""
        stores = (store, await reopen())
        for n in range(0, 60, 2):
            writes = [one.record([fact(f"{n + k:03}")]) for k, one in enumerate(stores)]
            await asyncio.gather(*writes, *(seal(one, limit=3) for one in stores))
        while await seal(store):
            pass
        await check_chain(store, 60)
