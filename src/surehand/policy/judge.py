"""Turns what Cedar says into a decision with reasons. Never allows on an error, never asks where nobody can lift."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from cedarpy import Entities

from ..provenance import CLEAN, Origin
from ..types import Caller, Trust
from . import cedar
from .cedar import Verdict
from .decision import Allow, Ask, Decision, Deny
from .entities import uid, user_id
from .rules import Rule
from .slices import Slice, Target
from .syntax import Path
from .values import UnreadableError, projected


def judged(
    target: Target,
    caller: Caller,
    *,
    user: str,
    arguments: Mapping[str, Any],
    now_ns: int,
    lacking: Iterable[str],
    origin: Origin = CLEAN,
) -> Decision:
    """The decision on one request.

    Args:
        target: The policies, the tool and the action.
        caller: Who asks.
        user: The caller as a Cedar entity, in JSON.
        arguments: Final arguments; not looked at unless the target's policies do.
        now_ns: Nanoseconds since the epoch.
        lacking: The reasons to give if no permit applies.
        origin: Where the arguments come from; not looked at unless the target's policies do.
    """
    try:
        request = _request(target, caller, arguments, now_ns, origin)
    except UnreadableError as error:
        return _unreadable(target.slice, error)
    entities = cedar.entities_of(user, target.entities)
    return _decision(target.slice, request, entities, lacking)


def applies(
    target: Target,
    caller: Caller,
    *,
    user: str,
    arguments: Mapping[str, Any],
    now_ns: int,
    origin: Origin = CLEAN,
) -> bool | None:
    """Whether the only policy of a target, a permit, applies to one request; `None`: it cannot be evaluated."""
    try:
        request = _request(target, caller, arguments, now_ns, origin)
    except UnreadableError:
        return None
    verdict = cedar.evaluate(target.slice.policies, cedar.entities_of(user, target.entities), request)
    return None if verdict.erring or not verdict.decided else verdict.allowed


def _request(
    target: Target, caller: Caller, arguments: Mapping[str, Any], now_ns: int, origin: Origin
) -> dict[str, Any]:
    return {
        "principal": uid("User", user_id(caller)),
        "action": uid("Action", target.action),
        "resource": target.resource,
        "context": _context(target, caller, arguments, now_ns, origin),
    }


def _context(target: Target, caller: Caller, arguments: Mapping[str, Any], now_ns: int, origin: Origin) -> str:
    looked_at = target.slice
    context: dict[str, Any] = {}
    if target.with_arguments:
        context["arguments"] = projected(looked_at.want, target.types, arguments)
    if looked_at.labels:
        context["provenance"] = labels_of(target, arguments, origin)
    if looked_at.environment:
        context["environment"] = caller.environment
    if looked_at.run:
        context["run"] = {"state": caller.run_state, "untrusted": origin.untrusted}
    if looked_at.now:
        context["now"] = {"__extn": {"fn": "datetime", "arg": _datetime(now_ns)}}
    return orjson.dumps(context).decode()


def labels_of(target: Target, arguments: Mapping[str, Any], origin: Origin) -> dict[str, Trust]:
    """The label of each argument that is there and whose label is looked at. What is injected is vouched for."""
    injected: Mapping[str, str] = {} if target.spec is None else target.spec.injected
    return {
        name: "trusted" if name in injected else origin.label(name, arguments[name])
        for name in target.slice.labels
        if arguments.get(name) is not None
    }


def _datetime(now_ns: int) -> str:
    milliseconds = now_ns // 1_000_000
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _decision(asked: Slice, request: dict[str, Any], entities: Entities, lacking: Iterable[str]) -> Decision:
    first = cedar.evaluate(asked.policies, entities, request)
    if failed := _failed(asked, first):
        return failed
    if first.allowed:
        return Allow(policies=tuple(sorted(first.policies)))
    fired = [asked.rules[name] for name in sorted(first.policies)]
    hard = [rule for rule in fired if not rule.groups]
    if hard:
        return Deny(policies=_ids(hard), reasons=tuple(rule.reason for rule in hard))
    if not fired or asked.lifted is None:
        return Deny(policies=(), reasons=tuple(lacking))
    second = cedar.evaluate(asked.lifted, entities, request)
    if failed := _failed(asked, second):
        return failed
    if not second.allowed:
        return Deny(policies=(), reasons=tuple(lacking))
    return Ask(
        policies=_ids(fired),
        reasons=tuple(rule.reason for rule in fired),
        requirements=tuple(requirement for rule in fired for requirement in rule.requirements),
    )


def _failed(asked: Slice, verdict: Verdict) -> Deny | None:
    if not verdict.decided:
        return Deny(policies=(), reasons=("the policies could not be evaluated for this request",))
    erring = sorted(verdict.erring - asked.opened)
    if not erring:
        return None
    return Deny(
        policies=tuple(erring),
        reasons=tuple(f'policy "{name}" could not be evaluated, so it counts as a no' for name in erring),
    )


def _unreadable(asked: Slice, error: UnreadableError) -> Deny:
    readers = [rule for rule in asked.rules.values() if _looks_into(rule, error.path)]
    name = ".".join(error.path)
    return Deny(
        policies=_ids(readers),
        reasons=tuple(f'policy "{rule.id}" reads the argument {name!r}, which {error.why}' for rule in readers),
    )


def _looks_into(rule: Rule, path: Path) -> bool:
    return any(read[: len(path)] == path or path[: len(read)] == read for read in rule.reads.arguments)


def _ids(rules: Iterable[Rule]) -> tuple[str, ...]:
    return tuple(sorted(rule.id for rule in rules))
