"""A grant: a standing answer to a question that has not been asked yet, and what it may answer. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from ..spec import ToolSpec
from ..types import SELF, Caller, Requirement

MAX_CONDITIONS = 20
MAX_CHOICES = 100
MAX_TEXT_CHARS = 1000
_COMPARISONS = ("equals", "one_of", "at_most", "at_least")
_MISSING = object()


class Condition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one argument must be. All that is named here must hold; an argument that is missing never does."""

    path: str
    """Its name; `a.b` is the member `b` of the object `a`."""
    equals: tuple[str | int | float | bool | None, ...] = ()
    """The one value, if there is one."""
    one_of: tuple[str | int | float | bool | None, ...] = ()
    at_most: int | float | None = None
    at_least: int | float | None = None


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the giver wrote."""

    where: tuple[Condition, ...]
    """All must hold; none: any arguments do."""
    reason: str


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """One standing answer: for one caller of one version of one tool, for a time and a number of uses."""

    grant_id: str
    tenant: str
    caller: str
    """The caller's id; of no other is a question lifted."""
    agent: str
    environment: str
    name: str
    version: str
    contract_hash: str
    binding_hash: str
    needs: tuple[Requirement, ...]
    """What it lifts, each with the text of the policy as it was."""
    giver: Caller
    """As they were when they gave it."""
    terms: bytes
    """Sealed `Terms`."""
    uses: int
    used: int = 0
    created_us: int
    expires_us: int
    revoked_us: int | None = None
    revoked_by: str | None = None
    seal: str = ""
    """Keyed hash that only an engine with the key file can make: a grant written into the database lifts nothing."""

    def is_open(self, now_us: int) -> bool:
        """Whether it can still be used."""
        return self.revoked_us is None and now_us < self.expires_us and self.used < self.uses


def may_lift(need: Requirement, giver: Caller, requester: str) -> bool:
    """Whether somebody's standing yes can stand for this requirement of calls of `requester`.

    Several people must agree on the very call, so a quorum is never lifted. `self` is lifted by the requester only,
    and a role by nobody who asks for themselves.
    """
    if need.quorum > 1:
        return False
    if need.group == SELF:
        return giver.id == requester
    return need.group in giver.roles and giver.id != requester


def is_bound_to(grant: Grant, spec: ToolSpec, caller: Caller) -> bool:
    """Whether a grant is about this contract where it runs now, and this caller. Never about what is irreversible."""
    return (
        spec.idempotency != "irreversible"
        and (grant.contract_hash, grant.binding_hash) == (spec.contract_hash, spec.binding_hash)
        and (grant.tenant, grant.caller, grant.agent, grant.environment)
        == (caller.tenant, caller.id, caller.agent, caller.environment)
    )


def lifts(grant: Grant, need: Requirement, giver: Caller) -> bool:
    """Whether a grant answers a requirement as it is asked today.

    Args:
        grant: The standing answer.
        need: What is asked now; another text of the policy is another question.
        giver: Who gave it, as they are now.
    """
    asked = _question(need)
    return may_lift(need, giver, grant.caller) and any(_question(one) == asked for one in grant.needs)


def _question(need: Requirement) -> tuple[str, str, str, int]:
    return need.policy_id, need.group, need.policy_hash, need.quorum


def matches(where: Iterable[Condition], arguments: Mapping[str, Any]) -> bool:
    """Whether final arguments are among those that were meant."""
    return all(_holds(condition, _value_at(arguments, condition.path)) for condition in where)


def _value_at(arguments: Mapping[str, Any], path: str) -> Any:
    found: Any = arguments
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = cast("Mapping[str, Any]", found)[name]
    return found


def _holds(condition: Condition, value: Any) -> bool:
    if value is _MISSING:
        return False
    for choices in (condition.equals, condition.one_of):
        if choices and not any(_same(value, one) for one in choices):
            return False
    if condition.at_most is not None and not (_is_number(value) and value <= condition.at_most):
        return False
    return condition.at_least is None or (_is_number(value) and value >= condition.at_least)


