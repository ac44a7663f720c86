"""The policies that can matter for one tool and action, compiled at first use and shared by all tools alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Literal, TypeAlias

from cedarpy import Entities, PolicySet

from ..spec import ToolSpec
from . import cedar
from .argument_types import RecordOf, argument_types
from .cache import Bounded
from .entities import SYSTEM, TOOL, PlainAction, call_action, target_entities, uid
from .rules import Rule
from .syntax import Path, without_arguments
from .values import Wanted, wanted

Kind: TypeAlias = Literal["call", "listed"] | PlainAction
"""`listed` is the call as far as it can be judged without arguments; the others are actions."""

_NUMBERS = count()
_SHARED_MAX = 4_096
_TARGETS_MAX = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some policies, compiled."""

    number: int
    """No other slice has it."""
    rules: Mapping[str, Rule]
    policies: PolicySet
    lifted: PolicySet | None
    """The same without the forbids that people may lift; `None` if there are none of those."""
    opened: frozenset[str]
    """Permits that lost a condition on arguments, so that their failing proves nothing."""
    values: tuple[Path, ...]
    """Paths of arguments whose value is used."""
    presence: tuple[Path, ...]
    """Paths of arguments that are only asked for with `has`."""
    want: Wanted
    tool: tuple[str, ...]
    """Attributes of the tool that are looked at."""
    itself: bool
    """Whether it matters which tool it is, besides its attributes."""
    labels: tuple[str, ...]
    """Arguments of which it matters where they come from."""
    environment: bool
    run: bool
    now: bool


@dataclass(frozen=True, kw_only=True)
class Target:
    """A slice with the tool (or the system) and the action that it is asked about."""

    slice: Slice
    action: str
    spec: ToolSpec | None
    with_arguments: bool
    alike: tuple[object, ...]
    """Equal for tools that the policies cannot tell apart, arguments aside."""

    @cached_property
    def resource(self) -> dict[str, str]:
        """The tool, or the system."""
        return uid("System", SYSTEM) if self.spec is None else uid("Tool", self.spec.name)

    @cached_property
    def entities(self) -> Entities:
        """All entities of the request but the caller."""
        return cedar.entities_of(target_entities(self.action, self.spec))

    @cached_property
    def types(self) -> RecordOf:
        """The types of the tool's arguments."""
        return RecordOf({}) if self.spec is None else argument_types(self.spec)


class Slices:
    """Compiles what is asked for. Thread-safe: the same work may be done twice, with the same result.

    Args:
        rules: Those that are enforced.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = sorted(rules, key=lambda rule: rule.id)
        self._tenants = {rule.tenant for rule in self._rules if rule.tenant is not None}
        self._wide: list[Rule] = []
        self._by_name: dict[str, list[Rule]] = {}
        for rule in self._rules:
            names = rule.scope.names
            if names is None:
                self._wide.append(rule)
            for name in names or ():
                self._by_name.setdefault(name, []).append(rule)
        self._shared: Bounded[tuple[object, ...], Slice] = Bounded(_SHARED_MAX)
        self._targets: Bounded[tuple[Kind, str, str, str | None], Target] = Bounded(_TARGETS_MAX)

    def target(self, kind: Kind, spec: ToolSpec | None, tenant: str) -> Target:
        """What a question of this kind about this tool is put to: never to a policy of another tenant."""
        own = tenant if tenant in self._tenants else None
        key = (kind, "", "", own) if spec is None else (kind, spec.contract_hash, spec.stage, own)
        return self._targets.get(key) or self._targets.put(key, self._compile(kind, spec, own))

    def _compile(self, kind: Kind, spec: ToolSpec | None, tenant: str | None) -> Target:
        is_call = kind in ("call", "listed")
        if is_call and spec is not None:
            action = call_action(spec)
            near = (*self._wide, *self._by_name.get(spec.name, ()))
            found = [rule for rule in near if rule.scope.covers_call(spec.name, spec.version)]
        else:
            action = kind
            name = None if spec is None else spec.name
            found = [rule for rule in self._rules if rule.scope.covers_plain(kind, name)]
        found = [rule for rule in found if rule.tenant in (None, tenant)]
        policies = self._slice(found, is_listed=kind == "listed")
        return Target(
            slice=policies,
            action=action,
            spec=spec,
            with_arguments=is_call,
            alike=(kind, policies.number, *_visible(policies, spec)),
        )

    def _slice(self, rules: list[Rule], *, is_listed: bool) -> Slice:
        if is_listed:
            rules = [rule for rule in rules if rule.effect == "permit" or not rule.reads.arguments]
        key = (is_listed, *sorted(rule.id for rule in rules))
        return self._shared.get(key) or self._shared.put(key, _compiled(rules, is_listed=is_listed))


def _compiled(rules: list[Rule], *, is_listed: bool) -> Slice:
    """Puts policies together; for a listing, permits without their conditions on arguments.

    Leaving out a forbid, or a condition of a permit, can only allow more: a tool that may be called with some
    arguments is listed.
    """
    kept = {rule.id: rule for rule in rules}
    opened = frozenset(rule.id for rule in rules if is_listed and rule.reads.arguments)
    templates = {rule.id: without_arguments(rule.template) if rule.id in opened else rule.template for rule in rules}
    hard = [template for name, template in templates.items() if not kept[name].groups]
    values: set[Path] = set()
    presence: set[Path] = set()
    labels: set[str] = set()
    if not is_listed:
        for rule in kept.values():
            values |= rule.reads.below_arguments(rule.reads.values)
            presence |= rule.reads.below_arguments(rule.reads.presence)
            labels |= rule.reads.labels
            presence |= {(name,) for name in rule.reads.labels}
    return Slice(
        number=next(_NUMBERS),
        rules=kept,
        policies=cedar.policy_set(templates.values()),
        lifted=cedar.policy_set(hard) if len(hard) < len(templates) else None,
        opened=opened,
        values=tuple(sorted(values)),
        presence=tuple(sorted(presence - values)),
        want=wanted(values, presence),
        tool=tuple(sorted({name for rule in kept.values() for name in rule.reads.tool & TOOL.keys()})),
        itself=any(rule.reads.itself for rule in kept.values()),
        labels=tuple(sorted(labels)),
        environment=any(rule.reads.reads("environment") for rule in kept.values()),
        run=any(rule.reads.reads("run") for rule in kept.values()),
        now=any(rule.reads.reads("now") for rule in kept.values()),
    )


def _visible(policies: Slice, spec: ToolSpec | None) -> tuple[object, ...]:
    if spec is None:
        return ()
    attributes = (TOOL[name][1](spec) for name in policies.tool)
    return (spec.contract_hash if policies.itself else "", *attributes)
