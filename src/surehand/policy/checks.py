"""What can be known to be wrong with a policy before any call: unknown names, typos, wrong types."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
from cedarpy import Schema, pst

from ..registry import Catalog
from ..spec import ToolSpec
from . import cedar
from .argument_types import RecordOf, argument_types, as_schema, find, paths_of, top_level_names
from .entities import PLAIN, action_parents, call_action, schema
from .misuse import is_whole, misuse, suggested
from .rules import Rule
from .syntax import Path, Scope
from .values import narrowed, wanted

_NO_TOOL: Final = "call/any@any"
"""Stands for the call of a tool that is not there yet, so that the rest of a policy is checked all the same."""
_IN_CONTEXT: Final = re.compile(r"attribute `([^`]+)` in context for")
_HINTS: Final[tuple[tuple[str, str], ...]] = (
    ("are not compatible", "compare values of one type"),
    ("unexpected type", "use an operator of that type"),
    ("unrecognized entity type", "use User, Role, Tenant, Agent, Tool or System"),
    (
        "unable to find an applicable action",
        "principals are users and resources tools, or the system: correct the head",
    ),
    ("on entity type `System`", "write resource is Tool in the head"),
    ("on entity type", "correct the name"),
)


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found, one line each."""

    problems: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


class Checker:
    """Checks policies against the tools of one catalog.

    Args:
        catalog: Removed and disabled tools count as known names.
        incomplete: A source is down: naming a tool or an argument that is not there is only a warning.
    """

    def __init__(self, catalog: Catalog, *, incomplete: bool) -> None:
        self._incomplete = incomplete
        self._aliases = catalog.aliases
        self._live: dict[str, list[ToolSpec]] = {}
        self._removed: dict[str, list[ToolSpec]] = {}
        self._by_argument: dict[str, list[ToolSpec]] = {}
        for _, entry in sorted(catalog.entries.items()):
            spec = entry.tool.spec
            if entry.removed:
                self._removed.setdefault(spec.name, []).append(spec)
                continue
            self._live.setdefault(spec.name, []).append(spec)
            for argument in top_level_names(spec):
                self._by_argument.setdefault(argument, []).append(spec)
        self._names = {*self._live, *self._removed}
        self._ids = {f"{name}@{version}" for name, version in catalog.entries}
        self._types: dict[str, RecordOf] = {}
        self._kind_of: dict[tuple[str, str], str] = {}
        self._kinds_of: dict[tuple[Scope, tuple[str, ...]], list[ToolSpec]] = {}
        self._schemas: dict[str, Schema] = {}

    def check(self, rules: Iterable[Rule]) -> Findings:
        """Everything that is wrong with these policies."""
        found = Findings()
        for rule in rules:
            missing = sorted({*self._unknown_names(rule)})
            if missing:
                place = found.warnings if self._incomplete else found.problems
                place.extend(rule.problem(what) for what in missing)
                continue
            unknown = [*self._unknown_arguments(rule, found)]
            types = [] if is_whole(rule) else self._type_errors(rule)
            types = [error for error in types if not (unknown and "`arguments" in error)]
            found.problems.extend(rule.problem(what) for what in (*misuse(rule), *unknown, *types))
        return found

    def _unknown_names(self, rule: Rule) -> Iterator[str]:
        for uid in rule.entities:
            kind = uid.type.basename
            if kind == "Action" and (uid.type.namespace or not self._is_action(uid.id)):
                yield f'there is no {uid.type}::"{uid.id}"; {self._instead(uid.id)}'
            elif str(uid.type) == "Tool" and uid.id not in self._names:
                yield f'there is no Tool::"{uid.id}"; {suggested(uid.id, self._names) or "name a published tool"}'

    def _is_action(self, action: str) -> bool:
        name = action.removeprefix("call/")
        return action in PLAIN or action == "call" or (name != action and (name in self._ids or name in self._names))

    def _instead(self, action: str) -> str:
        name = action.removeprefix("call/")
        if name in self._aliases:
            return f'{name} is another name of {self._aliases[name]}; write Action::"call/{self._aliases[name]}"'
        known = [*PLAIN, "call", *(f"call/{tool}" for tool in (*self._names, *self._ids))]
        return suggested(action, known) or f"actions are {', '.join(PLAIN)}, call, and call/NAME of a published tool"

    def _unknown_arguments(self, rule: Rule, found: Findings) -> Iterator[str]:
        missing: set[Path] = set()
        kinds = self._kinds(rule)
        for path in sorted(rule.reads.arguments):
            if path[:-1] in missing:
                missing.add(path)
                continue
            name = ".".join(("context", "arguments", *path))
            having = [spec for spec in kinds if find(self._type(spec), path) is not None]
            needed = path if ("arguments", *path) in rule.reads.values else path[:-1]
            blind = [spec for spec in having if _is_blind(self._type(spec), needed)]
            if not having:
                missing.add(path)
            if not having and self._incomplete:
                found.warnings.append(rule.problem(f"{name} exists in no tool it can be about; is its source down?"))
            elif not having:
                known = {".".join(other) for spec in self._in_scope(rule) for other in paths_of(self._type(spec))}
                close = suggested(".".join(path), known)
                yield f"{name} exists in no tool it can be about; {close or 'correct the name, or name another tool'}"
            elif len(blind) == len(having):
                yield f"{name} has no single type in the schema of {_some(blind)}; give it one, or do not read it"
            elif blind:
                what = (
                    f"{name} has no single type in the schema of {_some(blind)}; calls that carry it there are denied"
                )
                found.warnings.append(rule.problem(what))

    def _kinds(self, rule: Rule) -> list[ToolSpec]:
        """One tool in scope of each kind that has any of the arguments and differs in their types."""
        names = tuple(sorted({path[0] for path in rule.reads.arguments}))
        key = (rule.scope, names)
        if key not in self._kinds_of:
            found: dict[tuple[str, ...], ToolSpec] = {}
            for name in names:
                for spec in self._having(rule, name):
                    found.setdefault(tuple(self._kind(spec, other) for other in names), spec)
            self._kinds_of[key] = list(found.values())
        return self._kinds_of[key]

    def _kind(self, spec: ToolSpec, argument: str) -> str:
        key = (spec.id, argument)
        found = self._kind_of.get(key)
        if found is None:
            found = self._kind_of[key] = repr(self._type(spec).attributes.get(argument))
        return found

    def _having(self, rule: Rule, argument: str) -> list[ToolSpec]:
        """The tools in scope that have an argument of this name."""
        if rule.scope.names is None:
            return self._by_argument.get(argument, [])
        return [spec for spec in self._in_scope(rule) if argument in self._type(spec).attributes]

    def _in_scope(self, rule: Rule) -> Iterator[ToolSpec]:
        """The tools whose call it can be about; removed ones only if there are no others."""
        names = rule.scope.names
        for place in (self._live, self._removed):
            chosen = place.values() if names is None else (place.get(name, []) for name in sorted(names))
            specs = (spec for group in chosen for spec in group if rule.scope.covers_call(spec.name, spec.version))
            first = next(specs, None)
            if first is not None:
                yield first
                yield from specs
                return

    def _type(self, spec: ToolSpec) -> RecordOf:
        found = self._types.get(spec.id)
        if found is None:
            found = self._types[spec.id] = argument_types(spec)
        return found

    def _type_errors(self, rule: Rule) -> list[str]:
        """Cedar's own checker, against one tool of each shape that this policy can tell apart."""
        shapes = self._shapes(rule)
        named = {uid.id for uid in rule.entities if str(uid.type) == "Action"}
        actions = tuple(_action(name) for name in (*shapes, *sorted(rule.scope.plain)))
        if not actions:
            return []
        template = dataclasses.replace(rule.template, action=pst.ActionIn(actions))
        text = schema({name: as_schema(type_) for name, type_ in shapes.items()}, named)
        if text not in self._schemas:
            self._schemas[text] = Schema.from_json_str(text)
        once: dict[str, str] = {}
        for error in cedar.validate(template, self._schemas[text]):
            attribute = _IN_CONTEXT.search(error)
            once.setdefault(attribute.group(1) if attribute else error, error)
        return [_with_hint(error) for error in once.values()]

    def _shapes(self, rule: Rule) -> Mapping[str, RecordOf]:
        reads = rule.reads
        named_only = reads.below_arguments(reads.presence) | {(name,) for name in reads.labels}
        want = wanted(reads.below_arguments(reads.values), named_only)
        named = sorted(uid.id for uid in pst.entity_uids(rule.template.clauses) if str(uid.type) == "Action")
        specs: Iterable[ToolSpec] = self._in_scope(rule)
        if not named:
            other = next((spec for spec in specs if want.parts.keys().isdisjoint(self._type(spec).attributes)), None)
            specs = [*self._kinds(rule), *([other] if other else [])]
        found: dict[tuple[object, ...], tuple[str, RecordOf]] = {}
        for spec in specs:
            type_ = narrowed(want, self._type(spec))
            inside = [action in _lineage(call_action(spec)) for action in named]
            found.setdefault((orjson.dumps(as_schema(type_)), *inside), (call_action(spec), type_))
        if not found and rule.scope.names is None:
            return {_NO_TOOL: RecordOf({})}
        return dict(found.values())


def _action(name: str) -> pst.EntityUid:
    return pst.EntityUid(pst.EntityType("Action"), name)


def _lineage(action: str) -> set[str]:
    return {action, *(above for parent in action_parents(action) for above in _lineage(parent))}


def _is_blind(record: RecordOf, path: Path) -> bool:
    attribute = find(record, path)
    return attribute is not None and attribute.type is None


def _some(kinds: list[ToolSpec]) -> str:
    return ", ".join(spec.id for spec in kinds[:3]) + (" and others" if len(kinds) > 3 else "")


def _with_hint(error: str) -> str:
    if name := _IN_CONTEXT.search(error):
        return f"{error}; guard it: context has {name.group(1)} && ..., or name only tools that always have it"
    return next((f"{error}; {hint}" for part, hint in _HINTS if part in error), f"{error}; correct the condition")
