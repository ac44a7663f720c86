"""`assert_decision`: what policies and hooks say of a call, without running it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ..call import ToolCall
from ..engine import Engine
from ..pipeline import Passage, Stop
from ..pipeline.authorize import decide
from ..pipeline.before import before
from ..pipeline.enrich import inject
from ..pipeline.parse import parse
from ..pipeline.validate import validate
from ..policy import Ask, Decision, Deny
from ..types import Caller


async def assert_decision(
    engine: Engine,
    caller: Caller,
    call: ToolCall,
    expected: Literal["allow", "deny", "ask"],
    *,
    policies: Iterable[str] | None = None,
) -> Decision:
    """Checks how a call would be decided. Nothing runs but hooks, and nothing is recorded.

    The tool's `check=` is left out: it is no policy.

    Args:
        engine: An open engine.
        caller: On whose behalf.
        call: What a model would ask for; its arguments must be valid.
        expected: `allow`, `deny` or `ask`. A tool that the caller does not see is `deny`.
        policies: The ids that the decision must rest on, exactly; not checked if left out.

    Returns:
        The decision, for further asserts: `.reasons`, and of an `Ask` its `.requirements`.

    Raises:
        AssertionError: It is decided otherwise, or the call does not get as far as a decision.
    """
    decision = await _decision(engine, caller, call)
    got = type(decision).__name__.lower()
    why = f"policies: {', '.join(decision.policies) or 'none'}; reasons: {'; '.join(decision.reasons) or 'none'}"
    if isinstance(decision, Ask):
        why += f"; asked are {', '.join(sorted({one.group for one in decision.requirements}))}"
    if got != expected:
        raise AssertionError(f"`{call.name}` for {caller.tenant}/{caller.id}: {got}, not {expected} ({why})")
    if policies is not None and sorted(policies) != sorted(decision.policies):
        raise AssertionError(f"`{call.name}` for {caller.tenant}/{caller.id}: {got} for other policies ({why})")
    return decision


async def _decision(engine: Engine, caller: Caller, call: ToolCall) -> Decision:
    services = engine.services
    await engine.view(caller)  # takes in what was registered since the last call
    passage = Passage(
        call=call, caller=caller, call_id="assert_decision", world=services.world, began_us=services.clock.now_us()
    )
    name, _, version = call.name.partition("@")
    passage.entry = passage.world.catalog.resolve(name, call.version or version or None)
    if passage.entry is None:
        raise AssertionError(f"there is no tool `{call.name}`; there are {', '.join(passage.world.catalog.current)}")
    listed = passage.world.look(caller, passage.entry, now_us=passage.began_us)
    if isinstance(listed, Deny):
        return listed
    stop = parse(passage, services) or await before(passage, services) or validate(passage, services)
    if stop is not None:
        return _stopped(call, stop)
    inject(passage)
    return decide(passage)


def _stopped(call: ToolCall, stop: Stop) -> Deny:
    assert stop.error is not None
    if stop.status != "denied":
        raise AssertionError(f"`{call.name}` is not decided: {stop.error.code}: {stop.error.message}")
    return Deny(policies=(), reasons=(stop.error.message,))
