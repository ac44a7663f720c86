"""Reads the syntax tree of a policy: what it looks at, what it names, what it can apply to. Knows no tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from cedarpy import pst

from .entities import PLAIN, is_group

Path: TypeAlias = tuple[str, ...]
_COMPARISONS: Final = frozenset({"eq", "not_eq", "contains", "contains_all", "contains_any"})


@dataclass(frozen=True, slots=True)
class Reads:
    """What the conditions of a policy look at, the principal aside."""

    values: frozenset[Path]
    """Paths whose value is used, from `context` on."""
    presence: frozenset[Path]
    """Paths that are only asked for with `has`, from `context` on."""
    tool: frozenset[str]
    """Attributes of the resource."""
    itself: bool
    """Whether it compares the resource or the action itself, and not only attributes."""

    @property
    def arguments(self) -> frozenset[Path]:
        """Paths below `context.arguments`, from the argument's name on; of whose label it reads, the name."""
        return frozenset(self.below_arguments(self.values | self.presence)) | {(name,) for name in self.labels}

    @property
    def labels(self) -> frozenset[str]:
        """Arguments whose label below `context.provenance` is looked at."""
        paths = self.values | self.presence
        return frozenset(path[1] for path in paths if path[:1] == ("provenance",) and len(path) > 1)

    @staticmethod
    def below_arguments(paths: Iterable[Path]) -> set[Path]:
        """Those of the paths that lead to an argument, from the argument's name on."""
        return {path[1:] for path in paths if path[:1] == ("arguments",) and len(path) > 1}

    def reads(self, name: str) -> bool:
        """Whether an attribute of `context` is looked at."""
        return any(path[:1] == (name,) for path in self.values | self.presence)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which actions and resources a policy's head allows."""

    plain: frozenset[str]
    """Plain actions such as `view`."""
    calls: frozenset[str] | None
    """`NAME` or `NAME@VERSION` of the tools whose call it can be about; `None` for all of them."""
    tool: str | None
    """The only tool it can be about, by the resource; `None` for any."""
    on_tools: bool
    on_system: bool

    @property
    def names(self) -> frozenset[str] | None:
        """Names of the tools whose call it can be about, by action and resource; `None` for all."""
        if not self.on_tools:
            return frozenset()
        if self.calls is None:
            return None if self.tool is None else frozenset({self.tool})
        named = frozenset(call.partition("@")[0] for call in self.calls)
        return named if self.tool is None else named & {self.tool}

    def covers_call(self, name: str, version: str) -> bool:
        """Whether it can be about calling this tool version."""
        if not self.on_tools or self.tool not in (None, name):
            return False
        return self.calls is None or name in self.calls or f"{name}@{version}" in self.calls

    def covers_plain(self, action: str, name: str | None) -> bool:
        """Whether it can be about a plain action on a tool, or on the system if `name` is `None`."""
        if action not in self.plain:
            return False
        return self.on_system if name is None else self.on_tools and self.tool in (None, name)


def children(node: object) -> Iterator[object]:
    """The parts of a syntax node."""
    if isinstance(node, tuple):
        yield from cast("tuple[object, ...]", node)
    elif isinstance(node, Mapping):
        yield from cast("Mapping[str, object]", node).values()
    elif dataclasses.is_dataclass(node):
        for field in dataclasses.fields(node):
            yield getattr(node, field.name)


def reads_of(node: object) -> Reads:
    """What an expression, a clause or several of them look at."""
    values: set[tuple[str, Path]] = set()
    presence: set[tuple[str, Path]] = set()
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, pst.HasAttr) and (base := _chain(node.base)) is not None:
            presence.add((base[0], (*base[1], *node.attrs)))
        elif (chain := _chain(node)) is not None:
            values.add(chain)
        else:
            stack.extend(children(node))
    return Reads(
        values=frozenset(path for variable, path in values if variable == "context"),
        presence=frozenset(path for variable, path in presence if variable == "context"),
        tool=frozenset(path[0] for variable, path in values | presence if variable == "resource" and path),
        itself=("resource", ()) in values or any(variable == "action" for variable, _ in values | presence),
    )


def _chain(node: object) -> tuple[str, Path] | None:
    attributes: list[str] = []
    while isinstance(node, pst.GetAttr):
        attributes.append(node.attr)
        node = node.base
    return (node.name, tuple(reversed(attributes))) if isinstance(node, pst.Var) else None


