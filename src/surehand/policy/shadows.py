"""Policies in shadow mode: what each would have made of a call, were it enforced. They allow, ask and deny nothing."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from ..provenance import CLEAN, Origin
from ..spec import ToolSpec
from ..types import Caller
from .decision import Allow, Ask, Decision, Deny, Requirement, Shadow, word
from .judge import applies
from .rules import Rule
from .slices import Slices, Target
from .syntax import Path

SHADOWS_MAX: Final = 50
"""For one tenant: each is recorded with every call that it would change."""

Step = Literal["view", "call"]
Judge = Callable[[Step], Decision]
"""What the policies in force say of one step of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call, as policies in shadow mode look at it."""

    spec: ToolSpec
    caller: Caller
    user: str
    """The caller as a Cedar entity, in JSON."""
    arguments: Mapping[str, Any]
    now_ns: int
    origin: Origin = CLEAN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Apart:
    """One policy by itself, turned into a permit: it applies if that allows."""

    rule: Rule
    slices: Slices

    def target(self, step: Step, spec: ToolSpec, tenant: str) -> Target | None:
        """`None` if it is not about this."""
        target = self.slices.target(step, spec, tenant)
        return target if target.slice.rules else None


class Shadows:
    """The policies in shadow mode of one set of policies.

    Args:
        rules: Those in shadow mode.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._apart = [_apart(rule) for rule in sorted(rules, key=lambda rule: rule.id)]

    def __bool__(self) -> bool:
        return bool(self._apart)

    def reads(self, spec: ToolSpec, tenant: str) -> tuple[set[Path], set[Path], bool]:
        """Arguments whose value they use, arguments that they ask for, and whether any looks at the time."""
        values: set[Path] = set()
        presence: set[Path] = set()
        now = False
        for apart in self._apart:
            for step in _STEPS:
                target = apart.target(step, spec, tenant)
                if target is not None:
                    values.update(target.slice.values)
                    presence.update(target.slice.presence)
                    now = now or target.slice.now
        return values, presence, now

    def of(self, request: Request, decision: Decision, judge: Judge, permitted: Judge) -> tuple[Shadow, ...]:
        """What they would have changed.

        Args:
            request: The call.
            decision: What the policies in force say of it.
            judge: The same of one of its steps.
            permitted: The same, were there one more permit, that applies.
        """
        found: list[Shadow] = []
        for apart in self._apart:
            then = _enforced(apart, request, judge, permitted)
            if then is not None and _differs(decision, then):
                found.append(_shadow(apart.rule, then))
        return tuple(found)


_STEPS: Final[tuple[Step, Step]] = ("view", "call")


def too_many(rules: Iterable[Rule]) -> list[str]:
    """A problem for each tenant that has more of them than `SHADOWS_MAX`."""
    count = Counter(rule.tenant for rule in rules if rule.shadow)
    shared = count[None]
    tenants = [tenant for tenant in count if tenant is not None] or [None]
    return [
        f'{shared + (count[tenant] if tenant else 0)} policies are in @mode("shadow")'
        f"{f' for the tenant {tenant}' if tenant else ''}; at most {SHADOWS_MAX} may be at once: enforce or remove some"
        for tenant in tenants
        if shared + (count[tenant] if tenant else 0) > SHADOWS_MAX
    ]


def _apart(rule: Rule) -> _Apart:
    alone = dataclasses.replace(rule.template, effect="permit")
    return _Apart(rule=rule, slices=Slices([dataclasses.replace(rule, template=alone, effect="permit", groups=())]))


def _enforced(apart: _Apart, request: Request, judge: Judge, permitted: Judge) -> Decision | None:
    """The decision, were this one policy enforced; `None` if it is about nothing of the call."""
    tenant, spec = request.caller.tenant, request.spec
    targets = [apart.target(step, spec, tenant) for step in _STEPS]
    if not any(targets):
        return None
    decision: Decision = Deny(policies=(), reasons=())
    for step, target in zip(_STEPS, targets, strict=True):
        decision = judge(step)
        if target is not None:
            decision = _with(apart.rule, target, request, decision, partial(permitted, step))
        if isinstance(decision, Deny):
            break
    return decision


def _with(rule: Rule, target: Target, request: Request, base: Decision, permitted: Callable[[], Decision]) -> Decision:
    holds = applies(
        target,
        request.caller,
        user=request.user,
        arguments=request.arguments,
        now_ns=request.now_ns,
        origin=request.origin,
    )
    if holds is None:
        return Deny(policies=(rule.id,), reasons=(rule.reason,))
    if not holds:
        return base
    if rule.effect == "permit":
        return permitted() if isinstance(base, Deny) else base
    if isinstance(base, Deny) or not rule.groups:
        return Deny(policies=(rule.id,), reasons=(rule.reason,))
    earlier = base.requirements if isinstance(base, Ask) else ()
    return Ask(policies=(rule.id,), reasons=(rule.reason,), requirements=(*earlier, *rule.requirements))


def _differs(decision: Decision, then: Decision) -> bool:
    return word(decision) != word(then) or _needs(decision) != _needs(then)


def _needs(decision: Decision) -> tuple[Requirement, ...]:
    return decision.requirements if isinstance(decision, Ask) else ()


def _shadow(rule: Rule, then: Decision) -> Shadow:
    own = () if isinstance(then, Allow | Deny) else rule.groups
    return Shadow(policy_id=rule.id, decision=word(then), groups=own, reason=rule.reason, policy_hash=rule.hash)
