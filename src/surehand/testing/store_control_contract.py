"""What every `Store` must do about the control plane. See `store_contract`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ..errors import StoreError
from ..ports import ControlChange, ControlRow, Existing, Moved, Store
from .store_records import NOW_US, call, claim, fact, move, question


def control_row(revision: int, name: str = "pay@1", **changes: Any) -> ControlRow:
    """What one change made of one thing."""
    row = ControlRow(
        tenant="", kind="version", name=name, revision=revision, body=b"\x00body\xff", at_us=NOW_US, by="ops/olga"
    )
    return replace(row, **changes)


def changing(*rows: ControlRow, audit: int = 0) -> ControlChange:
    """A change."""
    return ControlChange(rows=rows, audit=tuple(fact(f"{rows[0].revision}-{n}") for n in range(audit)))


class ControlContract:
    """One log for all, and effects that hold on to its end."""

    async def test_control_starts_at_nothing(self, store: Store) -> None:
        """No row, revision 0."""
        assert await store.control_revision() == 0
        assert await store.list_control() == await store.control_history() == []

    async def test_the_newest_row_of_a_thing_holds_and_its_history_stays(self, store: Store) -> None:
        """Also what follows a revision: of everything that changed after it, the newest."""
        first = [control_row(1), control_row(1, "pay@2", by="ä'\u2028%s?"), control_row(1, kind="alias")]
        second, third = control_row(2, body=bytes(range(256)) * 40), control_row(3, tenant="acme", at_us=2**62)
        assert await store.change_control(changing(*first, audit=1))
        assert await store.change_control(changing(second))
        assert await store.change_control(changing(third, audit=1))
        assert await store.control_revision() == 3
        assert await store.list_control() == [first[2], first[1], second, third]
        assert await store.list_control(after=1) == [second, third]
        assert await store.list_control(after=3) == []
        assert await store.control_history(kind="version", name="pay@1") == [third, second, first[0]]
        assert await store.control_history(kind="alias") == [first[2]]
        assert await store.control_history(limit=2) == [third, second]
        assert len(await store.list_audit("acme")) == 2

    async def test_a_change_made_from_an_older_state_leaves_nothing(self, store: Store) -> None:
        """Nor does one from a state that is not there yet, or one that is none."""
        assert await store.change_control(changing(control_row(1)))
        for revision in (0, 1, 3):
            assert not await store.change_control(changing(control_row(revision, "other"), audit=1))
        for wrong in (changing(), changing(control_row(2), control_row(3))):
            with pytest.raises(StoreError, match="all of one revision"):
                await store.change_control(wrong)
        assert await store.list_control() == [control_row(1)]
        assert await store.list_audit("acme") == []

    async def test_a_claim_of_another_revision_is_refused(self, store: Store) -> None:
        """Before it is looked for; one of the latest revision, or of whichever, is taken."""
        await store.change_control(changing(control_row(1)))
        assert await store.claim(replace(claim(call("c1", key="k"), rows=1), control=0)) == Moved(revision=1)
        assert await store.get_call("acme", "c1") is None
        assert await store.list_audit("acme") == []
        assert await store.claim(replace(claim(call("c1", key="k")), control=1)) is None
        assert await store.claim(claim(call("c2", key="l"))) is None
        assert await store.claim(replace(claim(call("c3", key="k")), control=0)) == Moved(revision=1)
        assert isinstance(await store.claim(replace(claim(call("c3", key="k")), control=1)), Existing)

    async def test_a_start_of_another_revision_is_refused(self, store: Store) -> None:
        """And leaves the call, its approval and the audit as they were."""
        asked = question("a1", "c1", status="approved")
        await store.claim(claim(call("c1", status="ready", owner=None), approval=asked))
        await store.change_control(changing(control_row(1)))
        used: Any = ("a1", ("approved",), "consumed")
        start = move("c1", "ready", "running", owner="p1", approval=used, audit=(fact("started"),))
        assert not await store.move(replace(start, control=0))
        assert await store.get_approval("acme", "a1") == asked
        assert await store.list_audit("acme") == []
        assert await store.move(replace(start, control=1))


class SharedControlContract:
    """The same, of several processes."""

    async def test_of_many_changes_from_one_state_one_is_made(self, reopen: Callable[[], Awaitable[Store]]) -> None:
        """Whoever asks."""
        stores = [await reopen() for _ in range(3)]
        rows = [control_row(1, f"n{n}") for n in range(12)]
        made = await asyncio.gather(*(stores[n % 3].change_control(changing(row)) for n, row in enumerate(rows)))
        assert sum(made) == 1
        assert await stores[0].list_control() == [rows[made.index(True)]]

    async def test_no_claim_is_made_after_a_change_that_it_does_not_know(
        self, reopen: Callable[[], Awaitable[Store]]
    ) -> None:
        """However they interleave: what the ledger took before the change, it took before the change was stored."""
        stores = [await reopen() for _ in range(2)]
        answers: list[tuple[str, object]] = []

        async def claims(number: int) -> None:
            for n in range(15):
                name = f"c{number}-{n}"
                answers.append((name, await stores[number % 2].claim(replace(claim(call(name)), control=0))))

        async def change() -> set[str]:
            await stores[1].change_control(changing(control_row(1)))
            return {one.call_id for one in await stores[1].list_calls("acme", limit=1000)}

        *_, there = await asyncio.gather(*(claims(number) for number in range(6)), change())
        taken = {name for name, answer in answers if answer is None}
        assert taken == there
        assert all(answer == Moved(revision=1) for name, answer in answers if name not in taken)
