"""What is wrong with a policy whatever the tools are: what it says can never mean what its author meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import get_args

from ..types import Idempotency, Risk, RunState, Stage, Trust
from .entities import CONTEXT, SYSTEM, TOOL, USER
from .rules import Rule
from .syntax import Path, groups_compared, has_on, literals_beside

_KNOWN = {
    "principal": frozenset(USER),
    "resource": frozenset(TOOL),
    "context": frozenset({*CONTEXT, "arguments", "provenance"}),
}
_CLOSED: dict[str, tuple[str, ...]] = {
    "risk": get_args(Risk),
    "idempotency": get_args(Idempotency),
    "stage": get_args(Stage),
    "trust": get_args(Trust),
}
"""Attributes of a tool with a closed set of values: a policy that compares one with another never does anything."""
_WHOLE: frozenset[Path] = frozenset({(), ("arguments",), ("provenance",)})


def is_whole(rule: Rule) -> bool:
    """Whether it uses the context or all arguments as one value, whose type nobody can know."""
    return bool(rule.reads.values & _WHOLE)


def misuse(rule: Rule) -> Iterable[str]:
    """One line for each thing, without the policy's name."""
    clauses = rule.template.clauses
    for group in sorted(groups_compared(clauses)):
        yield f'Action::"{group}" is a group, so == is never true; write action in Action::"{group}"'
    for path in sorted(rule.reads.values & _WHOLE):
        yield f"{'.'.join(('context', *path))} is used as a whole; name the attributes that it needs"
    for variable, known in _KNOWN.items():
        for name in sorted(has_on(variable, clauses) - known):
            yield f"{variable} never has {name}; {suggested(name, known) or 'it has ' + ', '.join(sorted(known))}"
    for path in sorted(rule.reads.presence):
        if path[0] == "run" and path[1:] not in ((), ("state",), ("untrusted",)):
            yield f"context.{'.'.join(path)} does not exist; write context.run.state or context.run.untrusted"
    for name in sorted(rule.reads.labels):
        wrong = literals_beside(clauses, ("provenance", name), of="context") - set(get_args(Trust))
        for value in sorted(wrong):
            yield f'context.provenance.{name} is never "{value}"; it is "trusted" or "untrusted"'
    yield from _values(rule)
    yield from _states(rule)
    yield from _entities(rule)
    if not rule.scope.plain and rule.scope.names == frozenset():
        yield "it never applies: action and resource name different things; name the call of a tool and that tool"


def _values(rule: Rule) -> Iterable[str]:
    for name, allowed in _CLOSED.items():
        for value in sorted(literals_beside(rule.template.clauses, (name,)) - set(allowed)):
            hint = suggested(value, allowed) or f"it is one of {', '.join(allowed)}"
            yield f'resource.{name} is never "{value}"; {hint}'


def _states(rule: Rule) -> Iterable[str]:
    known = get_args(RunState)
    said = literals_beside(rule.template.clauses, ("run", "state"), of="context")
    for value in sorted(said - {*known, ""}):  # empty where the application does not tell
        hint = suggested(value, known) or f"it is one of {', '.join(known)}"
        yield f'context.run.state is never "{value}"; {hint}'


def _entities(rule: Rule) -> Iterable[str]:
    for uid in sorted(rule.entities, key=str):
        kind = str(uid.type)
        if kind == "User" and "/" not in uid.id:
            yield f'User::"{uid.id}" has no tenant, so it is nobody; write User::"TENANT/{uid.id}"'
        elif kind == "System" and uid.id != SYSTEM:
            yield f'there is no System::"{uid.id}"; write System::"{SYSTEM}"'


def suggested(name: str, known: Iterable[str]) -> str:
    """`did you mean ...?`, or nothing."""
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else ""
