"""What an engine makes sure of when it opens and when it closes."""

from __future__ import annotations

import asyncio
import contextlib

from ..errors import ConfigError, SurehandError
from ..pipeline import Services
from ..pipeline.unknown import HELD
from ..ports import Move

_SETTLE_POLL_S = 0.01


async def check_keys(s: Services) -> None:
    """The keys of effects depend on the key file: with another one, everything would happen again.

    Raises:
        ConfigError: The database was made with other keys.
    """
    for name, mine in (
        ("keys.index", s.keyring.index_key_id),
        ("keys.public", s.keyring.public_key_id),
    ):
        if await s.store.remember(name, mine) != mine:
            raise ConfigError(
                "the database was made with other keys than those of the key file; restore that file. All "
                "processes that share a database share it: with other keys, what is done would be done again"
            )


async def hold_what_still_runs(s: Services) -> None:
    """A handler that was given up may outlive its engine: nobody may believe "not done" of it but a person."""
    for tenant, call_id in list(s.handlers):
        move = Move(
            tenant=tenant,
            call_id=call_id,
            expect=("unknown",),
            expect_owner=s.owner,
            to="unknown",
            owner=HELD,
        )
        with contextlib.suppress(SurehandError):
            await s.store.move(move)


async def settled(s: Services) -> None:
    """A call whose handler has ended should not become unknown only because its engine closes."""
    for _ in range(int(s.limits.close_grace_s / _SETTLE_POLL_S)):
        if not s.passing:
            return
        await asyncio.sleep(_SETTLE_POLL_S)
