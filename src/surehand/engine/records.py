"""`engine.audit` and `engine.artifacts`: what was recorded and kept, for those who may read it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..audit import Anchor, AuditRow, CallStory, Report, Verification, explain_call
from ..call import Artifact
from ..errors import NotAllowedError, NotFoundError
from ..ledger import CallRecord
from ..pipeline import Services
from ..pipeline.output import artifact_context
from ..policy import Deny
from ..secrets import UnsealError
from ..types import Caller
from .arguments import checked

_PAGE = 500


@checked
class Audit:
    """Reads and verifies the tamper-evident record."""

    def __init__(self, services: Services, anchor: Anchor, seal: Callable[[], Awaitable[None]]) -> None:
        self._s = services
        self._anchor = anchor
        self._seal = seal

    async def seal(self) -> None:
        """Puts everything recorded so far into the chain and repeats its signed end outside the database."""
        await self._seal()

    async def verify(self, tenant: str | None = None) -> list[Report]:
        """Checks the chain of one tenant, or of all, against the signatures and the anchor. Changes nothing.

        Returns:
            One report a tenant; what is wrong is in `findings`, `ok` says whether there is any.

        Raises:
            NotFoundError: Neither the database nor the anchor knows the tenant.
        """
        known = await self._tenants()
        if tenant is not None and tenant not in known:
            raise NotFoundError(f"nothing is recorded of a tenant {tenant!r}")
        wanted = known if tenant is None else [tenant]
        return [await self._verify(one) for one in wanted]

    async def _tenants(self) -> list[str]:
        """Those of the database and those of the anchor: one of which every row was deleted is missing in the first."""
        anchored = await asyncio.to_thread(self._anchor.tenants)
        return sorted({*anchored, *await self._s.store.tenants()})

    async def _verify(self, tenant: str) -> Report:
        """Page by page, so that memory stays bounded; in an order that allows for rows that are sealed meanwhile."""
        store = self._s.store
        anchored = await asyncio.to_thread(self._anchor.read, tenant)
        verification = Verification(tenant, key=self._s.keyring.verify_key, anchored=anchored)
        after = 0
        while True:
            page = await store.list_audit(tenant, after_seq=after, order="chain", limit=_PAGE)
            signed = verification.last_signed
            if not page or (page[-1].seq or 0) > signed:
                verification.add_checkpoints(await store.checkpoints(tenant, after_seq=signed))
            verification.add(page)
            after = after if not page else page[-1].seq or after + _PAGE
            if not page and verification.last_signed == signed:
                break  # nothing was sealed while the last page was read
        verification.add_unsealed(await store.unsealed(tenant))
        return verification.report()

    async def list(self, *, by: Caller, limit: int = 100) -> list[AuditRow]:
        """The newest records of the caller's tenant.

        Raises:
            NotAllowedError: Policy does not let the caller read the audit.
        """
        self._may_read(by)
        return await self._s.store.list_audit(by.tenant, limit=limit)

    async def story(self, call_id: str, *, by: Caller) -> CallStory:
        """What happened to one call: version, decision, approval, effect, and what to do next.

        Raises:
            NotFoundError: Nothing is recorded of it in the caller's tenant.
            NotAllowedError: It is somebody else's call and policy does not let the caller read the audit.
        """
        await self._s.recorder.drain()
        rows = await self._s.store.list_audit(by.tenant, call_id=call_id)
        if not rows:
            raise NotFoundError(f"nothing is recorded of a call {call_id!r}")
        story = explain_call(rows)
        if story.caller.get("id") != by.id:
            self._may_read(by)
        return story

    async def calls(self, *, by: Caller, limit: int = 100) -> list[CallRecord]:
        """The newest calls of the ledger in the caller's tenant.

        Raises:
            NotAllowedError: Policy does not let the caller read the audit.
        """
        self._may_read(by)
        return await self._s.store.list_calls(by.tenant, limit=limit)

    def _may_read(self, by: Caller) -> None:
        decision = self._s.world.policies.may(by, "audit", None, now_ns=self._s.clock.now_us() * 1000)
        if isinstance(decision, Deny):
            raise NotAllowedError(f"{by.id} may not read the audit: {'; '.join(decision.reasons)}")


@checked
class Artifacts:
    """Parts of results that are kept beside them."""

    def __init__(self, services: Services) -> None:
        self._s = services

    async def get(self, artifact_id: str, *, by: Caller) -> tuple[Artifact, bytes]:
        """One artifact and its bytes, for the caller of the call it belongs to.

        Raises:
            NotFoundError: There is none, or it belongs to another caller.
        """
        stored = await self._s.store.get_artifact(by.tenant, artifact_id)
        if stored is None:
            raise NotFoundError(f"there is no artifact {artifact_id!r}")
        try:
            body = self._s.keyring.unseal(stored.body, context=artifact_context(artifact_id, by))
        except UnsealError as error:
            raise NotFoundError(f"there is no artifact {artifact_id!r}") from error
        return stored.artifact, body
