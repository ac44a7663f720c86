"""The one place that talks to Cedar: parse, render, validate, evaluate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cedarpy
from cedarpy import Entities, PolicySet, Schema, pst

_ERRING = re.compile(r"policy `([^`]+)`")
_PREFIX = re.compile(r"^for policy `[^`]+`, ")
ALLOW = cedarpy.Decision.Allow
DENY = cedarpy.Decision.Deny


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one evaluation said."""

    allowed: bool
    decided: bool
    """False if Cedar could not read the request: that is neither yes nor no."""
    policies: frozenset[str]
    """The policies that decided: permits if allowed, forbids if not; empty when no permit applied."""
    erring: frozenset[str]
    """The policies that failed. Cedar skips them, so an erring forbid would allow."""


def parse(text: str) -> pst.PolicySet:
    """The syntax tree of a policy text.

    Raises:
        ValueError: It does not parse, or nests more than 100 levels.
    """
    return PolicySet.from_str(text).to_pst()


def policy_set(templates: Iterable[pst.Template]) -> PolicySet:
    """Compiles policies under their own ids."""
    named = pst.FrozenMap({template.id: template for template in templates})
    return PolicySet.from_pst(pst.PolicySet(templates=pst.FrozenMap(), static_policies=named, template_links=()))


def render(template: pst.Template) -> str:
    """The policy as Cedar writes it: one spelling for all texts that mean the same tree."""
    return str(policy_set([template]))


def validate(template: pst.Template, schema: Schema) -> list[str]:
    """What the schema checker has to say against a policy, each thing once."""
    found = cedarpy.validate_policies(render(template), schema).errors  # pyright: ignore[reportUnknownMemberType]
    return list(dict.fromkeys(_PREFIX.sub("", error.error) for error in found))


def entities_of(text: str, also: Entities | None = None) -> Entities:
    """Entities from their JSON document, together with others.

    Raises:
        ValueError: An entity is not one, or is in both.
    """
    if also is None:
        return Entities.from_json_str(text)  # pyright: ignore[reportUnknownMemberType]
    return also.with_added_json_str(text)  # pyright: ignore[reportUnknownMemberType]


def evaluate(policies: PolicySet, entities: Entities, request: dict[str, Any]) -> Verdict:
    """Asks once. Total: what Cedar cannot read comes back as not decided."""
    result = cedarpy.is_authorized(request, policies, entities)  # pyright: ignore[reportUnknownMemberType]
    erring = frozenset(_erring(error) for error in result.diagnostics.errors)
    allowed = result.decision is ALLOW
    return Verdict(
        allowed=allowed,
        decided=allowed or result.decision is DENY,
        policies=frozenset(result.diagnostics.reasons),
        erring=erring,
    )


def _erring(error: str) -> str:
    named = _ERRING.search(error)
    return named.group(1) if named else "(unnamed)"
