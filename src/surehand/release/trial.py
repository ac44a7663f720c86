"""Sample calls through an engine like the real one, whose store is in memory: same policies, same interceptors.

Handlers run for real. What they reach is theirs to choose: run checks where that is a test system.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from ..call import ToolCall, ToolResult
from ..engine import Engine
from ..errors import ApprovalError, ConfigError, NotAllowedError
from ..event import Event
from ..registry import Catalog, Registry
from ..spec import Sample, Tool, ToolSpec
from ..types import SELF, Caller

_ROUNDS: Final = 5
"""How often an answer may lead to another question."""
_MARGIN_S: Final = 2.0
_TENANT: Final = "samples"
_CODES: Final = {
    "bad": ("TOOL_ARGUMENT_INVALID", "ARGUMENTS_NOT_JSON", "TOOL_BUSINESS_ERROR"),
    "denied": ("POLICY_DENIED", "TOOL_NOT_FOUND", "HOOK_BLOCKED"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of one sample."""

    sample: Sample
    problem: str
    """What is wrong with it; empty if it is as it should be."""
    told: str
    """In a word, what came."""
    repeated: str | None = None
    """What is wrong with the same call made again under the same key; `None` if that was not tried."""


async def try_samples(engine: Engine, tool: Tool, samples: list[Sample]) -> list[Tried]:
    """Makes each call. The first good one that has an effect is made twice under one key.

    Args:
        engine: Whose policies, interceptors and limits hold. Its store and records are not touched.
        tool: The version to call.
        samples: Calls of it.

    Raises:
        ConfigError: The engine was not made by `open_engine` or `open_project`.
    """
    tried: dict[int, Tried] = {}
    quick = [one for one in samples if one.kind != "slow"]
    if quick:
        async with _scratch(engine, tool) as scratch:
            for sample in quick:
                again = sample.kind == "good" and not tool.spec.read_only
                again = again and all(one.repeated is None for one in tried.values())
                tried[id(sample)] = await _try(scratch, tool.spec, sample, again=again)
    for sample in samples:
        if sample.kind == "slow":
            spec = replace(tool.spec, timeout_s=sample.timeout_s or tool.spec.timeout_s)
            async with _scratch(engine, replace(tool, spec=spec)) as scratch:
                tried[id(sample)] = await _try_slow(scratch, spec, sample)
    return [tried[id(sample)] for sample in samples]


def _scratch(engine: Engine, tool: Tool) -> Engine:
    if engine.in_scratch is None:
        raise ConfigError("samples need an engine that was made by open_engine or open_project")
    return engine.in_scratch(_registry(engine.registry.catalog, tool))


def _registry(catalog: Catalog, tool: Tool) -> Registry:
    """All tools, since policies name them; with `tool` in the place of its version."""
    registry = Registry()
    for (name, version), entry in catalog.entries.items():
        registry.register(tool if (name, version) == (tool.spec.name, tool.spec.version) else entry.tool)
        if entry.removed:
            registry.unregister(name, version)
        elif entry.disabled:
            registry.disable(name, version)
    for alias, name in catalog.aliases.items():
        registry.alias(alias, name)
    return registry


async def _try(engine: Engine, spec: ToolSpec, sample: Sample, *, again: bool) -> Tried:
    started: list[str] = []

    def note(event: Event) -> None:
        if event.kind == "call.started" and event.name == spec.name:
            started.append(event.call_id)

    call, caller = _call(spec, sample), sample.caller or _caller(spec, sample)
    key = f"sample:{id(sample)}"
    engine.on_event(note)
    result, problem = await _ended(engine, await engine.call(call, caller, idempotency_key=key), sample, caller)
    problem = problem or _wrong(spec, sample, result)
    if problem or not again:
        return Tried(sample=sample, problem=problem, told=_told(result))
    repeat, asked = await _ended(engine, await engine.call(call, caller, idempotency_key=key), sample, caller)
    repeated = asked
    if not repeat.replayed or len(started) != 1:
        repeated = asked or f"the same call under the same key gave {_told(repeat)} and started {len(started)} times"
    return Tried(sample=sample, problem="", told=_told(result), repeated=repeated)


