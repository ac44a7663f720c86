"""What stands for the caller, the tool and the action in Cedar: their names, attributes and types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import orjson

from ..spec import ToolSpec
from ..types import Caller

PlainAction: TypeAlias = Literal["view", "approve", "publish", "resolve", "audit", "admin"]
PLAIN: Final[tuple[PlainAction, ...]] = ("view", "approve", "publish", "resolve", "audit", "admin")
"""The actions that are the same for every tool. `call` is a group with one action for each tool version."""
OF_THE_SYSTEM: Final = frozenset({"resolve", "audit", "admin"})
"""Plain actions that can also be about no tool in particular."""
SYSTEM: Final = "surehand"

_STRING: Final = {"type": "String"}
_BOOLEAN: Final = {"type": "Boolean"}
_STRINGS: Final = {"type": "Set", "element": _STRING}

TOOL: Final[Mapping[str, tuple[Mapping[str, Any], Callable[[ToolSpec], Any]]]] = {
    "name": (_STRING, lambda spec: spec.name),
    "version": (_STRING, lambda spec: spec.version),
    "risk": (_STRING, lambda spec: spec.risk),
    "read_only": (_BOOLEAN, lambda spec: spec.read_only),
    "requires_approval": (_BOOLEAN, lambda spec: spec.requires_approval),
    "permissions": (_STRINGS, lambda spec: spec.permissions),
    "tags": (_STRINGS, lambda spec: spec.tags),
    "owner": (_STRING, lambda spec: spec.owner),
    "stage": (_STRING, lambda spec: spec.stage),
    "source": (_STRING, lambda spec: spec.source),
    "idempotency": (_STRING, lambda spec: spec.idempotency),
    "trust": (_STRING, lambda spec: spec.trust),
}
"""Each attribute of `Tool`: its Cedar type, and where it comes from."""
USER: Final[Mapping[str, Mapping[str, Any]]] = {
    "id": _STRING,
    "tenant": _STRING,
    "agent": _STRING,
    "scopes": _STRINGS,
    "tenant_scopes": _STRINGS,
}
"""Each attribute of `User` and its Cedar type."""
CONTEXT: Final[Mapping[str, Mapping[str, Any]]] = {
    "environment": _STRING,
    "run": {"type": "Record", "attributes": {"state": _STRING, "untrusted": _BOOLEAN}},
    "now": {"type": "Extension", "name": "datetime"},
}
"""Each attribute of `context` but `arguments` and `provenance`, which calls have too, and its Cedar type."""


def user_id(caller: Caller) -> str:
    """`tenant/id`, with `%` and `/` of the tenant percent-encoded, so that no two users share one."""
    return f"{caller.tenant.replace('%', '%25').replace('/', '%2F')}/{caller.id}"


def call_action(spec: ToolSpec) -> str:
    """The action of calling one tool version."""
    return f"call/{spec.id}"


def action_parents(action: str) -> list[str]:
    """The groups that an action is directly in."""
    if action in PLAIN or action == "call":
        return []
    name, version = action.removeprefix("call/").partition("@")[::2]
    return [f"call/{name}"] if version else ["call"]


def is_group(action: str) -> bool:
    """Whether an action stands for many: `call`, and `call/NAME` for all versions of a tool."""
    return action == "call" or (action.startswith("call/") and "@" not in action)


def uid(type_: str, id_: str) -> dict[str, str]:
    """An entity's name, never put together as text."""
    return {"type": type_, "id": id_}


def user_entity(caller: Caller, tenant_scopes: Iterable[str]) -> str:
    """The caller as a JSON document of one entity."""
    parents = [uid("Tenant", caller.tenant), *(uid("Role", role) for role in caller.roles)]
    if caller.agent:
        parents.append(uid("Agent", caller.agent))
    attributes = {
        "id": caller.id,
        "tenant": caller.tenant,
        "agent": caller.agent,
        "scopes": caller.scopes,
        "tenant_scopes": list(tenant_scopes),
    }
    return orjson.dumps([{"uid": uid("User", user_id(caller)), "attrs": attributes, "parents": parents}]).decode()


def target_entities(action: str, spec: ToolSpec | None) -> str:
    """The action with its groups, and the tool (or the system), as a JSON document."""
    found = [_action(action), *(_action(parent) for parent in action_parents(action))]
    if action.startswith("call/"):
        found.append(_action("call"))
    if spec is None:
        found.append({"uid": uid("System", SYSTEM), "attrs": {}, "parents": []})
    else:
        attributes = {name: read(spec) for name, (_, read) in TOOL.items()}
        found.append({"uid": uid("Tool", spec.name), "attrs": attributes, "parents": []})
    return orjson.dumps(found).decode()


def _action(name: str) -> dict[str, Any]:
    return {"uid": uid("Action", name), "attrs": {}, "parents": [uid("Action", p) for p in action_parents(name)]}


def schema(calls: Mapping[str, Mapping[str, Any]], named: Iterable[str]) -> str:
    """The Cedar schema as JSON.

    Args:
        calls: Action of a tool version -> Cedar type of its arguments.
        named: Further actions that a policy mentions; they exist, and apply to nothing.
    """
    actions: dict[str, dict[str, Any]] = {}

    def declare(action: str) -> dict[str, Any]:
        for parent in action_parents(action):
            declare(parent)
        return actions.setdefault(action, {"memberOf": [{"id": parent} for parent in action_parents(action)]})

    for action in named:
        declare(action)
    for action in PLAIN:
        resources = ["Tool", "System"] if action in OF_THE_SYSTEM else ["Tool"]
        declare(action)["appliesTo"] = _applies(resources, CONTEXT)
    for action, arguments in calls.items():
        context = {**CONTEXT, "arguments": arguments, "provenance": _labels(arguments)}
        declare(action)["appliesTo"] = _applies(["Tool"], context)
    tool = {name: type_ for name, (type_, _) in TOOL.items()}
    types = {
        "Tenant": {},
        "Role": {},
        "Agent": {},
        "System": {},
        "User": {"memberOfTypes": ["Tenant", "Role", "Agent"], "shape": {"type": "Record", "attributes": USER}},
        "Tool": {"shape": {"type": "Record", "attributes": tool}},
    }
    return orjson.dumps({"": {"entityTypes": types, "actions": actions}}, option=orjson.OPT_SORT_KEYS).decode()


def _labels(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The type of `context.provenance`: a label for each argument that is there."""
    named = arguments["attributes"].items()
    return {
        "type": "Record",
        "attributes": {name: {**_STRING, "required": one["required"]} for name, one in named},
    }


def _applies(resources: list[str], context: Mapping[str, Any]) -> dict[str, Any]:
    record = {"type": "Record", "attributes": context}
    return {"principalTypes": ["User"], "resourceTypes": resources, "context": record}
