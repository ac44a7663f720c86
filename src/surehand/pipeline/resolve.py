"""Stage 1: the name, or `name@version`, in this caller's view."""

from __future__ import annotations

import difflib

import msgspec

from ..errors import tool_error
from ..policy import Deny
from ..registry import Entry
from .events import tell
from .passage import Passage, Stop
from .services import Services

_NAMES_SHOWN = 20


def resolve(p: Passage, s: Services) -> Stop | None:
    """Finds the tool. A hidden tool and one that does not exist get the same answer."""
    name, _, version = p.call.name.partition("@")
    wanted = p.call.version or version or None
    if version and p.call.version not in (None, version):
        return _not_found(p)
    if p.view is not None:
        shown = p.view.get(name)
        if shown is None or wanted not in (None, shown.version):
            return _not_found(p)
        wanted = shown.version
    run_id = "" if p.run is None else p.run.run_id
    entry = p.world.find(p.caller, name, wanted, run_id=run_id, now_us=p.began_us)
    if entry is None:
        return _not_found(p)
    if isinstance(p.world.look(p.caller, entry, now_us=p.began_us), Deny):
        return switched_off(p, entry) if p.world.is_killed(p.caller, entry, now_us=p.began_us) else _not_found(p)
    p.entry = entry
    tell(p, s, "call.proposed", version=entry.tool.spec.version)
    return None


def switched_off(p: Passage, entry: Entry) -> Stop:
    """The stop of a call that an operator does not want now. Why is for operators; it must not invite another try."""
    spec = entry.tool.spec
    error = tool_error(
        "TOOL_UNAVAILABLE",
        f"`{spec.name}` was switched off by an operator. Nothing was done. Do not call it again, "
        "nor do the same in another way; tell the user that it is not available now.",
        tool=spec.name,
        version=spec.version,
    )
    return Stop(status="error", error=msgspec.structs.replace(error, retryable=False))


def _may_call(p: Passage, name: str) -> bool:
    """Whether a name of the view that a model was shown some time ago may still be called."""
    shown = None if p.view is None else p.view.get(name)
    entry = None if shown is None else p.world.catalog.resolve(name, shown.version)
    return entry is not None and not isinstance(p.world.look(p.caller, entry, now_us=p.began_us), Deny)


def _not_found(p: Passage) -> Stop:
    view = p.view or p.world.view(p.caller, now_us=p.began_us)
    names = [name for name in view.names if p.view is None or _may_call(p, name)]
    close = difflib.get_close_matches(p.call.name, names, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    listed = ", ".join(f"`{name}`" for name in names[:_NAMES_SHOWN]) or "none"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    asked = p.call.name if p.call.version is None else f"{p.call.name}@{p.call.version}"
    asked = asked if len(asked) <= 80 else asked[:77] + "..."
    return p.refuse("TOOL_NOT_FOUND", f"There is no tool `{asked}` here.{hint} Tools you can call: {listed}{more}.")
