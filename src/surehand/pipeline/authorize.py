"""Stage 5: policy on the final arguments. A hook's question is merged in: Deny over Ask over Allow."""

from __future__ import annotations

from ..policy import Ask, Decision, Deny
from .events import tell
from .passage import Passage, Stop
from .services import Services
from .trace import shadow_facts


def authorize(p: Passage, s: Services) -> Stop | None:
    """Fills `decision`; a denial stops the call."""
    p.decision = decide(p)
    tell(
        p,
        s,
        "call.decided",
        decision=type(p.decision).__name__.lower(),
        policies=list(p.decision.policies),
        reasons=list(p.decision.reasons),
        groups=[one.group for one in p.decision.requirements] if isinstance(p.decision, Ask) else [],
        shadow=shadow_facts(p.decision),
    )
    return denied(p, p.decision) if isinstance(p.decision, Deny) else None


def decide(p: Passage) -> Decision:
    """What policy, and the hooks that asked, say of the call as it stands."""
    decision = p.world.policies.authorize(p.caller, p.spec, p.final, now_ns=p.began_us * 1000, origin=p.origin)
    if isinstance(decision, Deny) or not p.hook_asks:
        return decision
    asked = decision.requirements if isinstance(decision, Ask) else ()
    earlier = decision.reasons if isinstance(decision, Ask) else ()
    return Ask(
        policies=(*(decision.policies if isinstance(decision, Ask) else ()), *(ask.policy_id for ask in p.hook_asks)),
        reasons=(*earlier, *(ask.reason for ask in p.hook_asks)),
        requirements=(*asked, *p.hook_asks),
        shadow=decision.shadow,
    )


def denied(p: Passage, decision: Deny) -> Stop:
    """The stop of a denial. It must not invite other arguments."""
    why = "; ".join(decision.reasons)
    return p.refuse(
        "POLICY_DENIED",
        f"`{p.spec.name}` is not allowed here: {why}. Do not try again with other arguments; "
        "tell the user that this needs somebody else.",
        status="denied",
        policies=list(decision.policies),
    )
