"""Who may do what: asked before a person is bothered, and told after a refusal. The engine decides again, alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..errors import ApprovalError

if TYPE_CHECKING:
    from ..approval import Approval
    from ..engine import Engine
    from ..spec import ToolSpec
    from ..types import Caller
    from .session import Session


def may(engine: Engine, caller: Caller, action: Literal["audit", "resolve"], spec: ToolSpec | None = None) -> bool:
    """Whether policy lets a caller do this."""
    return not reasons_against(engine, caller, action, spec)


def reasons_against(
    engine: Engine, caller: Caller, action: Literal["audit", "resolve"], spec: ToolSpec | None = None
) -> tuple[str, ...]:
    """Why policy does not let a caller do this; empty if it does."""
    from ..policy import Allow

    decision = engine.policies.may(caller, action, spec, now_ns=engine.services.clock.now_us() * 1000)
    return () if isinstance(decision, Allow) else (decision.reasons or ("policy does not allow it",))


def names_who_may(engine: Engine, action: Literal["audit", "resolve"], session: Session) -> list[str]:
    """The callers of the project, of this command's tenant, whom policy lets do this."""
    tenant = session.caller.tenant
    return [name for name, one in session.settings.callers.items() if one.tenant == tenant and may(engine, one, action)]


def who_may(engine: Engine, action: Literal["audit", "resolve"], session: Session) -> str:
    """Who could have done what this command's caller may not. Which role it takes, the refusal has said."""
    names = names_who_may(engine, action, session)
    return f"choose --as {' or '.join(names)}" if names else "no caller of this project may do it"


async def may_decide(engine: Engine, approval_id: str, caller: Caller) -> bool:
    """Whether somebody's yes would count."""
    try:
        await check_entitled(engine, approval_id, caller)
    except ApprovalError:
        return False
    return True


async def check_entitled(engine: Engine, approval_id: str, caller: Caller) -> None:
    """Whether somebody's yes would count.

    Raises:
        ApprovalError: It would not: `not_entitled`, `already_decided`, `expired`.
    """
    from ..approval import Refused, count
    from ..engine.deputies import principals_of
    from ..engine.pending import is_escalated
    from ..policy import Deny

    approval = await engine.services.store.get_approval(caller.tenant, approval_id)
    if approval is None:
        return  # the engine says so
    now_us = engine.services.clock.now_us()
    principals = await principals_of(engine.services, caller)
    escalated = is_escalated(engine.services, approval)
    counted = count(approval, caller, "approve", reason="", now_us=now_us, principals=principals, escalated=escalated)
    if isinstance(counted, Refused):
        raise ApprovalError(counted.code, counted.message)
    spec = _spec(engine, approval)
    decision = None if spec is None else engine.policies.may_approve(caller, spec, now_ns=now_us * 1000)
    if isinstance(decision, Deny):
        raise ApprovalError("not_entitled", f"{caller.id} may not approve: {'; '.join(decision.reasons)}")


def _spec(engine: Engine, approval: Approval) -> ToolSpec | None:
    entry = engine.services.world.catalog.resolve(approval.name, approval.version)
    return None if entry is None else entry.tool.spec
