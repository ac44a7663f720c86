"""`ToolView`: the tools that one caller may see now. One function decides it, for listing and for calling alike."""

from __future__ import annotations

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

    @property
    def names(self) -> tuple[str, ...]:
        """The listed names, sorted."""
        return tuple(entry.spec.name for entry in self.tools)


@dataclass(slots=True)
class World:
    """The catalog and the policies that hold at one moment. Replaced as a whole when either changes."""

    catalog: Catalog
    policies: Policies
    _views: dict[Any, ToolView] = field(default_factory=dict[Any, ToolView])

    def look(self, caller: Caller, entry: Entry, *, now_us: int) -> Decision:
        """Whether one tool is listed for a caller: `Deny` hides it, `Ask` marks it. Guards every path."""
        if not entry.callable:
            return Deny(policies=(), reasons=("removed" if entry.removed else "disabled",))
        return self.policies.view(caller, entry.tool.spec, now_ns=now_us * 1000)

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

    def _compute(self, caller: Caller, now_us: int) -> ToolView:
        tools: list[ViewEntry] = []
        hidden: dict[str, str] = {}
        off = {name: entry for (name, _), entry in self.catalog.entries.items() if name not in self.catalog.current}
        for name, entry in off.items():
            hidden[name] = "removed" if entry.removed else "disabled" if entry.disabled else "not published"
        for name, version in sorted(self.catalog.current.items()):
            entry = self.catalog.entries[name, version]
            decision = self.look(caller, entry, now_us=now_us)
            if isinstance(decision, Deny):
                hidden[name] = "; ".join(decision.reasons)
            else:
                asks = decision.requirements if isinstance(decision, Ask) else ()
                tools.append(ViewEntry(spec=entry.tool.spec, asks=asks))
        digest = content_hash([[entry.spec.id, entry.spec.contract_hash] for entry in tools])
        return ToolView(tools=tuple(tools), hidden=hidden, digest=digest)