async def _try_slow(engine: Engine, spec: ToolSpec, sample: Sample) -> Tried:
    caller = sample.caller or _caller(spec, sample)
    key = f"sample:{id(sample)}"
    began = asyncio.get_running_loop().time()
    result = await engine.call(_call(spec, sample), caller, idempotency_key=key)
    if result.status == "pending":
        began = asyncio.get_running_loop().time()
    result, problem = await _ended(engine, result, sample, caller)
    took_s = asyncio.get_running_loop().time() - began
    most_s = spec.timeout_s + engine.services.limits.cancel_grace_s + _MARGIN_S
    problem = problem or _wrong(spec, sample, result)
    if not problem and took_s > most_s:
        problem = (
            f"took {took_s:.1f} s of {spec.timeout_s} s; let the handler await, or give its blocking calls a limit"
        )
    return Tried(sample=sample, problem=problem, told=_told(result))


def _call(spec: ToolSpec, sample: Sample) -> ToolCall:
    return ToolCall(id="sample", name=spec.name, version=spec.version, arguments=dict(sample.arguments))


def _caller(spec: ToolSpec, sample: Sample) -> Caller:
    scopes = () if sample.kind == "denied" else spec.permissions
    return Caller(id="sample", tenant=_TENANT, scopes=scopes)


async def _ended(engine: Engine, result: ToolResult, sample: Sample, caller: Caller) -> tuple[ToolResult, str]:
    """The result after everybody who is asked has said yes, each in a role that the question names."""
    for _ in range(_ROUNDS):
        if result.status != "pending" or sample.status == "pending" or sample.kind not in ("good", "slow"):
            return result, ""
        if result.approval_id is None:
            break
        problem = await _approve(engine, result.approval_id, caller)
        if problem:
            return result, problem
        result = await engine.resume(result.call_id, by=caller)
    return result, "" if result.status != "pending" else "is asked about again and again; look at the policies"


async def _approve(engine: Engine, approval_id: str, caller: Caller) -> str:
    pending = await engine.approvals.get(approval_id, by=caller)
    for number, need in enumerate(pending.needs):
        for person in range(need.quorum):
            name = f"sample-{need.group}-{number}-{person}"
            roles = [need.group]
            by = caller if need.group == SELF else Caller(id=name, tenant=caller.tenant, roles=roles)
            try:
                pending = await engine.approvals.approve(approval_id, by=by)
            except (ApprovalError, NotAllowedError) as error:
                return f"asks {need.group}, who cannot say yes: {error}"
            if pending.status != "open":
                return ""
    return ""


def _wrong(spec: ToolSpec, sample: Sample, result: ToolResult) -> str:
    code = None if result.error is None else result.error.code
    if result.replayed:
        return "is the same effect as another sample; give it arguments of its own"
    if sample.status is not None and result.status != sample.status:
        return f"gave {_told(result)} where {sample.status} is expected"
    if sample.code is not None:
        return "" if code == sample.code else f"gave {_told(result)} where {sample.code} is expected"
    if sample.status is not None:
        return ""
    if sample.kind == "good":
        return "" if result.status == "ok" and not result.is_error else f"gave {_told(result)} where ok is expected"
    wanted = _CODES.get(sample.kind, ("TOOL_TIMEOUT" if spec.repeatable else "TOOL_OUTCOME_UNKNOWN",))
    return "" if code in wanted else f"gave {_told(result)} where {' or '.join(wanted)} is expected"


def _told(result: ToolResult) -> str:
    if result.error is None:
        return result.status
    return f"{result.status} {result.error.code} ({result.error.message[:200]})"
