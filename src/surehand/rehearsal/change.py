"""What would make another decision of a call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Final, Literal

import msgspec

from ..policy import Ask, Decision, Deny, Policies, Word, roles_of, word
from ..spec import ToolSpec
from ..types import Caller

_ROLES_MAX: Final = 50
_RANK: Final[dict[Word, int]] = {"deny": 0, "ask": 1, "allow": 2}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that would turn the decision."""

    kind: Literal["scopes", "role", "without"]
    """The caller's scopes had these; the caller had this role; these policies did not hold."""
    names: tuple[str, ...]
    decision: Word
    reasons: tuple[str, ...]


def changes(
    policies: Policies,
    caller: Caller,
    spec: ToolSpec,
    decide: Callable[[Policies, Caller], Decision],
) -> tuple[Change, ...]:
    """What would make the decision better for the caller, each thing by itself.

    Args:
        policies: Those in force.
        caller: Whose call it is.
        spec: The tool.
        decide: What policies say of this call, were it another caller's.
    """
    now = decide(policies, caller)
    return tuple(
        one
        for one in (
            *_scopes(policies, caller, spec, decide),
            *_roles(policies, caller, decide),
            *_without(policies, caller, now, decide),
        )
        if _RANK[one.decision] > _RANK[word(now)]
    )


Decide = Callable[[Policies, Caller], Decision]


def _scopes(policies: Policies, caller: Caller, spec: ToolSpec, decide: Decide) -> Iterator[Change]:
    missing = tuple(sorted(set(spec.permissions).difference(caller.scopes)))
    if missing:
        then = decide(policies, dataclasses.replace(caller, scopes=(*caller.scopes, *missing)))
        yield _change("scopes", missing, then)


def _roles(policies: Policies, caller: Caller, decide: Decide) -> Iterator[Change]:
    """Only roles that a policy names can change anything."""
    named = {role for rule in policies.rules.values() if not rule.shadow for role in roles_of(rule)}
    for role in sorted(named.difference(caller.roles))[:_ROLES_MAX]:
        yield _change("role", (role,), decide(policies, dataclasses.replace(caller, roles=(*caller.roles, role))))


def _without(policies: Policies, caller: Caller, now: Decision, decide: Decide) -> Iterator[Change]:
    """Each policy that stands in the way, or all of them if none does alone."""
    if not isinstance(now, Ask | Deny):
        return
    standing = [name for name in now.policies if name in policies.rules]
    one_by_one = [_change("without", (name,), decide(policies.without([name]), caller)) for name in standing]
    yield from one_by_one
    if len(standing) > 1:
        together = _change("without", tuple(standing), decide(policies.without(standing), caller))
        if all(_RANK[one.decision] < _RANK[together.decision] for one in one_by_one):
            yield together


def _change(kind: Literal["scopes", "role", "without"], names: tuple[str, ...], then: Decision) -> Change:
    return Change(kind=kind, names=names, decision=word(then), reasons=then.reasons)
