"""`engine.control`: which versions, policies and switches hold, for every engine of the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal

import msgspec

from ..errors import ConfigError, NotAllowedError, NotFoundError
from ..pipeline import Services
from ..policy import Deny, PolicySource
from ..registry import EVERYTHING, Canary, kill_name
from ..types import Caller, Stage
from ..view import World
from .arguments import checked
from .control_state import Change, PolicySet, PolicyText, Proposal, Read
from .plane import Plane
from .requests import Outcome, Requests
from .worlds import Worlds

_HISTORY = 10_000
"""Changes that are looked through for those of one tool."""
PROJECT = "project"
"""Names the policies of the project, where a published set is named by its digest."""


class ControlRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One change, as it was made."""

    revision: int
    at_us: int
    by: str
    """Who wanted it, as `tenant/id`; `surehand` for what engines do by themselves."""
    action: str
    target: str
    tenant: str
    """Whose tool or agent was switched; empty for all."""
    was: str
    now: str
    reason: str
    confirmed_by: tuple[str, ...]


class PolicyVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A policy set that was published."""

    digest: str
    """As in the audit's `policy_set`; empty: the project's own policies."""
    in_force: bool
    sources: tuple[PolicySource, ...]
    by: str
    at_us: int
    reason: str


@checked
class Control:
    """Changes are stored, audited, and hold at once for every effect on every machine.

    Policy governs them: `publish` of the tool for its versions and aliases, `admin` for policies and switches. Where a
    policy asks (`@approvers`), a change waits until others have confirmed it; one that only takes away does not wait.
    """

    def __init__(self, services: Services, plane: Plane, worlds: Worlds, ready: Callable[[], Awaitable[World]]) -> None:
        self._s = services
        self._plane = plane
        self._ready = ready
        self._requests = Requests(services, plane, worlds, ready)

    # -- versions ---------------------------------------------------------------------------------------

    async def promote(
        self, name: str, version: str, *, to: Stage, by: Caller, reason: str = "", rollback: str = ""
    ) -> Outcome:
        """Moves a version to another stage; see `registry.MOVES` for the moves there are.

        Args:
            name: Of the tool.
            version: Which one.
            to: The stage.
            by: Who wants it.
            reason: For those who read the history.
            rollback: The version that is to take over if this one fails.

        Raises:
            RegistryError: `not_found`, `not_permitted`.
            NotAllowedError: Policy does not let the caller publish this tool.
        """
        change = Change(action="promote", name=name, version=version, to=to, rollback=rollback, reason=reason)
        return await self._requests.request(change, by)

    async def disable(self, name: str, version: str, *, by: Caller, reason: str) -> Outcome:
        """Takes a version from every call that has not started, at once. Its history stays.

        Raises:
            RegistryError: `not_found`, `not_permitted`.
            NotAllowedError: Policy does not let the caller publish this tool.
            ConfigError: `reason` is empty.
        """
        _required(reason, "disable")
        return await self._requests.request(
            Change(action="disable", name=name, version=version, to="disabled", reason=reason), by
        )

    async def deprecate(
        self, name: str, version: str, *, use: str = "", until: str = "", by: Caller, reason: str = ""
    ) -> Outcome:
        """Moves an active version to `deprecated`: it works on, and says so in views and results.

        Args:
            name: Of the tool.
            version: Which one.
            use: What to use instead.
            until: The day, as YYYY-MM-DD, until which it is there.
            by: Who wants it.
            reason: For those who read the history.

        Raises:
            RegistryError: `not_found`, `not_permitted`.
            NotAllowedError: Policy does not let the caller publish this tool.
        """
        change = Change(
            action="deprecate", name=name, version=version, to="deprecated", use=use, until=until, reason=reason
        )
        return await self._requests.request(change, by)

    async def canary(
        self,
        name: str,
        version: str,
        *,
        percent: float = 0.0,
        callers: Iterable[str] = (),
        roles: Iterable[str] = (),
        by: Caller,
        reason: str = "",
    ) -> Outcome:
        """Says who gets a version at stage `canary`; everybody else gets the current one.

        Args:
            name: Of the tool.
            version: Which one.
            percent: Share of the runs, and outside of runs of the callers, from 0 to 100.
            callers: Ids of callers, each as `tenant/id`, that get it always.
            roles: Roles whose callers get it always.
            by: Who wants it.
            reason: For those who read the history.

        Raises:
            RegistryError: `not_found`, `not_permitted`.
            NotAllowedError: Policy does not let the caller publish this tool.
        """
        canary = Canary(percent=percent, callers=tuple(callers), roles=tuple(roles))
        canary.check("canary")
        return await self._requests.request(
            Change(action="canary", name=name, version=version, canary=canary, reason=reason), by
        )

    async def alias(self, alias: str, name: str, *, by: Caller, reason: str = "") -> Outcome:
        """Lets a tool be called by another name too, everywhere.

        Raises:
            RegistryError: `name_empty`, `not_found`, or `alias_taken`: it is, or looks like, another name or alias.
            NotAllowedError: Policy does not let the caller publish this tool.
        """
        return await self._requests.request(Change(action="alias", name=name, alias=alias, reason=reason), by)

    # -- switches ---------------------------------------------------------------------------------------

    async def kill(
        self, *, tool: str = "", agent: str = "", tenant: str = "", everything: bool = False, by: Caller, reason: str
    ) -> Outcome:
        """Switches a tool, an agent, a tenant or everything off, at once. What has started is not stopped.

        Args:
            tool: Its name or alias; with `tenant`, in that tenant only.
            agent: Its name; with `tenant`, in that tenant only.
            tenant: By itself: everything of that tenant.
            everything: All tools for everybody.
            by: Who wants it.
            reason: For operators; the model does not read it.

        Raises:
            ConfigError: Not exactly one of them is named, or `reason` is empty.
            NotAllowedError: Policy does not let the caller administer.
        """
        _required(reason, "kill")
        change = self._switching("kill", tool, agent, tenant, everything)
        return await self._requests.request(msgspec.structs.replace(change, reason=reason), by)

    async def revive(
        self,
        *,
        tool: str = "",
        agent: str = "",
        tenant: str = "",
        everything: bool = False,
        by: Caller,
        reason: str = "",
    ) -> Outcome:
        """Switches on again what `kill` switched off; the arguments are the same.

        Raises:
            NotFoundError: It is not switched off.
            ConfigError: Not exactly one of them is named.
            NotAllowedError: Policy does not let the caller administer.
        """
        change = self._switching("revive", tool, agent, tenant, everything)
        return await self._requests.request(msgspec.structs.replace(change, reason=reason), by)

    def _switching(
        self, action: Literal["kill", "revive"], tool: str, agent: str, tenant: str, everything: bool
    ) -> Change:
        named = [bool(tool), bool(agent), everything]
        if sum(named) > 1 or not (any(named) or tenant) or (everything and tenant):
            raise ConfigError(f"{action}: name one tool, one agent, one tenant, or everything")
        tool = self._s.world.catalog.aliases.get(tool, tool)
        switch = kill_name(tool=tool, agent=agent) if tool or agent else EVERYTHING
        return Change(action=action, tenant=tenant, switch=switch, name=tool)

    async def kills(self, *, by: Caller) -> dict[str, str]:
        """What is switched off, and why; of tenants, the caller's own only.

        Raises:
            NotAllowedError: Policy does not let the caller administer or read the audit.
        """
        await self._ready()
        self._may_read(by)
        return {
            Change(action="kill", tenant=tenant, switch=name).target: why
            for (tenant, name), why in sorted(self._plane.state.kills.reasons.items())
            if tenant in ("", by.tenant)
        }

    # -- policies ---------------------------------------------------------------------------------------

    async def publish_policies(
        self, sources: Sequence[PolicySource] | None, *, by: Caller, reason: str = ""
    ) -> Outcome:
        """Puts a policy set in the place of the policies in force, for every engine.

        Args:
            sources: The set; the built-in policies stay beneath it. `None`: the project's own policies hold again.
            by: Who wants it.
            reason: For those who read the history.

        Raises:
            PolicyError: It does not fit the tools, or takes from the caller the right to publish another.
            RegistryError: `not_permitted`: it holds already.
            NotAllowedError: Policy does not let the caller administer.
        """
        if not all(isinstance(one, PolicySource) for one in sources or ()):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError("publish_policies: sources must be PolicySource, as sh.read_policies gives them, or None")
        await self._ready()
        self._requests.judge(Change(action="policies"), by)
        if sources is None:
            self._requests.checked_policies(None, by)
            return await self._requests.request(Change(action="policies", reason=reason), by)
        digest = self._requests.checked_policies(tuple(sources), by).digest
        texts = tuple(PolicyText(source.name, source.text, source.tenant) for source in sources)
        return await self._requests.request(Change(action="policies", digest=digest, sources=texts, reason=reason), by)

    async def rollback_policies(self, digest: str, *, by: Caller, reason: str = "") -> Outcome:
        """Publishes again what was published before.

        Args:
            digest: Of the set, or how it begins; `project` for the project's own policies.
            by: Who wants it.
            reason: For those who read the history.

        Raises:
            NotFoundError: There is none, or more than one.
            PolicyError, RegistryError, NotAllowedError: See `publish_policies`.
        """
        if digest == PROJECT:
            return await self.publish_policies(None, by=by, reason=reason)
        found = {one.digest: one for one in await self.policy_versions(by=by) if one.digest.startswith(digest or "-")}
        if len(found) != 1:
            how_many = "no policy set was" if not found else "several policy sets were"
            raise NotFoundError(f"{how_many} published whose digest begins with {digest!r}")
        return await self.publish_policies(next(iter(found.values())).sources, by=by, reason=reason)

    async def policy_versions(self, *, by: Caller, limit: int = 100) -> list[PolicyVersion]:
        """Every set that was published, newest first; the first one is in force. None: the project's policies are.

        Raises:
            NotAllowedError: Policy does not let the caller administer or read the audit.
        """
        await self._ready()
        self._may_read(by)
        rows = await self._s.store.control_history(kind="policies", limit=limit)
        return [_policy_version(self._plane.opened(row), in_force=place == 0) for place, row in enumerate(rows)]

    # -- changes that wait, and those that were made ------------------------------------------------------

    async def pending(self, *, by: Caller) -> list[Proposal]:
        """Changes of the caller's tenant that wait for others: their own, those that ask them; all for auditors."""
        await self._ready()
        await self._plane.refresh()
        return self._requests.waiting(by, all_of_them=self._reads(by))

    async def confirm(self, change_id: str, *, by: Caller, reason: str = "") -> Outcome:
        """One person's yes to a waiting change; the last yes that it needs makes it.

        Raises:
            ApprovalError: `not_found`, `already_decided`, `not_entitled`, `expired`, or `mismatch`: what was asked for
                is not what would be done now.
            NotAllowedError: Policy does not let the caller approve this tool.
        """
        return await self._requests.decide(change_id, "approve", by, reason)

    async def reject(self, change_id: str, *, by: Caller, reason: str = "") -> Outcome:
        """One person's no; it ends the change.

        Raises:
            ApprovalError: See `confirm`.
            NotAllowedError: Policy does not let the caller approve this tool.
        """
        return await self._requests.decide(change_id, "reject", by, reason)

    async def history(self, name: str = "", *, by: Caller, limit: int = 100) -> list[ControlRecord]:
        """What was changed, newest first; with `name` of one tool only. Other tenants' switches are left out.

        Raises:
            NotAllowedError: Policy does not let the caller administer or read the audit.
        """
        await self._ready()
        self._may_read(by)
        found: list[ControlRecord] = []
        for stored in await self._s.store.control_history(limit=_HISTORY):
            about = stored.name.removeprefix("tool/").partition("@")[0]
            if stored.kind != "proposal" and stored.tenant in ("", by.tenant) and name in ("", about, stored.name):
                found.append(_record(self._plane.opened(stored)))
        return found[:limit]

    # -- inside -----------------------------------------------------------------------------------------

    def _reads(self, by: Caller) -> bool:
        policies, now_ns = self._s.world.policies, self._now_ns()
        return any(not isinstance(policies.may(by, one, None, now_ns=now_ns), Deny) for one in ("audit", "admin"))

    def _may_read(self, by: Caller) -> None:
        if not self._reads(by):
            raise NotAllowedError(f"{by.id} may neither administer nor read the audit")

    def _now_ns(self) -> int:
        return self._s.clock.now_us() * 1000


def _required(reason: str, where: str) -> None:
    if not reason.strip():
        raise ConfigError(f"{where}: reason is empty; say why, for those who read the history")


def _record(read: Read) -> ControlRecord:
    return ControlRecord(
        revision=read.revision,
        at_us=read.at_us,
        by=read.by,
        action=read.body.action,
        target=read.name or read.kind,
        tenant=read.tenant,
        was=read.body.was,
        now=read.body.now,
        reason=read.body.reason,
        confirmed_by=read.body.confirmed_by,
    )


def _policy_version(read: Read, *, in_force: bool) -> PolicyVersion:
    kept: PolicySet = read.value(PolicySet)
    return PolicyVersion(
        digest=kept.digest,
        in_force=in_force,
        sources=kept.texts or (),
        by=read.by,
        at_us=read.at_us,
        reason=read.body.reason,
    )
