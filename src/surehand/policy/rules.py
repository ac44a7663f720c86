"""`Rule`: one policy with the meaning of its annotations, and the reading of texts into rules."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from cedarpy import pst

from ..types import group_names
from . import cedar
from .decision import Requirement
from .hints import syntax_hint
from .sources import PolicySource, statements
from .syntax import Reads, Scope, action_names, reads_of, role_of, scope_of, widened

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}")
_ANNOTATIONS: Final = frozenset({"id", "approvers", "reason", "advice", "description"})
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
    source: str
    text: str
    effect: Literal["permit", "forbid"]
    groups: tuple[str, ...]
    """Whose yes lifts it; empty for a permit and for a forbid that nobody can lift."""
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
            Requirement(policy_id=self.id, group=group, reason=self.reason, policy_hash=self.hash)
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
        first.setdefault(rule.id, rule)
    rules.extend(rule for rule in _rules([builtin], problems) if rule.id not in first)
    return rules, problems


def _rules(sources: Iterable[PolicySource], problems: list[str]) -> Iterator[Rule]:
    for source in sources:
        for line, text in statements(source.text):
            rule = _rule(source.name, line, text, problems)
            if rule is not None:
                yield rule


def _rule(source: str, line: int, text: str, problems: list[str]) -> Rule | None:
    here = f"{source}: line {line}"
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
        else:
            return _meaning(source, text, dataclasses.replace(template, id=name), problems)
    return None


def _meaning(source: str, text: str, template: pst.Template, problems: list[str]) -> Rule:
    notes = template.annotations
    groups: tuple[str, ...] = ()
    wrong: list[str] = []
    if "approvers" in notes:
        try:
            groups = group_names(notes["approvers"])
        except ValueError:
            wrong.append(
                '@approvers is empty or names no group; write @approvers("finance") or @approvers("finance, legal")'
            )
        wrong += _approvers_wrong(template)
    unknown = sorted(set(notes) - _ANNOTATIONS)
    wrong += [
        f"the annotation @{name} has no meaning here; use {', '.join(sorted(_ANNOTATIONS))}, or a comment"
        for name in unknown
    ]
    reason = notes.get("reason", "").strip() or _reason(template, groups)
    advice = notes.get("advice", "").strip()
    rule = Rule(
        id=template.id,
        source=source,
        text=text,
        effect=template.effect,
        groups=groups,
        reason=f"{reason}; {advice}" if advice else reason,
        hash=sha256(cedar.render(template).encode()).hexdigest(),
        template=widened(template),
        scope=scope_of(template),
        reads=reads_of(template.clauses),
        entities=pst.entity_uids(template),
    )
    problems.extend(rule.problem(what) for what in wrong)
    return rule


def _reason(template: pst.Template, groups: tuple[str, ...]) -> str:
    if groups:
        return f'policy "{template.id}" asks for the yes of {", ".join(groups)}'
    verb = "forbids" if template.effect == "forbid" else "permits"
    return f'policy "{template.id}" {verb} it'


def _approvers_wrong(template: pst.Template) -> list[str]:
    wrong: list[str] = []
    if template.effect == "permit":
        wrong.append("@approvers on a permit asks nobody; put it on a forbid that people may lift")
    named = action_names(template.action)
    if named is None:
        wrong.append(
            '@approvers on an open action; write action in Action::"call" (or a tool\'s call, publish or admin)'
        )
    elif any(name not in ("call", "publish", "admin") and not name.startswith("call/") for name in named):
        wrong.append(
            "@approvers is for the actions call, publish and admin only; give other actions a policy of their own"
        )
    return wrong