def scope_of(template: pst.Template) -> Scope:
    """What the head of a policy allows."""
    tool, on_tools, on_system = _resource(template.resource)
    named = action_names(template.action)
    if named is None or "call" in named:
        calls = None
    else:
        calls = frozenset(name.removeprefix("call/") for name in named if name.startswith("call/"))
    plain = frozenset(PLAIN) if named is None else frozenset(name for name in named if name in PLAIN)
    return Scope(plain, calls, tool, on_tools, on_system)


def action_names(action: pst.ActionConstraint) -> list[str] | None:
    """The actions that a head names; `None` if it is open."""
    if isinstance(action, pst.ScopeAny):
        return None
    uids = (action.entity,) if isinstance(action, pst.ActionEq) else action.entities
    return [uid.id for uid in uids]


def _resource(resource: pst.PrincipalOrResourceConstraint) -> tuple[str | None, bool, bool]:
    type_: pst.EntityType | None = None
    entity: object = None
    if isinstance(resource, pst.ScopeIs | pst.ScopeIsIn):
        type_ = resource.entity_type
    if isinstance(resource, pst.ScopeEq | pst.ScopeIn | pst.ScopeIsIn):
        entity = resource.entity
        if isinstance(entity, pst.EntityUid):
            type_ = entity.type if type_ in (None, entity.type) else pst.EntityType("")
    on_tools = type_ is None or str(type_) == "Tool"
    tool = entity.id if on_tools and isinstance(entity, pst.EntityUid) else None
    return tool, on_tools, type_ is None or str(type_) == "System"


def role_of(template: pst.Template) -> str | None:
    """The role that the head of a policy asks the principal to have; `None` if it asks for none."""
    principal = template.principal
    entity = principal.entity if isinstance(principal, pst.ScopeIn | pst.ScopeIsIn) else None
    return entity.id if isinstance(entity, pst.EntityUid) and str(entity.type) == "Role" else None


def literals_beside(clauses: tuple[pst.Clause, ...], path: Path, *, of: str = "resource") -> set[str]:
    """The texts that a condition compares an attribute of a variable with: by `==`, `!=` or as members of a set."""
    found: set[str] = set()
    stack: list[Any] = list(clauses)
    while stack:
        node = stack.pop()
        if isinstance(node, pst.BinaryOp) and node.op in _COMPARISONS:
            left, right = _members(node.left), _members(node.right)
            for here, there in ((left, right), (right, left)):
                if any(_chain(part) == (of, path) for part in here):
                    found.update(part.value for part in there if isinstance(part, pst.StringLit))
        stack.extend(children(node))
    return found


def _members(node: object) -> tuple[object, ...]:
    return node.elements if isinstance(node, pst.Set) else (node,)


def widened(template: pst.Template) -> pst.Template:
    """The policy with `action == Action::"call/refund"` turned into `action in`, which is what its author means.

    `call` and `call/NAME` are groups and never the action of a request, so `==` would never match.
    """
    action = template.action
    if isinstance(action, pst.ActionEq) and is_group(action.entity.id):
        return dataclasses.replace(template, action=pst.ActionIn((action.entity,)))
    return template


def without_arguments(template: pst.Template) -> pst.Template:
    """The policy without its clauses that look at an argument."""
    kept = tuple(clause for clause in template.clauses if not reads_of(clause).arguments)
    return dataclasses.replace(template, clauses=kept)


def groups_compared(clauses: tuple[pst.Clause, ...]) -> set[str]:
    """Action groups that a condition uses in any other way than at the right of `in`."""
    found: set[str] = set()
    stack: list[Any] = list(clauses)
    while stack:
        node = stack.pop()
        if isinstance(node, pst.BinaryOp) and node.op == "in":
            stack.append(node.left)
            inner = node.right.elements if isinstance(node.right, pst.Set) else (node.right,)
            stack.extend(part for part in inner if not isinstance(part, pst.EntityLit))
        elif isinstance(node, pst.EntityLit):
            if str(node.value.type) == "Action" and is_group(node.value.id):
                found.add(node.value.id)
        else:
            stack.extend(children(node))
    return found


def has_on(variable: str, clauses: tuple[pst.Clause, ...]) -> set[str]:
    """Attributes that a condition asks for with `variable has NAME`."""
    found: set[str] = set()
    stack: list[Any] = list(clauses)
    while stack:
        node = stack.pop()
        if isinstance(node, pst.HasAttr) and isinstance(node.base, pst.Var) and node.base.name == variable:
            found.add(node.attrs[0])
        stack.extend(children(node))
    return found
