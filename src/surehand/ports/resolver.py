"""`CallerResolver`: who a caller is now, for a call that was made earlier."""

from __future__ import annotations

from typing import Protocol

from ..types import Caller


class CallerResolver(Protocol):
    """Looks a caller up again before an approved call runs."""

    async def refresh(self, stored: Caller, by: Caller) -> Caller | None:
        """The caller with today's roles and scopes, or `None` if they may act no longer.

        Args:
            stored: As the call was made.
            by: Who resumes it; of the same tenant, perhaps another person.
        """
        ...


class AsStored:
    """The default: the person who resumes is believed about themselves; anyone else's caller stays as stored."""

    async def refresh(self, stored: Caller, by: Caller) -> Caller | None:
        """`by`, if it is the same person, with the stored agent and environment."""
        if not by.same_person(stored):
            return stored
        return Caller(
            id=stored.id,
            tenant=stored.tenant,
            roles=by.roles,
            scopes=by.scopes,
            agent=stored.agent,
            environment=stored.environment,
            run_state=stored.run_state,
        )
