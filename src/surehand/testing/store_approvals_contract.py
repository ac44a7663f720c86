"""What every `Store` must do about edits, deputies and reminders. See `store_contract`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from msgspec.structs import replace

from ..ledger import CallRecord
from ..ports import Delegation, Due, Existing, Revision, Store
from .store_records import NOW_US, call, claim, fact, move, question, voting

_WAITING: dict[str, Any] = {"status": "waiting", "approval_id": "a1", "digest": "d", "owner": None}


def revision(record: CallRecord, old: str = "a1", new: str = "a2", **changes: Any) -> Revision:
    """Other arguments for a waiting call."""
    asked = question(new, record.call_id, digest=f"d of {new}")
    edited = replace(
        record,
        status="waiting",
        arguments=b"\x00edited\xff",
        args_hash=f"args of {new}",
        approval_id=new,
        digest=asked.digest,
    )
    made = Revision(
        approval_id=old, digest="d", record=edited, approval=asked, audit=(fact(f"edit {new}"),), now_us=NOW_US + 1
    )
    return replace(made, **changes)


def with_key(made: Revision, key: str | None) -> Revision:
    """The same under another key."""
    return replace(made, record=replace(made.record, key=key, idempotency_key=str(key)))


async def _wait(store: Store, call_id: str = "c1", **changes: Any) -> CallRecord:
    record = call(call_id, **{**_WAITING, **changes})
    asked = question(record.approval_id or "", call_id, expires_us=NOW_US + 1000)
    assert await store.claim(claim(record, approval=asked)) is None
    return record


class RevisionContract:
    """One call, other arguments, another question."""

    async def test_an_edit_replaces_the_question(self, store: Store) -> None:
        """With the editor's vote, in one commit."""
        record = await _wait(store, key="k1")
        made = revision(record)
        ballot: Any = voting("bob")(made.approval)
        voted = replace(made.approval, votes=(ballot.counted.vote,), status="approved", decided_us=NOW_US + 1)
        made = with_key(replace(made, approval=voted, record=replace(made.record, status="ready")), "k2")
        assert await store.revise(made) is True
        assert await store.get_call("acme", "c1") == made.record
        assert await store.get_approval("acme", "a2") == voted
        old = await store.get_approval("acme", "a1")
        assert old is not None
        assert (old.status, old.decided_us) == ("edited", NOW_US + 1)
        assert [row.row_id for row in await store.list_audit("acme")] == ["edit a2"]

    async def test_what_is_not_open_any_more_is_not_edited(self, store: Store) -> None:
        """Decided, expired, of another digest, call or tenant, or edited by somebody else: nothing is written."""
        record = await _wait(store)
        good = revision(record)
        for wrong in (
            replace(good, digest="other"),
            replace(good, now_us=NOW_US + 1000),
            replace(good, approval_id="a9"),
            replace(good, record=replace(good.record, call_id="c9")),
            replace(good, record=replace(good.record, tenant="other")),
        ):
            assert await store.revise(wrong) is False
        assert await store.get_call("acme", "c1") == record
        assert await store.list_audit("acme") == []
        assert await store.revise(good) is True
        assert await store.revise(revision(record, new="a3")) is False
        assert await store.vote("acme", "a2", voting("bob", then=move("c1", "waiting", "ready")))
        assert await store.revise(replace(revision(record, "a2", "a4"), digest="d of a2")) is False
        assert await store.get_approval("acme", "a4") is None

    async def test_a_call_that_waits_no_longer_is_not_edited(self, store: Store) -> None:
        """Although its question is still open."""
        record = await _wait(store)
        assert await store.move(move("c1", "waiting", "cancelled"))
        assert await store.revise(revision(record)) is False
        assert await store.get_approval("acme", "a2") is None

    async def test_the_effect_of_another_call_is_a_conflict(self, store: Store) -> None:
        """By its key, or as an open unknown of the same arguments."""
        record = await _wait(store, key="k1")
        await store.claim(claim(call("c2", key="k2")))
        await store.claim(claim(call("c3", status="unknown", args_hash="args of a2")))
        found = [await store.revise(one) for one in (with_key(revision(record), "k2"), revision(record))]
        assert [one.record.call_id for one in found if isinstance(one, Existing)] == ["c2", "c3"]
        assert await store.get_call("acme", "c1") == record
        assert await store.list_audit("acme") == []

    async def test_keys_follow_the_arguments(self, store: Store) -> None:
        """The new one is held. The old one is free, except for the same place in a run; and it can be had back."""
        place: dict[str, Any] = {"run_id": "r", "step_index": 1, "position": 0}
        record = await _wait(store, key="k1", **place)
        first = with_key(revision(record), "k2")
        assert await store.revise(first) is True
        again = await store.claim(claim(call("c2", key="k1", **place)))
        held = await store.claim(claim(call("c3", key="k2")))
        assert isinstance(again, Existing)
        assert isinstance(held, Existing)
        assert (again.record.call_id, held.record.call_id) == ("c1", "c1")
        back = with_key(replace(revision(first.record, "a2", "a3"), digest="d of a2"), "k1")
        assert await store.revise(back) is True
        assert await store.claim(claim(call("c4", key="k2"))) is None
        assert await store.claim(claim(call("c5", key="k1"))) is not None
        assert await store.move(move("c1", "waiting", "cancelled", release_key=True))
        assert await store.claim(claim(call("c6", key="k1"))) is None

    async def test_a_key_that_lapsed_is_taken(self, store: Store) -> None:
        """As a claim takes it."""
        await store.claim(claim(call("c0", key="k2", status="ok", key_expires_us=NOW_US)))
        record = await _wait(store, key="k1")
        assert await store.revise(with_key(revision(record), "k2")) is True
        found = await store.claim(claim(call("c9", key="k2")))
        assert isinstance(found, Existing)
        assert found.record.call_id == "c1"

    async def test_of_many_edits_at_once_one_counts(self, store: Store) -> None:
        """And of two calls that want one key."""
        record = await _wait(store, key="k1")
        done = await asyncio.gather(*(store.revise(revision(record, new=f"n{n}")) for n in range(8)))
        assert done.count(True) == 1
        asked = [await _wait(store, f"d{n}", key=f"q{n}", approval_id=f"b{n}") for n in range(4)]
        wanted: list[Awaitable[Any]] = [
            store.revise(with_key(revision(one, f"b{n}", f"m{n}"), "one")) for n, one in enumerate(asked)
        ]
        found = await asyncio.gather(*wanted)
        assert found.count(True) == 1
        assert sum(isinstance(one, Existing) for one in found) == 3


