"""`ToolView`: the tools that one caller may see now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

import msgspec

from ..registry import SEARCH_TOOL
from ..spec import ToolSpec
from ..spec.hashes import content_hash
from ..types import Requirement
from .hidden import Hidden

_TOO_MANY: Final = Hidden(reason="too_many", why="the view has more tools than are shown at once")
_NOT_NEEDED: Final = Hidden(reason="not_needed", why="all tools are shown")


class ViewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A listed tool."""

    spec: ToolSpec
    asks: tuple[Requirement, ...] = ()
    """Who will be asked whatever the arguments are; more may be, depending on them."""
    notice: str = ""
    """Of a deprecated version: what to use instead, and until when it is there."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name

    @property
    def version(self) -> str:
        """The tool's version."""
        return self.spec.version


class ToolView(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The `name@version` list that one caller may see now."""

    tools: tuple[ViewEntry, ...]
    hidden: Mapping[str, Hidden]
    """Name -> why it is left out. For operators: a model must not read it."""
    digest: str
    """sha256 over the listed contracts; what the audit keeps of what the model saw."""
    other_versions: tuple[str, ...] = ()
    """Versions besides the listed ones that may be called by `name@version`: older ones, drafts."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The listed names, sorted."""
        return tuple(entry.spec.name for entry in self.tools)

    @cached_property
    def _by_name(self) -> dict[str, ViewEntry]:
        return {entry.spec.name: entry for entry in self.tools}

    def get(self, name: str) -> ViewEntry | None:
        """A listed tool by its name."""
        return self._by_name.get(name)

    def without(self, reasons: Mapping[str, Hidden]) -> ToolView:
        """The same view less some names, with why each is left out."""
        if not reasons:
            return self
        kept = [entry for entry in self.tools if entry.spec.name not in reasons]
        others = tuple(one for one in self.other_versions if one.partition("@")[0] not in reasons)
        return as_view(kept, {**self.hidden, **reasons}, others)

    def fit(self, most: int, first: Iterable[str] = ()) -> ToolView:
        """What a model is shown of this view: all of it if that is at most `most` tools, without the search tool.

        Else the search tool and those of `first`, up to `most`; the rest is hidden as `too_many`. Where there is no
        search tool to find the rest with, others fill the places that are left, by name.

        Args:
            most: Tools at most.
            first: Names to show rather than others, most wanted first.
        """
        wanted = [name for name in dict.fromkeys(first) if name in self._by_name]
        searches = SEARCH_TOOL in self._by_name
        if len(self.tools) - searches <= most:
            return self.without({SEARCH_TOOL: _NOT_NEEDED}) if searches and SEARCH_TOOL not in wanted else self
        order = [SEARCH_TOOL, *wanted] if searches else [*wanted, *self.names]
        shown = set(list(dict.fromkeys(order))[:most])
        return self.without({name: _TOO_MANY for name in self.names if name not in shown})


def as_view(tools: list[ViewEntry], hidden: Mapping[str, Hidden], other_versions: tuple[str, ...] = ()) -> ToolView:
    """A view of these tools, in this order."""
    digest = content_hash([[entry.spec.id, entry.spec.contract_hash] for entry in tools])
    return ToolView(tools=tuple(tools), hidden=hidden, digest=digest, other_versions=other_versions)