def _same(value: Any, other: Any) -> bool:
    """1 is 1.0, as in JSON Schema; neither is `true`."""
    if _is_number(value) and _is_number(other):
        return value == other
    return type(value) is type(other) and value == other


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _is_small_number(value: Any) -> bool:
    return _is_number(value) and abs(value) < 2**63


def conditions(where: Any, spec: ToolSpec) -> tuple[Condition, ...]:
    """Reads `{"amount": {"at_most": 100}, "to": {"one_of": ["bob", "eve"]}}` against a tool's arguments.

    Raises:
        ValueError: It is not of that form, too large, or names an argument that the tool does not have.
    """
    if not isinstance(where, Mapping):
        raise ValueError('where must be an object such as {"amount": {"at_most": 100}}; {} stands for any arguments')
    given = cast("Mapping[Any, Any]", where)
    if len(given) > MAX_CONDITIONS:
        raise ValueError(f"where holds {len(given)} arguments; at most {MAX_CONDITIONS} can be named")
    return tuple(_condition(path, rules, spec) for path, rules in given.items())


def _condition(path: Any, rules: Any, spec: ToolSpec) -> Condition:
    if not isinstance(path, str):
        raise ValueError("where: each argument is named by a string")
    _check_known(path, spec)
    if not isinstance(rules, Mapping) or not rules:
        raise ValueError(f'where: {path} must be an object such as {{"at_most": 100}}, not empty')
    told: dict[str, Any] = {}
    for comparison, value in cast("Mapping[Any, Any]", rules).items():
        if comparison == "equals":
            told["equals"] = (_scalar(path, value),)
        elif comparison == "one_of":
            told["one_of"] = _choices(path, value)
        elif comparison in ("at_most", "at_least"):
            if not _is_small_number(value):
                raise ValueError(f"where: {path}: {comparison} must be a number of at most 64 bits")
            told[comparison] = value
        else:
            raise ValueError(f"where: {path}: there is no {comparison!r:.40}; use {', '.join(_COMPARISONS)}")
    return Condition(path=path, **told)


def _choices(path: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"where: {path}: one_of must be a list that is not empty")
    choices = cast("list[Any]", value)
    if len(choices) > MAX_CHOICES:
        raise ValueError(f"where: {path}: one_of holds {len(choices)} values; at most {MAX_CHOICES} can be named")
    return tuple(_scalar(path, one) for one in choices)


def _scalar(path: str, value: Any) -> Any:
    if value is None or isinstance(value, bool) or _is_small_number(value):
        return value
    if isinstance(value, str) and len(value) <= MAX_TEXT_CHARS:
        return value
    raise ValueError(
        f"where: {path} is compared with a string of at most {MAX_TEXT_CHARS} characters, a number, true, false or "
        f"null; name a member of an object as {path}.MEMBER"
    )


def _check_known(path: str, spec: ToolSpec) -> None:
    """What a schema leaves open may be named; an argument that calls do not have never matches."""
    if path in spec.injected:
        return
    schema: Any = spec.parameters
    for place, name in enumerate(path.split(".")):
        properties = _properties(schema, spec.parameters)
        if properties is None and place and _may_be_object(schema):
            return
        if name not in (properties or {}):
            known = ", ".join(sorted({*(properties or {}), *(() if place else spec.injected)})) or "none"
            raise ValueError(f"where: {spec.name} has no argument {path!r:.80}; there are {known}")
        schema = (properties or {})[name]
        if isinstance(schema, Mapping) and cast("Mapping[str, Any]", schema).get("writeOnly") is True:
            raise ValueError(f"where: {path} is a secret; a grant cannot depend on it")


def _may_be_object(schema: Any) -> bool:
    kind = cast("Mapping[str, Any]", schema).get("type", "object") if isinstance(schema, Mapping) else "object"
    return kind == "object" or isinstance(kind, list)


def _properties(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The members that a schema of an object names; `None` if it does not say."""
    for _ in range(8):
        if not isinstance(schema, Mapping):
            return None
        known = cast("Mapping[str, Any]", schema)
        reference = known.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            found = known.get("properties")
            return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None
        schema = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
    return None