def delegation(number: int, **changes: Any) -> Delegation:
    """Somebody who stands in for `ann`."""
    made = Delegation(
        delegation_id=f"d{number}",
        tenant="acme",
        principal="ann",
        deputy=f"p{number}",
        created_us=NOW_US + number,
        until_us=NOW_US + 100,
        body=b"\x00sealed\xff",
    )
    return replace(made, **changes)


class DeputyContract:
    """Who stands in for whom, and what was told of questions."""

    async def test_deputies_are_kept_while_they_hold(self, store: Store) -> None:
        """Of one tenant, oldest first, and never more than so many of one principal."""
        assert await store.delegate(delegation(1), [fact("named")], most=2)
        assert await store.delegate(delegation(2, until_us=NOW_US + 50), [], most=2)
        assert not await store.delegate(delegation(3), [fact("too many")], most=2)
        assert await store.delegate(delegation(4, tenant="other"), [], most=2)
        assert await store.delegate(delegation(5, principal="ben", deputy="p1"), [], most=2)
        listed = await store.list_delegations("acme", "ann", "principal", now_us=NOW_US)
        assert listed == [delegation(1), delegation(2, until_us=NOW_US + 50)]
        of_one = await store.list_delegations("acme", "p1", "deputy", now_us=NOW_US + 50)
        assert [one.delegation_id for one in of_one] == ["d1", "d5"]
        assert await store.list_delegations("acme", "p1", "deputy", now_us=NOW_US, limit=1) == listed[:1]
        assert await store.list_delegations("acme", "p2", "deputy", now_us=NOW_US + 50) == []
        assert await store.delegate(delegation(60), [], most=2)  # the one that is over made room
        assert [row.row_id for row in await store.list_audit("acme")] == ["named"]

    async def test_a_deputy_is_dismissed_once(self, store: Store) -> None:
        """In the principal's tenant only."""
        await store.delegate(delegation(1), [], most=2)
        assert not await store.undelegate("other", "d1", "ann", [fact("1", tenant="other")])
        assert not await store.undelegate("acme", "d1", "p1", [fact("1")])
        done = await asyncio.gather(*(store.undelegate("acme", "d1", "ann", [fact(f"{n}")]) for n in range(4)))
        assert done.count(True) == 1
        assert await store.list_delegations("acme", "ann", "principal", now_us=NOW_US) == []
        assert len(await store.list_audit("acme")) == 1
        assert await store.list_audit("other") == []

    async def test_each_is_told_once(self, store: Store) -> None:
        """Of questions that are open, oldest first, of all tenants; a reminder is no escalation."""
        for n, status in enumerate(["open", "approved", "open", "edited"]):
            asked = question(f"a{n}", f"c{n}", status=status, created_us=NOW_US + n)
            await store.claim(claim(call(f"c{n}"), approval=asked))
        other = question("a0", "c0", tenant="other", created_us=NOW_US + 9)
        await store.claim(claim(call("c0", tenant="other"), approval=other))

        async def due(what: Due, before_us: int, limit: int = 100) -> list[tuple[str, str]]:
            found = await store.due_approvals(what, before_us=before_us, limit=limit)
            return [(one.tenant, one.approval_id) for one in found]

        assert await due("reminder", NOW_US + 2) == [("acme", "a0"), ("acme", "a2")]
        assert await due("reminder", NOW_US + 9, limit=1) == [("acme", "a0")]
        tell = [store.note_due("acme", "a0", "reminder", at_us=NOW_US, audit=[fact(f"{n}")]) for n in range(5)]
        assert (await asyncio.gather(*tell)).count(True) == 1
        assert len(await store.list_audit("acme")) == 1
        assert await due("reminder", NOW_US + 9) == [("acme", "a2"), ("other", "a0")]
        assert ("acme", "a0") in await due("escalation", NOW_US + 9)
        assert not await store.note_due("acme", "a1", "reminder", at_us=NOW_US, audit=[fact("x")])
        assert not await store.note_due("acme", "a9", "reminder", at_us=NOW_US, audit=[fact("x")])
