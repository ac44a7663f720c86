"""What every `Store` must do with standing answers, as tests to inherit through `StoreContract`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from ..approval import Grant
from ..ledger import CallRecord
from ..limits import Full
from ..ports import Existing, Moved, NotLifted, Store
from ..types import Caller, Requirement
from .store_records import NOW_US, call, claim, fact, move, question, voting

GIVER = Caller(id="fiona", tenant="acme", roles=["finance"])


def grant(grant_id: str, **changes: Any) -> Grant:
    """A grant for refunds of alice, of two uses unless said otherwise."""
    made = Grant(
        grant_id=grant_id,
        tenant="acme",
        caller="alice",
        agent="bot",
        environment="",
        name="refund",
        version="1.0.0",
        contract_hash="c",
        binding_hash="b",
        needs=(Requirement(policy_id="p", group="finance", reason="höher", policy_hash="h", quorum=1),),
        giver=GIVER,
        terms=b"\x00sealed\xff",
        uses=2,
        created_us=NOW_US,
        expires_us=NOW_US + 1000,
        seal="s",
    )
    return msgspec.structs.replace(made, **changes)


async def give(store: Store, *grants: Grant, most: int = 100) -> list[bool]:
    """Adds grants, each with an audit row."""
    rows = [fact(f"gave {one.grant_id}", tenant=one.tenant) for one in grants]
    return [await store.add_grant(one, most=most, audit=row) for one, row in zip(grants, rows, strict=True)]


async def use(store: Store, record: CallRecord, *grants: str, now_us: int = NOW_US) -> Existing | NotLifted | None:
    """Claims a call that grants let through."""
    found = await store.claim_within(claim(record, rows=1, now_us=now_us), grants=grants)
    assert not isinstance(found, Full | Moved)
    return found


async def used(store: Store, grant_id: str) -> int:
    """How often one was used."""
    found = await store.get_grant("acme", grant_id)
    assert found is not None
    return found.used


class GrantContract:
    """Standing answers: given, used with a claim, ended."""

    async def test_grants_are_kept(self, store: Store) -> None:
        """As they were given; of the tenant; those that can be used by when they expire."""
        first, later = grant("g1", expires_us=NOW_US + 9), grant("g2", created_us=NOW_US + 1, expires_us=NOW_US + 5)
        others = [grant("g3", caller="eve"), grant("g4", name="mail"), grant("g5", version="2.0.0")]
        over = [grant("g6", used=2), grant("g7", expires_us=NOW_US + 1)]
        assert await give(store, first, later, *others, *over, grant("g1", tenant="other")) == [True] * 8
        assert await store.get_grant("acme", "g1") == first
        assert await store.get_grant("acme", "g9") is None
        now: Any = {"now_us": NOW_US + 1}
        assert await store.open_grants("acme", "alice", "refund", "1.0.0", **now) == [later, first]
        assert await store.open_grants("acme", "alice", "refund", "1.0.0", **now, limit=1) == [later]
        assert [one.grant_id for one in await store.list_grants("acme", limit=2)] == ["g7", "g6"]
        assert len(await store.list_audit("acme")) == 7

    async def test_grants_are_bounded(self, store: Store) -> None:
        """Only those that can be used count."""
        assert await give(store, grant("g1"), grant("g2"), grant("g3"), most=2) == [True, True, False]
        assert await store.get_grant("acme", "g3") is None
        assert await store.revoke_grant("acme", "g1", by="eve", now_us=NOW_US, audit=fact("revoked"))
        assert await give(store, grant("g4"), most=2) == [True]
        assert len(await store.list_audit("acme")) == 4

    async def test_a_use_is_part_of_the_claim(self, store: Store) -> None:
        """All of the grants once, with the call; what is there already answers first and uses nothing."""
        await give(store, grant("g1"), grant("g2", uses=1))
        assert await use(store, call("c1", key="k"), "g2", "g1") is None
        assert [await used(store, one) for one in ("g1", "g2")] == [1, 1]
        again = await use(store, call("c2", key="k"), "g1")
        assert isinstance(again, Existing)
        assert again.record.call_id == "c1"
        assert isinstance(await use(store, call("c3"), "g1", "g2"), NotLifted)
        assert isinstance(await use(store, call("c3"), "g9"), NotLifted)
        assert [await used(store, one) for one in ("g1", "g2")] == [1, 1]
        assert await store.get_call("acme", "c3") is None
        assert len(await store.list_audit("acme")) == 3

    @pytest.mark.parametrize("how", ["revoked", "expired", "another-tenant"])
    async def test_a_grant_that_is_over_lifts_nothing(self, store: Store, how: str) -> None:
        """At the moment of the claim, whatever was read before."""
        tenant = "other" if how == "another-tenant" else "acme"
        await give(store, grant("g1", tenant=tenant, expires_us=NOW_US if how == "expired" else NOW_US + 1))
        if how == "revoked":
            ended = [
                await store.revoke_grant("acme", "g1", by=who, now_us=NOW_US, audit=fact(who)) for who in ("eve", "bob")
            ]
            found = await store.get_grant("acme", "g1")
            assert found is not None
            assert (ended, found.revoked_by, found.revoked_us) == ([True, False], "eve", NOW_US)
        assert isinstance(await use(store, call("c1"), "g1"), NotLifted)

    async def test_a_no_to_exactly_this_call_beats_a_grant(self, store: Store) -> None:
        """Of the same requester, tool and arguments; and only that one."""
        await give(store, grant("g1", uses=9))
        asked = question("a1", "c1", "boss")
        await store.claim(claim(call("c1", status="waiting", approval_id="a1", args_hash="x", key="k"), approval=asked))
        waiting = await use(store, call("c2", args_hash="x", key="k"), "g1")
        assert isinstance(waiting, Existing)
        no = move("c1", "waiting", "denied", error_code="APPROVAL_REJECTED", release_key=True)
        await store.vote("acme", "a1", _rejecting("bob", no))
        assert isinstance(await use(store, call("c3", args_hash="x", key="k"), "g1"), NotLifted)
        eve = Caller(id="eve", tenant="acme")
        for record in (call("c4", args_hash="y"), call("c5", args_hash="x", name="mail"), call("c6", caller=eve)):
            assert await use(store, record, "g1") is None

    async def test_racing_calls_never_use_more_than_there_is(self, store: Store) -> None:
        """In one process."""
        await give(store, grant("g1", uses=3))
        results = await asyncio.gather(*(use(store, call(f"c{n}"), "g1") for n in range(10)))
        assert results.count(None) == 3
        assert await used(store, "g1") == 3
        assert len(await store.list_calls("acme")) == 3


class SharedGrantContract:
    """What holds between processes."""

    async def test_racing_stores_never_use_more_than_there_is(
        self, store: Store, reopen: Callable[[], Awaitable[Store]]
    ) -> None:
        """Two grants at once, named in either order; and a revocation that comes between."""
        stores = (store, await reopen())
        for n in range(10):
            ids = (f"a{n}", f"b{n}")
            await give(store, *(grant(one, uses=uses) for one, uses in zip(ids, (3, 5), strict=True)))
            claims = [
                use(stores[k % 2], call(f"c{n}-{k}"), *(ids if k % 4 < 2 else ids[::-1]), now_us=NOW_US)
                for k in range(8)
            ]
            results = await asyncio.gather(*claims)
            assert results.count(None) == 3
            assert [await used(store, one) for one in ids] == [3, 3]
            revoking = stores[0].revoke_grant("acme", ids[1], by="bob", now_us=NOW_US, audit=fact(f"r{n}"))
            late = stores[1].claim_within(claim(call(f"l{n}")), grants=[ids[1]])
            ended, lifted = await asyncio.gather(revoking, late)
            assert ended
            assert await used(store, ids[1]) == (4 if lifted is None else 3)


def _rejecting(who: str, then: Any) -> Any:
    voted = voting(who, verdict="reject")

    def decide(approval: Any) -> Any:
        ballot: Any = voted(approval)
        return msgspec.structs.replace(ballot, move=then)

    return decide
