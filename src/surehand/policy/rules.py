"""`Rule`: one policy with the meaning of its annotations, and the reading of texts into rules."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal
from urllib.parse import quote

from cedarpy import pst

from . import cedar
from .annotations import read_notes
from .decision import Requirement
from .hints import syntax_hint
from .sources import PolicySource, statements
from .syntax import Reads, Scope, reads_of, role_of, scope_of, widened

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}")
_OURS: Final = "surehand."
BUILTIN_IDS: Final = frozenset(
    _OURS + name
    for name in ("scopes", "medium", "high", "approve", "publish", "resolve", "audit", "admin", "irreversible")
)
"""Ids that replace a built-in policy; no other may begin like these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One policy, ready to be checked against tools and compiled."""

    id: str
    """Of a tenant's policy `TENANT/ID`, so that tenants may use the same ids."""
    source: str
    tenant: str | None
    """The only tenant that it holds for; `None` for all."""
    text: str
    effect: Literal["permit", "forbid"]
    groups: tuple[str, ...]
    """Whose yes lifts it; empty for a permit and for a forbid that nobody can lift."""
    quorum: int
    """How many distinct people of each group must say yes."""
    escalate_to: str
    """The role that counts for each group too when nobody has decided for a while; empty: none."""
    shadow: bool
    """Whether it is judged and recorded only."""
    reason: str
    """For people; never empty."""
    hash: str
    """Of its meaning: layout and comments do not count."""
    template: pst.Template
    scope: Scope
    reads: Reads
    entities: frozenset[pst.EntityUid]
    """All that it names."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What it asks for when it fires."""
        return tuple(
            Requirement(
                policy_id=self.id,
                group=group,
                reason=self.reason,
                policy_hash=self.hash,
                quorum=self.quorum,
                escalate_to=self.escalate_to,
            )
            for group in self.groups
        )

    @property
    def role(self) -> str | None:
        """The role that its head asks the principal to have; `None` if it asks for none."""
        return role_of(self.template)

    def problem(self, what: str) -> str:
        """A line about this policy."""
        return f'{self.source}: policy "{self.id}": {what}'


def read_rules(builtin: PolicySource, sources: Iterable[PolicySource]) -> tuple[list[Rule], list[str]]:
    """All policies in force, the built-in ones that nobody replaced included, and what is wrong with them."""
    problems: list[str] = []
    rules: list[Rule] = []
    first: dict[str, Rule] = {}
    for rule in _rules(sources, problems):
        rules.append(rule)
        if rule.id in first:
            place = first[rule.id].source
            problems.append(rule.problem(f"the id is taken by another policy in {place}; give each policy its own @id"))
        elif rule.id.startswith(_OURS) and rule.id not in BUILTIN_IDS:
            known = ", ".join(sorted(BUILTIN_IDS))
            problems.append(rule.problem(f"replaces no built-in policy; those are {known}; or use an id of your own"))
        elif rule.shadow and rule.id in BUILTIN_IDS:
            problems.append(
                rule.problem("in shadow mode it would replace a built-in policy by nothing; use another id")
            )
        first.setdefault(rule.id, rule)
    rules.extend(rule for rule in _rules([builtin], problems) if rule.id not in first)
    return rules, problems


def _rules(sources: Iterable[PolicySource], problems: list[str]) -> Iterator[Rule]:
    for source in sources:
        for line, text in statements(source.text):
            rule = _rule(source, line, text, problems)
            if rule is not None:
                yield rule


def _rule(source: PolicySource, line: int, text: str, problems: list[str]) -> Rule | None:
    here = f"{source.name}: line {line}"
    try:
        tree = cedar.parse(text)
    except ValueError as error:
        problems.append(f"{here}: does not parse: {error}; {syntax_hint(text)}")
        return None
    if tree.templates:
        problems.append(f"{here}: has a slot (?principal or ?resource), so it never applies; name what it is about")
        return None
    for template in tree.static_policies.values():
        name = template.annotations.get("id", "")
        if not name:
            problems.append(f'{here}: the policy has no @id; write @id("a-name-of-its-own") before it')
        elif not _ID.fullmatch(name):
            problems.append(f"{here}: @id({name!r}) must match {_ID.pattern}; choose a plain name")
        elif source.tenant is not None and name.startswith(_OURS):
            problems.append(f"{here}: @id({name!r}): a tenant's policy replaces no built-in one; use an id of its own")
        else:
            whole = name if source.tenant is None else f"{quote(source.tenant, safe='')}/{name}"
            return _meaning(source, text, dataclasses.replace(template, id=whole), problems)
    return None


def _meaning(source: PolicySource, text: str, template: pst.Template, problems: list[str]) -> Rule:
    notes = read_notes(template, source.tenant)
    rule = Rule(
        id=template.id,
        source=source.name,
        tenant=source.tenant,
        text=text,
        effect=template.effect,
        groups=notes.groups,
        quorum=notes.quorum,
        escalate_to=notes.escalate_to,
        shadow=notes.shadow,
        reason=notes.reason,
        hash=sha256(cedar.render(template).encode()).hexdigest(),
        template=widened(template),
        scope=scope_of(template),
        reads=reads_of(template.clauses),
        entities=pst.entity_uids(template),
    )
    problems.extend(rule.problem(what) for what in notes.wrong)
    return rule
