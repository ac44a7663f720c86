"""`raw_tool` and `bind_tool`: a handler for a contract that was written first. And what every handler must fit."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import SpecError
from .sample import Sample
from .tool_spec import Check, Handler, HealthCheck, Preview, StatusCheck, Tool, ToolSpec, is_async


def raw_tool(
    spec: ToolSpec,
    handler: Handler,
    *,
    status_check: StatusCheck | None = None,
    check: Check | None = None,
    preview: Preview | None = None,
    undo: Handler | None = None,
    health_check: HealthCheck | None = None,
    samples: Sequence[Sample] = (),
) -> Tool:
    """A tool whose handler takes `(context, json)`, a `CallContext` and the final arguments as JSON, and returns text.

    Raises:
        SpecError: The handler does not fit the contract.
    """
    _require_spec(spec)
    _require_parameters(spec, handler, ["context", "json"], keywords=False)
    bound = {"status_check": status_check, "check": check, "preview": preview, "undo": undo}
    return _tool(spec, handler, raw=True, **bound, health_check=health_check, samples=samples)


def bind_tool(
    spec: ToolSpec,
    handler: Handler,
    *,
    status_check: StatusCheck | None = None,
    check: Check | None = None,
    preview: Preview | None = None,
    undo: Handler | None = None,
    health_check: HealthCheck | None = None,
    samples: Sequence[Sample] = (),
) -> Tool:
    """A tool whose handler takes the validated arguments by keyword, as plain JSON values, and the injected ones.

    Raises:
        SpecError: The handler does not fit the contract.
    """
    _require_spec(spec)
    _require_parameters(spec, handler, [*spec.parameters.get("properties", {}), *spec.injected], keywords=True)
    bound = {"status_check": status_check, "check": check, "preview": preview, "undo": undo}
    return _tool(spec, handler, raw=False, **bound, health_check=health_check, samples=samples)


def require_runner(spec: ToolSpec, handler: Handler) -> None:
    """Refuses a runner that cannot run the handler. A sync handler may be `inline`: its author says it never blocks.

    Raises:
        SpecError: An async handler is to run in a thread, or the handler is a generator.
    """
    if spec.runner == "thread" and is_async(handler):
        raise SpecError(f"tool {spec.name!r}: runner='thread' cannot run an async handler; leave runner out")
    if spec.calls and not is_async(handler):
        raise SpecError(f"tool {spec.name!r}: a handler that calls tools must be async; write async def")
    if inspect.isgeneratorfunction(handler) or inspect.isasyncgenfunction(handler):
        raise SpecError(
            f"tool {spec.name!r}: the handler is a generator; return one value, and inject 'progress' to report"
        )


def target_of(handler: Handler) -> str:
    """`module:qualname` of a handler, as far as it has one."""
    inner: Any = getattr(handler, "func", handler)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{getattr(inner, '__module__', None) or type(inner).__module__}:{name}"


def _require_spec(spec: object) -> None:
    if not isinstance(spec, ToolSpec):
        raise SpecError(f"a handler is bound to a ToolSpec, not to {spec!r:.80}")


def _tool(spec: ToolSpec, handler: Handler, **rest: Any) -> Tool:
    require_runner(spec, handler)
    return Tool(spec=spec if spec.target else replace(spec, target=target_of(handler)), handler=handler, **rest)


def _require_parameters(spec: ToolSpec, handler: Handler, given: Iterable[str], *, keywords: bool) -> None:
    if not callable(handler):
        raise SpecError(f"tool {spec.name!r}: the handler is not callable")
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):  # some builtins have none
        return
    names = list(given)
    try:
        signature.bind(**dict.fromkeys(names)) if keywords else signature.bind(*names)
    except TypeError as error:
        wanted = "(" + ", ".join(names) + ")"
        raise SpecError(
            f"tool {spec.name!r}: the handler does not fit: {error}; it must take {wanted}"
            + (" by keyword" if keywords else "")
        ) from None
