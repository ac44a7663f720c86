"""Roles and tenants that policies name and that nobody can have or be in."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ..types import SELF
from .misuse import suggested
from .rules import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who there is. An empty collection means that nobody said."""

    roles: Collection[str] = ()
    """All roles that callers may have."""
    tenants: Collection[str] = ()

    def unknown(self, rule: Rule) -> Iterable[str]:
        """One line for each name that is not known, without the policy's name."""
        if self.roles:
            for role in sorted(roles_of(rule) - set(self.roles)):
                yield f'there is no role "{role}"; {suggested(role, self.roles) or "correct it, or add it"}'
        if self.tenants:
            for tenant in sorted(_tenants_of(rule) - set(self.tenants)):
                yield f'there is no tenant "{tenant}"; {suggested(tenant, self.tenants) or "add it, or correct it"}'


def roles_of(rule: Rule) -> set[str]:
    """The roles that a policy names: of principals, and of those whom it asks."""
    named = {uid.id for uid in rule.entities if str(uid.type) == "Role"}
    return (named | set(rule.groups) | {rule.escalate_to}) - {SELF, ""}


def _tenants_of(rule: Rule) -> set[str]:
    named = {uid.id for uid in rule.entities if str(uid.type) == "Tenant"}
    return named if rule.tenant is None else named | {rule.tenant}
