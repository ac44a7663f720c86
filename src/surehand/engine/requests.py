"""How a change of the control plane is asked for: policy says whether it is made, waits for others, or is refused."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from ..errors import NotFoundError, PolicyError, RegistryError
from ..pipeline import Services
from ..policy import Ask, Decision, Deny, Policies, PolicySource
from ..spec import ToolSpec
from ..types import Caller, Requirement
from ..view import World
from .control_state import Change, ControlState, Proposal
from .plane import Plane, Planned
from .planning import planned
from .proposals import Proposals, not_allowed
from .worlds import Worlds

_REASON_CHARS = 1000
_NARROWS = frozenset({"disable", "kill"})
"""What only takes away waits for nobody: there a question counts as a yes."""
_OF_TOOLS = frozenset({"promote", "disable", "deprecate", "canary", "alias"})


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a change."""

    status: Literal["done", "pending", "rejected"]
    target: str
    revision: int | None = None
    """From which it holds."""
    change_id: str = ""
    """Of one that others have to confirm, or had to."""
    needs: tuple[Requirement, ...] = ()
    """Whose yes that needs."""


class Requests:
    """Of one engine."""

    def __init__(self, services: Services, plane: Plane, worlds: Worlds, ready: Callable[[], Awaitable[World]]) -> None:
        self._s = services
        self._plane = plane
        self._worlds = worlds
        self._ready = ready
        self._proposals = Proposals(services, plane, self.judge)

    def waiting(self, by: Caller, *, all_of_them: bool) -> list[Proposal]:
        """See `Proposals.listed`."""
        return self._proposals.listed(by, all_of_them=all_of_them)

    async def request(self, change: Change, by: Caller) -> Outcome:
        """Makes a change, or stores it for others to confirm, as policy says.

        Raises:
            RegistryError, NotFoundError, PolicyError: There is no such change to make.
            NotAllowedError: Policy does not let the caller.
        """
        await self._ready()
        await self._plane.refresh()
        change = msgspec.structs.replace(change, reason=self._s.redactor.polish(change.reason, _REASON_CHARS))
        decision = self.judge(change, by)
        if isinstance(decision, Ask) and change.action not in _NARROWS:
            self._make(change, self._plane.state)
            proposal = await self._proposals.ask(change, decision.requirements, by)
            return Outcome(status="pending", target=change.target, change_id=proposal.change_id, needs=proposal.needs)

        def plan(state: ControlState) -> list[Planned]:
            self.judge(change, by)  # also if policies were replaced meanwhile
            return [self._make(change, state)]

        return Outcome(status="done", target=change.target, revision=await self._plane.write(plan, by=by))

    async def decide(self, change_id: str, verdict: Literal["approve", "reject"], by: Caller, reason: str) -> Outcome:
        """Counts one answer to a waiting change; the last yes makes it.

        Raises:
            ApprovalError: See `Control.confirm`.
            NotAllowedError: Policy does not let the caller approve changes of this tool.
        """
        await self._ready()
        await self._plane.refresh()
        found = self._plane.state.proposal(by.tenant, change_id)
        spec = None if found is None else self._spec(found[1].change)
        if spec is not None:
            may = self._s.world.policies.may_approve(by, spec, now_ns=self._now_ns())
            if isinstance(may, Deny):
                raise not_allowed(by, f"approve changes of {spec.name}", may)
        words = self._s.redactor.polish(reason, _REASON_CHARS)
        after, revision = await self._proposals.decide(change_id, verdict, by=by, reason=words, make=self._make)
        status: Any = {"approved": "done", "open": "pending", "rejected": "rejected"}[after.status]
        return Outcome(
            status=status, target=after.change.target, revision=revision, change_id=change_id, needs=after.needs
        )

    def _make(self, change: Change, state: ControlState) -> Planned:
        if change.action == "alias":
            self._worlds.registry.check_alias(change.alias, change.name)
        if change.action == "policies" and change.digest:
            self._worlds.check([one.source for one in change.sources])
        return planned(change, state, self._s.world.catalog)

    def judge(self, change: Change, by: Caller) -> Decision:
        """What policy says of a change: never a denial, which is raised.

        Raises:
            NotAllowedError: Policy does not let the caller.
        """
        policies, now_ns = self._s.world.policies, self._now_ns()
        spec = self._spec(change)
        decision = policies.may(by, "admin" if spec is None else "publish", spec, now_ns=now_ns)
        if isinstance(decision, Deny):
            raise not_allowed(by, _doing(change), decision)
        return decision

    def _spec(self, change: Change) -> ToolSpec | None:
        """The tool that a change is about; none for policies and switches."""
        if change.action not in _OF_TOOLS:
            if change.action == "kill" and change.name:
                self._require_known(change.name)
            return None
        catalog = self._s.world.catalog
        entry = catalog.resolve(change.name, change.version or None) or next(
            (one for (name, _), one in catalog.entries.items() if name == change.name and not change.version), None
        )
        if entry is None or entry.removed:
            wanted = change.name if change.action == "alias" else change.target
            raise RegistryError("not_found", change.action, f"there is no tool {wanted!r} here")
        return entry.tool.spec

    def _require_known(self, tool: str) -> None:
        """A slip of an operator in a hurry must not look like a switch that works."""
        names = {name for name, _ in (*self._s.world.catalog.entries, *self._plane.state.standings)}
        if tool not in names:
            near = difflib.get_close_matches(tool, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; tools are {', '.join(sorted(names)) or 'none'}"
            raise NotFoundError(f"there is no tool {tool!r}{hint}")

    def checked_policies(self, sources: tuple[PolicySource, ...] | None, by: Caller) -> Policies:
        """A set that might be published next.

        Raises:
            PolicyError: It does not fit the tools, or takes from the caller the right to publish another.
        """
        policies = self._worlds.check(sources)
        may = policies.may(by, "admin", None, now_ns=self._now_ns())
        if isinstance(may, Deny):
            why = f"under these policies {by.id} could not publish the next ones: {'; '.join(may.reasons)}"
            raise PolicyError([why])
        return policies

    def _now_ns(self) -> int:
        return self._s.clock.now_us() * 1000


def _doing(change: Change) -> str:
    if change.action == "policies":
        return "publish policies"
    return f"{change.action} {change.target}"
