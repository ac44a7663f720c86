"""What a change comes to, given the latest state. Pure: it is planned again whenever somebody else was first."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import date

from msgspec.structs import replace

from ..errors import NotFoundError, RegistryError
from ..registry import Canary, Catalog, Standing, check_move
from .control_state import Action, Change, ControlState, PolicySet
from .plane import Planned


def planned(change: Change, state: ControlState, catalog: Catalog) -> Planned:
    """The row that makes a change.

    Args:
        change: What somebody wants.
        state: What holds.
        catalog: The tools that are registered here.

    Raises:
        RegistryError: `not_found`, `not_permitted`, `alias_taken`.
        NotFoundError: What is to be revived is not switched off.
    """
    made = _PLANS[change.action](change, state, catalog)
    return made if made.reason else dataclasses.replace(made, reason=change.reason)


def _standing(change: Change, state: ControlState) -> Standing:
    standing = state.standings.get((change.name, change.version))
    if standing is None or standing.removed:
        raise RegistryError("not_found", change.action, f"there is no tool '{change.name}@{change.version}'")
    return standing


def _move(change: Change, state: ControlState, catalog: Catalog) -> Planned:
    """To another stage. What a stage had of its own, it leaves behind."""
    standing, to, where = _standing(change, state), change.to, change.action
    version = f"{change.name}@{change.version}"
    check_move(where, version, standing.stage, to)  # pyright: ignore[reportArgumentType]
    if change.rollback:
        _check_rollback(change, catalog)
    if change.until:
        _check_day(change.until)
    now = replace(
        standing,
        stage=to,
        rollback=change.rollback,
        use=change.use if to == "deprecated" else "",
        until=change.until if to == "deprecated" else "",
        canary=change.canary if to == "canary" else None,
    )
    return _of_version(change, now, was=standing.stage, now=to)


def _check_rollback(change: Change, catalog: Catalog) -> None:
    entry = catalog.entries.get((change.name, change.rollback))
    if entry is None or not entry.callable or change.rollback == change.version:
        raise RegistryError(
            "not_found",
            change.action,
            f"{change.name}@{change.rollback} cannot take over from {change.name}@{change.version}: "
            "name another version that may be called",
        )


def _check_day(until: str) -> None:
    try:
        written = date.fromisoformat(until).isoformat()
    except ValueError:
        written = ""
    if written != until:
        raise RegistryError("not_permitted", "deprecate", f"until is {until!r}; write a day as YYYY-MM-DD")


def _trial(change: Change, state: ControlState, catalog: Catalog) -> Planned:
    standing = _standing(change, state)
    assert change.canary is not None
    change.canary.check("canary")
    if standing.stage != "canary":
        raise RegistryError(
            "not_permitted",
            "canary",
            f"{change.name}@{change.version} is at {standing.stage!r}; promote it to 'canary' first",
        )
    was = str(standing.canary or Canary())
    return _of_version(change, replace(standing, canary=change.canary), was=was, now=str(change.canary))


def _of_version(change: Change, standing: Standing, *, was: str, now: str) -> Planned:
    facts = {
        "contract_hash": standing.contract_hash,
        "rollback": standing.rollback,
        "use": standing.use,
        "until": standing.until,
    }
    if standing.canary is not None:
        facts["trial"] = str(standing.canary)
    return Planned(
        kind="version",
        name=f"{change.name}@{change.version}",
        value=standing,
        action=change.action,
        was=was,
        now=now,
        facts=facts,
    )


def _alias(change: Change, state: ControlState, catalog: Catalog) -> Planned:
    if state.aliases.get(change.alias) is not None:
        taken = state.aliases[change.alias]
        raise RegistryError("alias_taken", "alias", f"{change.alias!r} is taken: it is an alias of {taken!r}")
    return Planned(kind="alias", name=change.alias, value=change.name, action="alias", now=change.name)


def _switch(change: Change, state: ControlState, catalog: Catalog) -> Planned:
    off = (change.tenant, change.switch) in state.kills.reasons
    on = change.action == "revive"
    if on and not off:
        raise NotFoundError(f"{change.target} is not switched off")
    return Planned(
        kind="kill",
        tenant=change.tenant,
        name=change.switch,
        value=not on,
        action=change.action,
        was="off" if off else "on",
        now="on" if on else "off",
    )


def _policies(change: Change, state: ControlState, catalog: Catalog) -> Planned:
    was = "" if state.policies is None else state.policies.digest
    if was == change.digest:
        holds = f"policy set {was[:12]} holds" if was else "the project's own policies hold"
        raise RegistryError("not_permitted", "policies", f"{holds} already")
    return Planned(
        kind="policies",
        name="",
        value=PolicySet(digest=change.digest, sources=change.sources),
        action="policies",
        was=was or "project",
        now=change.digest or "project",
    )


_PLANS: Mapping[Action, Callable[[Change, ControlState, Catalog], Planned]] = {
    "promote": _move,
    "disable": _move,
    "deprecate": _move,
    "canary": _trial,
    "alias": _alias,
    "kill": _switch,
    "revive": _switch,
    "policies": _policies,
}
