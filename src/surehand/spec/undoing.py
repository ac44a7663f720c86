"""`undo_tool`: the tool that takes back calls of another one, derived from its contract when it is published."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ..errors import SpecError
from .bind import bind_tool, target_of
from .injected import DATA_SOURCES
from .rules import MAX_SECONDS
from .tool_spec import Handler, Tool, ToolSpec, is_async

UNDO: Final = ".undo"
"""Ends the name of such a tool: `refund.undo` takes back calls of `refund`."""
BOUND: Final = ("call_id", "made_by", "key", "arguments", "result")
"""Its arguments that are what is stored of the call; `reason` is what a person says."""
_LOCAL: Final = "#/$defs/"
_TOLD_AGAIN: Final = frozenset(
    {"type", "properties", "required", "$defs", "definitions", "$schema", "title", "description"}
)
"""Keywords at the root of a schema that `_final` keeps, or that say nothing of which arguments are secret."""


def undo_tool(tool: Tool) -> Tool | None:
    """The tool that takes back calls of `tool`; `None` if it declares no `undo`.

    It is never offered to models: only `Engine.undo` calls it. Risk, permissions and approval are those of `tool`.

    Raises:
        SpecError: There is nothing to undo, or the function does not take `(arguments, result, key)`.
    """
    undo, spec = tool.undo, tool.spec
    if undo is None:
        return None
    if spec.read_only or spec.idempotency == "irreversible":
        what = "has no effect" if spec.read_only else "says that nobody can take its effect back"
        raise SpecError(f"tool {spec.name!r}: it {what}, so undo contradicts it; leave one out")
    try:
        inspect.signature(undo).bind({}, None, "")
    except TypeError:
        raise SpecError(f"tool {spec.name!r}: undo must take (arguments, result, key)") from None
    except ValueError:  # some builtins have no signature
        pass
    own = ToolSpec(
        name=spec.name + UNDO,
        version=spec.version,
        description=f"Takes back what one call of `{spec.name}` did.",
        display=f"Undoing a call of {spec.name}",
        parameters=_parameters(spec),
        risk=spec.risk,
        requires_approval=spec.requires_approval,
        permissions=spec.permissions,
        idempotency="single_effect",
        key=("call_id",),
        key_retention_s=float(MAX_SECONDS),
        timeout_s=spec.timeout_s,
        sequential=spec.sequential,
        owner=spec.owner,
        tags=spec.tags,
        stage=spec.stage,
        source=spec.source,
        target=target_of(undo),
        credential=spec.credential,
        undoes=spec.name,
        trust=spec.trust,
    )
    return bind_tool(own, _handler(undo))


def _handler(undo: Handler) -> Handler:
    if is_async(undo):

        async def take_back(
            call_id: str, made_by: str, reason: str, key: str, arguments: dict[str, Any], result: Any
        ) -> Any:
            return await undo(arguments, result, key)

        return take_back

    def take_back_here(
        call_id: str, made_by: str, reason: str, key: str, arguments: dict[str, Any], result: Any
    ) -> Any:
        return undo(arguments, result, key)

    return take_back_here


def _parameters(spec: ToolSpec) -> dict[str, Any]:
    text = {"type": "string"}
    arguments, definitions = _final(spec)
    properties: dict[str, Any] = {
        "call_id": {**text, "description": "The call to take back."},
        "made_by": {**text, "description": "Who made it."},
        "reason": {**text, "minLength": 1, "maxLength": 1000, "description": "Why, in the words of who undoes it."},
        "key": {**text, "description": "The key that its handler was given."},
        "arguments": {**arguments, "description": "What it ran with."},
        "result": {"description": "What it gave its caller."},
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(properties)}
    return {**schema, "$defs": definitions} if definitions else schema


def _final(spec: ToolSpec) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The schema of the final arguments, so that policies read them typed and secrets among them are known.

    Where it cannot be told again from here which of them are secret, all are.
    """
    foreign = any(not reference.startswith(_LOCAL) for reference in _references(spec.parameters))
    open_ = isinstance(spec.parameters.get("additionalProperties", False), bool)
    told = not foreign and open_ and _TOLD_AGAIN.issuperset(set(spec.parameters) - {"additionalProperties"})
    if not told and _tells_secrets(spec.parameters):
        return {"type": "object", "writeOnly": True}, {}
    if foreign:
        return {"type": "object"}, {}
    facts = [name for name, source in spec.injected.items() if source in DATA_SOURCES]
    properties = cast("Mapping[str, Any]", spec.parameters.get("properties", {}))
    schema = {
        "type": "object",
        "properties": {**properties, **{name: {"type": "string"} for name in facts}},
        "required": [*cast("list[str]", spec.parameters.get("required", [])), *facts],
    }
    return schema, cast("Mapping[str, Any]", spec.parameters.get("$defs", {}))


def _tells_secrets(node: object) -> bool:
    if isinstance(node, Mapping):
        schema = cast("Mapping[str, object]", node)
        secret = schema.get("writeOnly") is True or schema.get("format") == "password"
        return secret or any(_tells_secrets(value) for value in schema.values())
    return isinstance(node, list) and any(_tells_secrets(value) for value in cast("list[object]", node))


def _references(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in cast("Mapping[str, object]", node).items():
            if key == "$ref" and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(node, list):
        for value in cast("list[object]", node):
            yield from _references(value)
