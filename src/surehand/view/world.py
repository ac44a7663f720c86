"""`World`: the catalog, the policies and the filters that hold at one moment, and what each caller sees of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..policy import Ask, Decision, Deny, Policies
from ..policy.cache import Bounded
from ..registry import Catalog, Entry, Kills
from ..types import Caller
from .filters import STANDING, Filters
from .hidden import Hidden, HiddenReason
from .tool_view import ToolView, ViewEntry, as_view

_CACHED_VIEWS = 2048


def _views() -> Bounded[Any, ToolView]:
    return Bounded(_CACHED_VIEWS)


@dataclass(slots=True)
class World:
    """The catalog, the policies and the switches that hold at one moment. Replaced as a whole when one changes."""

    catalog: Catalog
    policies: Policies
    filters: Filters = field(default_factory=Filters)
    kills: Kills = field(default_factory=Kills)
    revision: int | None = None
    """Of the control plane; `None` apart from any. What takes effect says which one it was decided with."""
    _views: Bounded[Any, ToolView] = field(default_factory=_views)
    """Keyed by everything that a view depends on, the tenant included; gone with this world."""

    def renewed(self, catalog: Catalog, policies: Policies, kills: Kills, revision: int) -> World:
        """The world after a change of the catalog or the policies."""
        return World(catalog, policies, self.filters, kills, revision)

    def switched(self, kills: Kills, revision: int) -> World:
        """The world after a change of the switches only. Views are kept where none was changed."""
        views = self._views if kills is self.kills else _views()
        return World(self.catalog, self.policies, self.filters, kills, revision, views)

    def look(self, caller: Caller, entry: Entry, *, now_us: int, undoing: bool = False) -> Decision:
        """Whether one tool is listed for a caller: `Deny` hides it, `Ask` marks it. Guards every path.

        With `undoing`, as it is for who takes a call back: what does that is listed for nobody else.
        """
        if bool(entry.tool.spec.undoes) is not undoing:
            return Deny(policies=(), reasons=(_undoing(entry).why,))
        hidden = next(self._beyond_policies(caller, entry), None)
        if hidden is not None:
            return Deny(policies=hidden.policies, reasons=(hidden.why,))
        return self.policies.view(caller, entry.tool.spec, now_ns=now_us * 1000)

    def hides(self, caller: Caller, entry: Entry, *, now_us: int) -> list[Hidden]:
        """All reasons why `look` denies; none if it does not."""
        found = list(self._beyond_policies(caller, entry))
        if entry.tool.spec.undoes:
            found.insert(0, _undoing(entry))
        decision = self.policies.view(caller, entry.tool.spec, now_ns=now_us * 1000)
        return [*found, self._denied(caller, entry, decision)] if isinstance(decision, Deny) else found

    def may_read(self, caller: Caller, entry: Entry, *, now_us: int) -> bool:
        """Whether a caller may still read what a tool returned. One that is switched off hides nothing of the past."""
        spec = entry.tool.spec
        if next(self.filters.hides(caller, spec, STANDING), None) is not None:
            return False
        return not isinstance(self.policies.view(caller, spec, now_ns=now_us * 1000), Deny)

    def is_killed(self, caller: Caller, entry: Entry, *, now_us: int) -> bool:
        """Whether nothing but an operator's switch keeps a caller from a tool: they may be told so."""
        killed = entry.callable and self.kills.of(caller, entry.tool.spec.name) is not None
        if not killed or next(self.filters.hides(caller, entry.tool.spec), None) is not None:
            return False
        return self.may_read(caller, entry, now_us=now_us)

    def find(self, caller: Caller, name: str, version: str | None, *, run_id: str, now_us: int) -> Entry | None:
        """The entry of a name; without a version, the one that this caller, or this run, gets."""
        name = self.catalog.aliases.get(name, name)
        if version is None and name in self.catalog.canaries:
            version = self._trials(caller, run_id, now_us).get(name)
        return self.catalog.resolve(name, version)

    def _trials(self, caller: Caller, run_id: str, now_us: int) -> dict[str, str]:
        """Name -> the version on trial that this caller, or this run, gets. One they may not see is none."""
        found: dict[str, str] = {}
        for name, version in self.catalog.canaries.items():
            entry = self.catalog.entries[name, version]
            taken = entry.canary is not None and entry.canary.takes(entry.tool.spec.id, caller, run_id)
            if taken and not isinstance(self.look(caller, entry, now_us=now_us), Deny):
                found[name] = version
        return found

    def view(self, caller: Caller, *, now_us: int, run_id: str = "") -> ToolView:
        """All that a caller may see. Kept as long as nothing it depends on changes."""
        trials = self._trials(caller, run_id, now_us) if self.catalog.canaries else {}
        key = (caller.identity, *trials.items()) if trials else caller.identity
        found = self._views.get(key)
        if found is not None:
            return found
        view = self._compute(caller, now_us, trials)
        return view if self.policies.reads_now else self._views.put(key, view)

    def shown(self, caller: Caller, most: int, first: Sequence[str], *, now_us: int, run_id: str = "") -> ToolView:
        """What `ToolView.fit` leaves of `view`; kept like it."""
        view = self.view(caller, now_us=now_us, run_id=run_id)
        if self.policies.reads_now:
            return view.fit(most, first)
        key = (caller.identity, view.digest, most, *first)
        return self._views.get(key) or self._views.put(key, view.fit(most, first))

    def pinned(self, caller: Caller, pins: Mapping[str, str], *, now_us: int, run_id: str = "") -> ToolView:
        """The view of a run: names that it has seen keep the version it saw, as long as that may be called."""
        view = self.view(caller, now_us=now_us, run_id=run_id)
        if all((entry := view.get(name)) is not None and entry.version == pin for name, pin in pins.items()):
            return view
        tools: list[ViewEntry] = []
        hidden = dict(view.hidden)
        for name in sorted({*view.names, *pins}):
            current, pin = view.get(name), pins.get(name)
            entry = None if pin is None else self.catalog.entries.get((name, pin))
            if current is not None and (entry is None or current.version == pin):
                tools.append(current)
            elif entry is not None:
                hidden.pop(name, None)
                self._list(caller, entry, now_us, tools, hidden)
        return as_view(tools, hidden)

    def unpublished(self, name: str) -> Hidden | None:
        """Why a name has no version that a call without one gets, if it has none."""
        if name in self.catalog.current:
            return None
        entries = [entry for (one, _), entry in self.catalog.entries.items() if one == name]
        return _unpublished(entries[-1]) if entries else None

    def _beyond_policies(self, caller: Caller, entry: Entry) -> Iterator[Hidden]:
        off = _off(entry)
        if off is not None:
            yield off
        killed = self.kills.of(caller, entry.tool.spec.name)
        if killed is not None:
            yield Hidden(reason="killed", why=killed)
        yield from self.filters.hides(caller, entry.tool.spec)

    def _denied(self, caller: Caller, entry: Entry, decision: Deny) -> Hidden:
        lacks = not decision.policies and self.policies.missing(caller, entry.tool.spec)
        reason: HiddenReason = "permission" if lacks else "policy"
        return Hidden(reason=reason, why="; ".join(decision.reasons), policies=decision.policies)

    def _compute(self, caller: Caller, now_us: int, trials: Mapping[str, str]) -> ToolView:
        chosen = {**self.catalog.current, **trials}
        tools: list[ViewEntry] = []
        hidden = {
            name: _unpublished(entry)
            for (name, _), entry in self.catalog.entries.items()
            if name not in self.catalog.current
        }
        for name, version in sorted(chosen.items()):
            self._list(caller, self.catalog.entries[name, version], now_us, tools, hidden)
        others = tuple(
            entry.tool.spec.id
            for (name, version), entry in sorted(self.catalog.entries.items())
            if version != chosen.get(name) and not isinstance(self.look(caller, entry, now_us=now_us), Deny)
        )
        return as_view(tools, hidden, others)

    def _list(
        self, caller: Caller, entry: Entry, now_us: int, tools: list[ViewEntry], hidden: dict[str, Hidden]
    ) -> None:
        decision = self.look(caller, entry, now_us=now_us)
        if isinstance(decision, Deny):
            hidden[entry.tool.spec.name] = self.hides(caller, entry, now_us=now_us)[0]
        else:
            asks = decision.requirements if isinstance(decision, Ask) else ()
            notice = "" if entry.notice is None else str(entry.notice)
            tools.append(ViewEntry(spec=entry.tool.spec, asks=asks, notice=notice))


def _undoing(entry: Entry) -> Hidden:
    return Hidden(reason="undoing", why=f"it takes back calls of {entry.tool.spec.undoes or 'nothing'}")


def _off(entry: Entry) -> Hidden | None:
    """Why nobody may call a version."""
    if entry.callable:
        return None
    reason: HiddenReason = "removed" if entry.removed else "disabled"
    return Hidden(reason=reason, why=entry.status)


def _unpublished(entry: Entry) -> Hidden:
    """Why a name has no current version, by the last one of it."""
    why = f"no version is published; {entry.tool.spec.version} has the stage {entry.tool.spec.stage}"
    return _off(entry) or Hidden(reason="not_published", why=why)
