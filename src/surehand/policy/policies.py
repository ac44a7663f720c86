"""`Policies`: everything that holds at one moment, ready to decide. Pure: no clock, no input or output after load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ..errors import PolicyError
from ..provenance import CLEAN, Origin
from ..registry import Catalog
from ..spec import ToolSpec, content_hash
from ..types import BUILTIN_ROLES, Caller, Requirement, group_names
from .cache import Bounded
from .checks import Checker
from .decision import SELF, Decision, Deny
from .entities import OF_THE_SYSTEM, user_entity
from .judge import judged, labels_of
from .people import People
from .rules import Rule, read_rules
from .shadows import Request, Shadows, Step, too_many
from .slices import Kind, Slices
from .sources import BUILTIN_GROUP, PolicySource, builtin_source
from .values import LooksAt, cache_key, forged_key, looks_at

GovernedAction: TypeAlias = Literal["resolve", "audit", "admin", "publish", "approve"]
"""What the console and the API ask about, besides viewing and calling."""

_SCHEME: Final = 2
"""Of the digest and of what policies see; another number makes every digest another one."""
_DECISIONS_MAX: Final = 32_768
_USERS_MAX: Final = 4_096
_LOOKS_MAX: Final = 32_768
_SCOPES: Final = "surehand.scopes"
_IN_SHADOW: Final = "is in shadow mode: it is recorded and enforces nothing"
_DOING: Final[Mapping[Kind, str]] = {
    "call": "it",
    "listed": "it",
    "view": "viewing it",
    "approve": "approving it",
    "publish": "publishing it",
    "resolve": "resolving it",
    "audit": "reading the audit",
    "admin": "administration",
}


_ANYTHING: Final = PolicySource("shadow", '@id("surehand.anything") permit (principal, action, resource);')
"""Stands for a permit in shadow mode that applies."""


class Policies:
    """All policies in force with the tools they were checked against. Thread-safe. Make it with `load`."""

    digest: str
    """Of all texts in force, the built-in ones and the tenants' scopes included."""
    warnings: tuple[str, ...]
    """What should be looked at and does not hinder: one line each."""
    builtin: str
    """The text of the built-in policies, those included that a policy with the same id replaces."""
    rules: Mapping[str, Rule]
    """The policies in force by id, those in shadow mode included."""

    def __init__(
        self,
        *,
        rules: Mapping[str, Rule],
        sources: tuple[PolicySource, ...],
        builtin: PolicySource,
        tenant_scopes: Mapping[str, tuple[str, ...]],
        warnings: tuple[str, ...],
    ) -> None:
        self.rules = rules
        self.builtin = builtin.text
        self._builtin = builtin
        self.warnings = warnings
        self._sources = sources
        self._tenant_scopes = tenant_scopes
        self._names_missing = _SCOPES in rules and rules[_SCOPES].source == builtin.name
        self.digest = content_hash(
            {
                "scheme": _SCHEME,
                "texts": sorted([source.name, source.text, source.tenant or ""] for source in (builtin, *sources)),
                "tenant_scopes": {tenant: list(scopes) for tenant, scopes in tenant_scopes.items()},
            }
        )
        enforced = [rule for rule in rules.values() if not rule.shadow]
        shadows = [rule for rule in rules.values() if rule.shadow]
        self._reads_now = any(rule.reads.reads("now") for rule in enforced)
        self._slices = Slices(enforced)
        self._shadows = Shadows(shadows)
        self._permitting = Slices([*enforced, *read_rules(_ANYTHING, ())[0]]) if shadows else self._slices
        self._own = {rule.tenant for rule in rules.values() if rule.tenant is not None}
        self._looks: Bounded[tuple[object, ...], LooksAt] = Bounded(_LOOKS_MAX)
        self._users: Bounded[tuple[object, ...], str] = Bounded(_USERS_MAX)
        self._calls: Bounded[tuple[object, ...], Decision] = Bounded(_DECISIONS_MAX)
        self._others: Bounded[tuple[object, ...], Decision] = Bounded(_DECISIONS_MAX)

    @staticmethod
    def load(
        sources: Iterable[PolicySource],
        catalog: Catalog,
        *,
        approver_group: str = BUILTIN_GROUP,
        tenant_scopes: Mapping[str, Iterable[str]] | None = None,
        irreversible: Literal["ask", "deny"] = "ask",
        roles: Iterable[str] = (),
        incomplete: bool = False,
    ) -> Policies:
        """Reads policies, checks them against the tools, and adds the built-in ones that none of them replaces.

        Args:
            sources: Policy texts; none leaves only the built-in policies.
            catalog: The tools. Disabled and removed ones count as known names.
            approver_group: The role whose yes the built-in `surehand.high` asks for.
            tenant_scopes: Tenant -> the scopes it has at most. A tenant that is not named has no limit.
            irreversible: Whether calls that nobody can take back ask a person or are always denied.
            roles: All that callers may have besides those of the built-in policies: another one is a problem. None
                says nothing about roles.
            incomplete: A source of tools is down: unknown tools and arguments are warnings.

        Raises:
            PolicyError: With every problem that was found.
        """
        texts = tuple(sources)
        builtin = builtin_source(approver_group, irreversible)
        if not _is_role(approver_group):
            raise PolicyError([f"approver_group: {approver_group!r} cannot approve for others; name a role"])
        rules, problems = read_rules(builtin, texts)
        scopes, wrong = _tenant_scopes(tenant_scopes or {})
        known = (*roles, approver_group, *BUILTIN_ROLES) if (roles := tuple(roles)) else ()
        people = People(roles=known, tenants=scopes)
        wrong += [rule.problem(what) for rule in rules for what in people.unknown(rule)]
        found = Checker(catalog, incomplete=incomplete).check(rules)
        problems = [*problems, *wrong, *too_many(rules), *found.problems]
        if problems:
            raise PolicyError(problems)
        return Policies(
            rules={rule.id: rule for rule in rules},
            sources=texts,
            builtin=builtin,
            tenant_scopes=scopes,
            warnings=(*found.warnings, *(rule.problem(_IN_SHADOW) for rule in rules if rule.shadow)),
        )

    def without(self, policy_ids: Iterable[str]) -> Policies:
        """The same less some of them, to find out what each of them does. Never to be put in force."""
        left_out = set(policy_ids)
        return Policies(
            rules={name: rule for name, rule in self.rules.items() if name not in left_out},
            sources=self._sources,
            builtin=self._builtin,
            tenant_scopes=self._tenant_scopes,
            warnings=self.warnings,
        )

    def sources(self) -> tuple[PolicySource, ...]:
        """The texts that were loaded, as they were given."""
        return self._sources

    @property
    def reads_now(self) -> bool:
        """Whether any policy looks at the time, so that its decisions cannot be kept."""
        return self._reads_now

    def authorize(
        self,
        caller: Caller,
        spec: ToolSpec,
        arguments: Mapping[str, Any],
        *,
        now_ns: int,
        origin: Origin = CLEAN,
    ) -> Decision:
        """Whether this call may run. What may not be viewed may not be called.

        Args:
            caller: On whose behalf.
            spec: The pinned version.
            arguments: All final arguments, injected ones included.
            now_ns: Nanoseconds since the epoch.
            origin: Where the arguments come from.
        """
        contract = (spec.contract_hash, spec.stage)
        looks = self._looks.get((contract, caller.tenant) if caller.tenant in self._own else contract)
        if looks is None:
            looks = self._look(spec, caller.tenant)
        # Arguments that hold no keys by their schema need no look for a kept decision: nothing of them goes to Cedar.
        if not looks.plain.issuperset(arguments) and (forged := _forged(arguments)) is not None:
            return forged
        seen = cache_key(looks, arguments) if looks.keeps else None
        whole: tuple[object, ...] = (contract, caller.identity, seen)
        if origin.untrusted:
            labels = self._labels(spec, caller, arguments, origin)
            seen, whole = (None, ()) if labels is None else (seen, (*whole, "untrusted", *labels))
        kept = None if seen is None else self._calls.get(whole)
        if kept is not None:
            return kept
        decision = _forged(arguments)
        if decision is not None:
            return decision
        decision = self._authorized(caller, spec, arguments, now_ns, origin)
        return decision if seen is None else self._calls.put(whole, decision)

    def _labels(
        self, spec: ToolSpec, caller: Caller, arguments: Mapping[str, Any], origin: Origin
    ) -> tuple[object, ...] | None:
        """What a kept decision depends on besides, where something from outside was read; `None`: keep none."""
        if self._shadows:
            return None
        target = self._slices.target("call", spec, caller.tenant)
        return tuple(labels_of(target, arguments, origin).items())

    def _look(self, spec: ToolSpec, tenant: str) -> LooksAt:
        target = self._slices.target("call", spec, tenant)
        values, presence, now = self._shadows.reads(spec, tenant)
        looks = looks_at(
            {*values, *target.slice.values},
            {*presence, *target.slice.presence},
            target.types,
            keeps=not (now or target.slice.now or self._slices.target("view", spec, tenant).slice.now),
        )
        contract = (spec.contract_hash, spec.stage)
        return self._looks.put((contract, tenant) if tenant in self._own else contract, looks)

    def view(self, caller: Caller, spec: ToolSpec, *, now_ns: int) -> Decision:
        """Whether a caller sees a tool. `Deny` hides it, and says why to operators; `Ask` lists and marks it.

        Never hides what `authorize` would allow or ask about, whatever the arguments.
        """
        may_view = self._other("view", caller, spec, now_ns)
        return may_view if isinstance(may_view, Deny) else self._other("listed", caller, spec, now_ns)

    def may_approve(self, approver: Caller, spec: ToolSpec, *, now_ns: int) -> Decision:
        """Whether somebody may approve calls of a tool at all. Whose yes a call needs is in its `Ask`."""
        return self._other("approve", approver, spec, now_ns)

    def asking(self, spec: ToolSpec, tenant: str) -> tuple[Requirement, ...]:
        """What people may be asked about a tenant's calls of a tool, whatever its arguments are and whoever calls."""
        rules = self._slices.target("call", spec, tenant).slice.rules
        return tuple(need for rule in rules.values() for need in rule.requirements)

    def may(self, caller: Caller, action: GovernedAction, spec: ToolSpec | None, *, now_ns: int) -> Decision:
        """Whether a caller may do something other than viewing and calling.

        Args:
            caller: Who asks.
            action: What for.
            spec: About which tool; `None` for none in particular, which `publish` and `approve` never are.
            now_ns: Nanoseconds since the epoch.
        """
        if spec is None and action not in OF_THE_SYSTEM:
            return Deny(policies=(), reasons=(f"{action} is always about one tool",))
        return self._other(action, caller, spec, now_ns)

    def missing(self, caller: Caller, spec: ToolSpec) -> tuple[str, ...]:
        """The permissions that a caller or their tenant lacks, while the built-in policy asks for them."""
        if not self._names_missing:
            return ()
        needed = set(spec.permissions)
        return tuple(sorted(needed.difference(caller.scopes) | needed.difference(self._scopes_of(caller))))

    def _authorized(
        self, caller: Caller, spec: ToolSpec, arguments: Mapping[str, Any], now_ns: int, origin: Origin
    ) -> Decision:
        may_view = self._other("view", caller, spec, now_ns)
        denied = isinstance(may_view, Deny)
        decision = may_view if denied else self._judged("call", caller, spec, arguments, now_ns, origin=origin)
        if not self._shadows:
            return decision

        def judge(step: Step, slices: Slices | None = None) -> Decision:
            if slices is None and step == "view":
                return may_view
            if slices is None and not denied:
                return decision
            return self._judged(step, caller, spec, arguments, now_ns, slices, origin=origin)

        request = Request(
            spec=spec, caller=caller, user=self._user(caller), arguments=arguments, now_ns=now_ns, origin=origin
        )
        shadow = self._shadows.of(request, decision, judge, lambda step: judge(step, self._permitting))
        return msgspec.structs.replace(decision, shadow=shadow) if shadow else decision

    def _other(self, kind: Kind, caller: Caller, spec: ToolSpec | None, now_ns: int) -> Decision:
        target = self._slices.target(kind, spec, caller.tenant)
        if target.slice.now:
            return self._judged(kind, caller, spec, {}, now_ns)
        key = (target.alike, caller.identity)
        return self._others.get(key) or self._others.put(key, self._judged(kind, caller, spec, {}, now_ns))

    def _judged(
        self,
        kind: Kind,
        caller: Caller,
        spec: ToolSpec | None,
        arguments: Mapping[str, Any],
        now_ns: int,
        slices: Slices | None = None,
        *,
        origin: Origin = CLEAN,
    ) -> Decision:
        target = (slices or self._slices).target(kind, spec, caller.tenant)
        lacking = self._lacking(kind, caller, spec)
        return judged(
            target,
            caller,
            user=self._user(caller),
            arguments=arguments,
            now_ns=now_ns,
            lacking=lacking,
            origin=origin,
        )

    def _user(self, caller: Caller) -> str:
        user = self._users.get(caller.identity)
        if user is None:
            user = self._users.put(caller.identity, user_entity(caller, self._scopes_of(caller)))
        return user

    def _scopes_of(self, caller: Caller) -> tuple[str, ...]:
        return self._tenant_scopes.get(caller.tenant, caller.scopes)

    def _lacking(self, kind: Kind, caller: Caller, spec: ToolSpec | None) -> list[str]:
        lacking: list[str] = []
        if spec is not None and self._names_missing and kind in ("view", "call", "listed"):
            needed = set(spec.permissions)
            for whose, scopes in (("caller", caller.scopes), ("tenant", self._scopes_of(caller))):
                missing = sorted(needed.difference(scopes))
                if missing and not (whose == "tenant" and caller.tenant not in self._tenant_scopes):
                    lacking.append(f"the {whose} lacks the permission {', '.join(missing)}")
        if lacking or kind in ("view", "call", "listed"):
            return lacking or [f"no policy permits {_DOING[kind]}"]
        permits = self._slices.target(kind, spec, caller.tenant).slice.rules.values()
        return [f"no policy permits {_DOING[kind]}{_role_hint(permits, caller)}"]


def _forged(arguments: Mapping[str, Any]) -> Deny | None:
    key = forged_key(arguments)
    return None if key is None else Deny(policies=(), reasons=(f"the arguments hold the reserved key {key}",))


def _is_role(group: str) -> bool:
    try:
        return group_names(group) == (group,) and group != SELF
    except ValueError:
        return False


def _role_hint(rules: Iterable[Rule], caller: Caller) -> str:
    """Which role would do, where each permit asks for one that the caller does not have."""
    roles = [rule.role for rule in rules if rule.effect == "permit"]
    known = sorted({role for role in roles if role is not None})
    if not known or None in roles or not set(known).isdisjoint(caller.roles):
        return ""
    return f"; it needs the role {' or '.join(known)}"


def _tenant_scopes(given: Mapping[str, Iterable[str]]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    scopes: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for tenant, values in given.items():
        if isinstance(values, str):
            problems.append(f"tenant_scopes: {tenant!r} has the string {values!r}; write a list of strings")
        else:
            scopes[tenant] = tuple(sorted(set(values)))
    return scopes, problems
