"""What every `Store` must do about calls that take others back. See `store_contract`."""

from __future__ import annotations

from ..ports import Store
from .store_records import NOW_US, call, claim


class UndoContract:
    """Undos."""

    async def test_the_newest_undo_of_a_call_is_found(self, store: Store) -> None:
        """By tenant; calls that undo nothing or something else are none."""
        for number, (call_id, tenant, undoes) in enumerate(
            [
                ("c1", "acme", None),
                ("u1", "acme", "c1"),
                ("u2", "acme", "c1"),
                ("u3", "other", "c1"),
                ("u4", "acme", "c2"),
            ]
        ):
            record = call(call_id, tenant=tenant, undoes=undoes, status="error", created_us=NOW_US + number)
            assert await store.claim(claim(record)) is None
        found = [await store.undo_of(*asked) for asked in (("acme", "c1"), ("other", "c1"), ("acme", "c3"))]
        assert [None if one is None else one.call_id for one in found] == ["u2", "u3", None]
