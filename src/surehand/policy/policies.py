"""`Policies`: everything that holds at one moment, ready to decide. Pure: no clock, no input or output after load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from ..errors import PolicyError
from ..provenance import CLEAN, Origin
from ..registry import Catalog
from ..spec import ToolSpec, content_hash
from ..types import Caller, group_names
from .cache import Bounded
from .checks import Checker
from .decision import SELF, Decision, Deny
from .entities import OF_THE_SYSTEM, user_entity
from .judge import judged, labels_of
from .rules import Rule, read_rules
from .slices import Kind, Slices
from .sources import BUILTIN_GROUP, PolicySource, builtin_source
from .values import cache_key, forged_key

GovernedAction: TypeAlias = Literal["resolve", "audit", "admin", "publish", "approve"]
"""What the console and the API ask about, besides viewing and calling."""

_SCHEME: Final = 1
"""Of the digest and of what policies see; another number makes every digest another one."""
_DECISIONS_MAX: Final = 32_768
_USERS_MAX: Final = 4_096
_SCOPES: Final = "surehand.scopes"
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


class Policies:
    """All policies in force with the tools they were checked against. Thread-safe. Make it with `load`."""

    digest: str
    """Of all texts in force, the built-in ones and the tenants' scopes included."""
    warnings: tuple[str, ...]
    """What should be looked at and does not hinder: one line each."""
    builtin: str
    """The text of the built-in policies, those included that a policy with the same id replaces."""
    rules: Mapping[str, Rule]
    """The policies in force by id."""

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
        self.warnings = warnings
        self._sources = sources
        self._tenant_scopes = tenant_scopes
        self._names_missing = _SCOPES in rules and rules[_SCOPES].source == builtin.name
        self.digest = content_hash(
            {
                "scheme": _SCHEME,
                "texts": sorted([source.name, source.text] for source in (builtin, *sources)),
                "tenant_scopes": {tenant: list(scopes) for tenant, scopes in tenant_scopes.items()},
            }
        )
        self._reads_now = any(rule.reads.reads("now") for rule in rules.values())
        self._slices = Slices(rules.values())
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
        incomplete: bool = False,
    ) -> Policies:
        """Reads policies, checks them against the tools, and adds the built-in ones that none of them replaces.

        Args:
            sources: Policy texts; none leaves only the built-in policies.
            catalog: The tools. Disabled and removed ones count as known names.
            approver_group: The role whose yes the built-in `surehand.high` asks for.
            tenant_scopes: Tenant -> the scopes it has at most. A tenant that is not named has no limit.
            irreversible: Whether calls that nobody can take back ask a person or are always denied.
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
        found = Checker(catalog, incomplete=incomplete).check(rules)
        problems = [*problems, *wrong, *found.problems]
        if problems:
            raise PolicyError(problems)
        return Policies(
            rules={rule.id: rule for rule in rules},
            sources=texts,
            builtin=builtin,
            tenant_scopes=scopes,
            warnings=tuple(found.warnings),
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
        key = forged_key(arguments)
        if key is not None:
            return Deny(policies=(), reasons=(f"the arguments hold the reserved key {key}",))
        target = self._slices.target("call", spec)
        cacheable = not (target.slice.now or self._slices.target("view", spec).slice.now)
        seen = cache_key(target.slice.values, target.slice.presence, arguments) if cacheable else None
        if seen is None:
            return self._authorized(caller, spec, arguments, now_ns, origin)
        whole: tuple[object, ...] = (spec.contract_hash, caller.identity, seen)
        if origin.untrusted and (target.slice.run or target.slice.labels):
            whole = (*whole, "untrusted", *labels_of(target, arguments, origin).items())
        found = self._calls.get(whole)
        return found or self._calls.put(whole, self._authorized(caller, spec, arguments, now_ns, origin))

    def view(self, caller: Caller, spec: ToolSpec, *, now_ns: int) -> Decision:
        """Whether a caller sees a tool. `Deny` hides it, and says why to operators; `Ask` lists and marks it.

        Never hides what `authorize` would allow or ask about, whatever the arguments.
        """
        may_view = self._other("view", caller, spec, now_ns)
        return may_view if isinstance(may_view, Deny) else self._other("listed", caller, spec, now_ns)

    def may_approve(self, approver: Caller, spec: ToolSpec, *, now_ns: int) -> Decision:
        """Whether somebody may approve calls of a tool at all. Whose yes a call needs is in its `Ask`."""
        return self._other("approve", approver, spec, now_ns)

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

    def _authorized(
        self, caller: Caller, spec: ToolSpec, arguments: Mapping[str, Any], now_ns: int, origin: Origin
    ) -> Decision:
        may_view = self._other("view", caller, spec, now_ns)
        if isinstance(may_view, Deny):
            return may_view
        return self._judged("call", caller, spec, arguments, now_ns, origin)

    def _other(self, kind: Kind, caller: Caller, spec: ToolSpec | None, now_ns: int) -> Decision:
        target = self._slices.target(kind, spec)
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
        origin: Origin = CLEAN,
    ) -> Decision:
        user = self._users.get(caller.identity)
        if user is None:
            user = self._users.put(caller.identity, user_entity(caller, self._scopes_of(caller)))
        target = self._slices.target(kind, spec)
        lacking = self._lacking(kind, caller, spec)
        return judged(target, caller, user=user, arguments=arguments, now_ns=now_ns, lacking=lacking, origin=origin)

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
        permits = self._slices.target(kind, spec).slice.rules.values()
        return [f"no policy permits {_DOING[kind]}{_role_hint(permits, caller)}"]


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
