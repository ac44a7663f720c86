"""Stage 1: the name, or `name@version`, in this caller's view."""

from __future__ import annotations

import difflib

import msgspec

from ..errors import tool_error
from ..policy import Decision, Deny
from ..registry import Entry
from ..spec import ToolSpec
from .events import tell
from .parent import Parent
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
    entry = p.world.find(p.caller, name, wanted, run_id=p.run_id or "", now_us=p.began_us)
    if entry is None:
        return _not_found(p)
    if isinstance(_look(p, entry), Deny):
        return switched_off(p, entry) if p.world.is_killed(p.caller, entry, now_us=p.began_us) else _not_found(p)
    if p.parent is not None and p.parent.calls is not None:
        stop = _beyond(p, p.parent, entry.tool.spec, s)
        if stop is not None:
            return stop
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


def _beyond(p: Passage, parent: Parent, spec: ToolSpec, s: Services) -> Stop | None:
    """Why the handler of another tool may not make this call, if it may not."""
    above = parent.above[-1]
    if parent.calls is not None and spec.name not in parent.calls:
        return _not_found(p)
    if parent.read_only and not spec.read_only:
        why = f"`{above}` is read-only, so it calls no tool that is not"
        return p.refuse("POLICY_DENIED", f"`{spec.name}` was not called: {why}.", status="denied")
    if spec.sequential and spec.name in parent.above:
        why = f"two calls of `{spec.name}` never overlap, and one is running above this one"
        return p.refuse("POLICY_DENIED", f"`{spec.name}` was not called: {why}.", status="denied")
    if parent.depth > s.limits.call_depth:
        return _too_much(p, spec, f"calls nest {s.limits.call_depth} deep at most")
    if parent.budget is not None:
        if parent.budget.left <= 0:
            return _too_much(p, spec, f"tools make {s.limits.nested_calls} calls for one call at most")
        parent.budget.left -= 1
    return None


def _too_much(p: Passage, spec: ToolSpec, why: str) -> Stop:
    return p.refuse("BUDGET_EXCEEDED", f"`{spec.name}` was not called: {why}.")


def _look(p: Passage, entry: Entry) -> Decision:
    return p.world.look(p.caller, entry, now_us=p.began_us, undoing=p.undoes is not None)


def _may_call(p: Passage, name: str) -> bool:
    """Whether a name of the view that a model was shown some time ago may still be called."""
    shown = None if p.view is None else p.view.get(name)
    entry = None if shown is None else p.world.catalog.resolve(name, shown.version)
    return entry is not None and not isinstance(p.world.look(p.caller, entry, now_us=p.began_us), Deny)


def _not_found(p: Passage) -> Stop:
    view = p.view or p.world.view(p.caller, now_us=p.began_us)
    names = [name for name in view.names if p.view is None or _may_call(p, name)]
    if p.parent is not None and p.parent.calls is not None:
        names = [name for name in names if name in p.parent.calls]
    close = difflib.get_close_matches(p.call.name, names, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    listed = ", ".join(f"`{name}`" for name in names[:_NAMES_SHOWN]) or "none"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    asked = p.call.name if p.call.version is None else f"{p.call.name}@{p.call.version}"
    asked = asked if len(asked) <= 80 else asked[:77] + "..."
    return p.refuse("TOOL_NOT_FOUND", f"There is no tool `{asked}` here.{hint} Tools you can call: {listed}{more}.")
