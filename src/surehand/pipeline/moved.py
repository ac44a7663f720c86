"""What a call does when the control plane moved between its decision and its effect: it is decided anew."""

from __future__ import annotations

from ..policy import Deny
from .authorize import authorize
from .passage import Passage, Stop
from .resolve import switched_off
from .services import Services

ROUNDS = 5
"""Of a call whose decision is overtaken again and again; then it is refused as unavailable."""


async def decide_anew(p: Passage, s: Services) -> Stop | None:
    """Reads what holds now, and judges the same arguments of the same version by it.

    What ran before it (hooks, validation, the tool's own check) does not depend on the control plane.

    Raises:
        SurehandError: What holds now cannot be read.
    """
    assert p.entry is not None
    spec = p.spec
    p.world = await s.reload()
    entry = p.world.catalog.entries.get((spec.name, spec.version))
    if entry is None or entry.tool.spec.contract_hash != spec.contract_hash:
        return _gone(p)
    if isinstance(p.world.look(p.caller, entry, now_us=p.began_us, undoing=p.undoes is not None), Deny):
        return switched_off(p, entry) if p.world.is_killed(p.caller, entry, now_us=p.began_us) else _gone(p)
    p.entry = entry
    return authorize(p, s)


def _gone(p: Passage) -> Stop:
    return p.refuse(
        "TOOL_NOT_FOUND",
        f"`{p.spec.name}` was taken back while it was being called. Nothing was done. "
        "Do not repeat the call; look at the tools that there are now.",
    )
