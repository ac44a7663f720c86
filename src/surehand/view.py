"""`ToolView`: the tools that one caller may see now. One function decides it, for listing and for calling alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from .policy import Ask, Decision, Deny, Policies
from .registry import Catalog, Entry
from .spec import ToolSpec
from .spec.hashes import content_hash
from .types import Caller, Requirement

_CACHED_VIEWS = 2048


class ViewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A listed tool."""

    spec: ToolSpec
    asks: tuple[Requirement, ...] = ()
    """Who will be asked whatever the arguments are; more may be, depending on them."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name

    @property
    def version(self) -> str:
        """The tool's version."""
        return self.spec.version


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """The `name@version` list that one caller may see now."""

    tools: tuple[ViewEntry, ...]
    hidden: dict[str, str]
    """Name -> why it is left out. For operators: a model must not read it."""
    digest: str
    """sha256 over the listed contracts; what the audit keeps of what the model saw."""
    other_versions: tuple[str, ...] = ()
    """Versions besides the listed ones that may be called by `name@version`: older ones, drafts."""

    @property
    def names(self) -> tuple[str, ...]:
        """The listed names, sorted."""
        return tuple(entry.spec.name for entry in self.tools)

    def get(self, name: str) -> ViewEntry | None:
        """A listed tool by its name."""
        return next((entry for entry in self.tools if entry.spec.name == name), None)

    def without(self, reasons: dict[str, str]) -> ToolView:
        """The same view less some names, with why each is left out."""
        if not reasons:
            return self
        kept = [entry for entry in self.tools if entry.spec.name not in reasons]
        return _as_view(kept, {**self.hidden, **reasons})


def _as_view(tools: list[ViewEntry], hidden: dict[str, str]) -> ToolView:
    digest = content_hash([[entry.spec.id, entry.spec.contract_hash] for entry in tools])
    return ToolView(tools=tuple(tools), hidden=hidden, digest=digest)


@dataclass(slots=True)
class World:
    """The catalog and the policies that hold at one moment. Replaced as a whole when either changes."""

    catalog: Catalog
    policies: Policies
    _views: dict[Any, ToolView] = field(default_factory=dict[Any, ToolView])

    def look(self, caller: Caller, entry: Entry, *, now_us: int, undoing: bool = False) -> Decision:
        """Whether one tool is listed for a caller: `Deny` hides it, `Ask` marks it. Guards every path.

        With `undoing`, as it is for who takes a call back: what does that is listed for nobody else.
        """
        if bool(entry.tool.spec.undoes) is not undoing:
            return Deny(policies=(), reasons=(f"it takes back calls of {entry.tool.spec.undoes or 'nothing'}",))
        if not entry.callable:
            return Deny(policies=(), reasons=("removed" if entry.removed else "disabled",))
        return self.policies.view(caller, entry.tool.spec, now_ns=now_us * 1000)

    def may_read(self, caller: Caller, entry: Entry, *, now_us: int) -> bool:
        """Whether a caller may still read what a tool returned. One that is switched off hides nothing of the past."""
        return not isinstance(self.policies.view(caller, entry.tool.spec, now_ns=now_us * 1000), Deny)

    def view(self, caller: Caller, *, now_us: int) -> ToolView:
        """All that a caller may see. Kept as long as nothing it depends on changes."""
        key = caller.identity
        found = self._views.get(key)
        if found is not None:
            return found
        view = self._compute(caller, now_us)
        if not self.policies.reads_now:
            if len(self._views) >= _CACHED_VIEWS:
                self._views.pop(next(iter(self._views)))
            self._views[key] = view
        return view

    def pinned(self, caller: Caller, pins: Mapping[str, str], *, now_us: int) -> ToolView:
        """The view of a run: names that it has seen keep the version it saw, as long as that may be called."""
        view = self.view(caller, now_us=now_us)
        listed = {entry.name: entry for entry in view.tools}
        if all(name in listed and listed[name].version == pin for name, pin in pins.items()):
            return view
        tools: list[ViewEntry] = []
        hidden = dict(view.hidden)
        for name in sorted(listed.keys() | pins.keys()):
            current, pin = listed.get(name), pins.get(name)
            entry = None if pin is None else self.catalog.entries.get((name, pin))
            if current is not None and (entry is None or current.version == pin):
                tools.append(current)
            elif entry is not None:
                hidden.pop(name, None)
                self._list(caller, entry, now_us, tools, hidden)
        return _as_view(tools, hidden)

    def _compute(self, caller: Caller, now_us: int) -> ToolView:
        tools: list[ViewEntry] = []
        hidden: dict[str, str] = {}
        off = {name: entry for (name, _), entry in self.catalog.entries.items() if name not in self.catalog.current}
        for name, entry in off.items():
            hidden[name] = "removed" if entry.removed else "disabled" if entry.disabled else "not published"
        for name, version in sorted(self.catalog.current.items()):
            self._list(caller, self.catalog.entries[name, version], now_us, tools, hidden)
        others = tuple(
            entry.tool.spec.id
            for (name, version), entry in sorted(self.catalog.entries.items())
            if version != self.catalog.current.get(name)
            and not isinstance(self.look(caller, entry, now_us=now_us), Deny)
        )
        return msgspec.structs.replace(_as_view(tools, hidden), other_versions=others)

    def _list(self, caller: Caller, entry: Entry, now_us: int, tools: list[ViewEntry], hidden: dict[str, str]) -> None:
        decision = self.look(caller, entry, now_us=now_us)
        if isinstance(decision, Deny):
            hidden[entry.tool.spec.name] = "; ".join(decision.reasons)
        else:
            asks = decision.requirements if isinstance(decision, Ask) else ()
            tools.append(ViewEntry(spec=entry.tool.spec, asks=asks))
