"""`Registry`: the control plane. It publishes versions, never overwrites one in use, and never forgets one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, Final

from ..errors import RegistryError, SpecError
from ..spec import Definition, Handler, Tool, ToolSpec, bind_tool, raw_tool
from ..spec.tool_spec import NAME
from ..spec.undoing import UNDO, undo_tool
from ..types import Caller
from .catalog import Catalog, Entry, build_catalog
from .standing import Standings, placed
from .version import version_key

SEARCH_TOOL: Final = "search_tools"
"""The name of the tool that finds others, which an engine registers when there are more than it shows."""


class Registry:
    """All tools of one engine. Thread-safe: changes take turns, readers take `catalog` and need no lock.

    Args:
        now_ns: The time, in nanoseconds since the epoch.
    """

    def __init__(self, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._now_ns = now_ns
        self._lock = Lock()
        self._catalog = Catalog.empty()
        self._used: set[tuple[str, str]] = set()
        self._view: Callable[[Caller], Any] | None = None

    @property
    def catalog(self) -> Catalog:
        """The snapshot as of now."""
        return self._catalog

    def register(
        self, tool: Tool | ToolSpec | Definition, handler: Handler | None = None, *, raw: bool = False
    ) -> Tool:
        """Publishes a new version.

        Args:
            tool: A tool, or a contract for `handler`.
            handler: Takes the arguments by keyword; only with a contract.
            raw: Whether `handler` takes `(context, json)` instead.

        Raises:
            RegistryError: `name_empty`, `handler_missing`, `alias_taken`, or `duplicate`: this version is or was
                published, or another tool's name looks the same.
            SpecError: A schema is not valid, or the handler does not fit.
        """
        published = _as_tool("register", tool, handler, raw)
        entry = Entry(published, self._now_ns())
        with self._lock:
            self._require_new(entry, "register")
            self._put(entry)
        return published

    def replace(self, tool: Tool | ToolSpec | Definition, handler: Handler | None = None, *, raw: bool = False) -> Tool:
        """Publishes a later version of a tool that exists, which becomes current if its stage lets it.

        The same version may be given again only while it is a draft that no call refers to.

        Args:
            tool: As for `register`.
            handler: As for `register`.
            raw: As for `register`.

        Raises:
            RegistryError: `not_found`: there is no such tool. `duplicate`: this version may be in use.
                `in_use`: a later one is.
            SpecError: A schema is not valid, or the handler does not fit.
        """
        published = _as_tool("replace", tool, handler, raw)
        entry = Entry(published, self._now_ns())
        spec = published.spec
        with self._lock:
            versions = self._versions(spec.name)
            if not versions:
                raise RegistryError("not_found", "replace", f"no tool is named {spec.name!r}; register it")
            old = self._catalog.entries.get((spec.name, spec.version))
            if old is None:
                self._require_later(spec, versions)
                self._require_new(entry, "replace")
            elif old.removed or old.tool.spec.stage != "draft" or (spec.name, spec.version) in self._used:
                raise RegistryError(
                    "duplicate", "replace", f"{spec.id} is published and may be referred to; raise the version"
                )
            self._put(entry)
        return published

    def unregister(self, name: str, version: str | None = None) -> None:
        """Ends a version, or all versions of a name, for good. Its history stays readable, its id stays taken.

        Raises:
            RegistryError: `not_found`.
        """
        self._change("unregister", name, version, removed=True)

    def disable(self, name: str, version: str | None = None) -> None:
        """Takes a version, or all versions of a name, from new calls. An older one that is still on becomes current.

        Raises:
            RegistryError: `not_found`.
        """
        self._change("disable", name, version, disabled=True)

    def get(self, name: str, version: str | None = None) -> Tool:
        """The tool of a name or alias; without a version, the current one.

        Raises:
            RegistryError: `not_found`; unregistered counts as not found, a disabled version does not if it is named.
        """
        entry = self._catalog.resolve(name, version)
        if entry is None or entry.removed:
            wanted = name if version is None else f"{name}@{version}"
            raise RegistryError("not_found", "get", f"there is no tool {wanted!r}")
        return entry.tool

    def list_versions(self, name: str) -> list[Entry]:
        """Every version ever published under a name or alias, unregistered ones too, in version order."""
        return sorted(
            self._versions(self._catalog.aliases.get(name, name)), key=lambda e: version_key(e.tool.spec.version)
        )

    def list_allowed(self, caller: Caller) -> Any:
        """What a caller may see now, as the attached view says.

        Raises:
            RegistryError: `not_attached`: a registry by itself knows no policies.
        """
        if self._view is None:
            raise RegistryError("not_attached", "list_allowed", "a registry alone cannot tell; open an engine with it")
        return self._view(caller)

    def attach(self, view: Callable[[Caller], Any]) -> None:
        """Sets the view that `list_allowed` asks; an engine does this when it opens."""
        self._view = view

    def alias(self, alias: str, name: str) -> None:
        """Lets a tool be called by another name too.

        Raises:
            RegistryError: `name_empty`, `not_found`, or `alias_taken`: it is, or looks like, another name or alias.
        """
        with self._lock:
            self._check_alias(alias, name)
            catalog = self._catalog
            self._catalog = build_catalog(catalog.revision + 1, catalog.entries, {**catalog.aliases, alias: name})

    def check_alias(self, alias: str, name: str) -> None:
        """Whether `alias` would be taken.

        Raises:
            RegistryError: See `alias`.
        """
        with self._lock:
            self._check_alias(alias, name)

    def _check_alias(self, alias: str, name: str) -> None:
        if not isinstance(alias, str) or not NAME.fullmatch(alias):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise RegistryError("name_empty", "alias", f"{alias!r} is not a name; it must match {NAME.pattern}")
        if not any(not entry.removed for entry in self._versions(name)):
            raise RegistryError("not_found", "alias", f"there is no tool {name!r}")
        taken = self._lookalike(alias) or (alias if alias in self._names() else None) or self._reserved(alias)
        if taken is not None:
            raise RegistryError("alias_taken", "alias", f"{alias!r} is, or looks like, {taken!r}, which is taken")

    def follow(self, standings: Standings, aliases: Mapping[str, str]) -> dict[str, str]:
        """Puts every version where the control plane says, and takes its aliases over.

        Args:
            standings: Of versions that may or may not be registered here.
            aliases: Other name -> name. One whose tool is not registered here is left out.

        Returns:
            Aliases that were left out because they are, or look like, another name -> that name.
        """
        with self._lock:
            catalog = self._catalog
            entries = {
                key: placed(entry, standings[key]) if key in standings else entry
                for key, entry in catalog.entries.items()
            }
            self._used.update(key for key, one in standings.items() if one.used)
            names = {name for name, _ in entries}
            kept: dict[str, str] = {}
            shadowing: dict[str, str] = {}
            for alias, name in aliases.items():
                taken = next((known for known in names if _folded(known) == _folded(alias)), None)
                if taken is not None:
                    shadowing[alias] = taken
                elif name in names:
                    kept[alias] = name
            if any(entries[key] is not catalog.entries[key] for key in entries) or kept != catalog.aliases:
                self._catalog = build_catalog(catalog.revision + 1, entries, kept)
        return shadowing

    def set_absent(self, name: str, version: str, absent: bool) -> None:
        """Says whether the source of a version offers it now. One that is absent stays, and stays callable by version.

        Raises:
            RegistryError: `not_found`.
        """
        there = self._catalog.entries.get((name, version))
        if there is None or there.absent is not absent:
            self._change("set_absent", name, version, absent=absent)

    def mark_used(self, name: str, version: str) -> None:
        """Notes that a call refers to a version, so that not even a draft is overwritten."""
        with self._lock:
            self._used.add((name, version))

    def _versions(self, name: str) -> list[Entry]:
        return [entry for (known, _), entry in self._catalog.entries.items() if known == name]

    def _names(self) -> set[str]:
        return {name for name, _ in self._catalog.entries} | self._catalog.aliases.keys()

    def _lookalike(self, name: str) -> str | None:
        """Another name or alias that a person, or a provider's narrower rule for names, would take for this one."""
        return next((known for known in self._names() if known != name and _folded(known) == _folded(name)), None)

    def _reserved(self, alias: str) -> str | None:
        """The name that an alias would take from a tool which is published by itself, now or some day."""
        kept = (SEARCH_TOOL, *(f"{name}{UNDO}" for name, _ in self._catalog.entries))
        return next((one for one in kept if _folded(one) == _folded(alias)), None)

    def _require_new(self, entry: Entry, operation: str) -> None:
        spec = entry.tool.spec
        old = self._catalog.entries.get((spec.name, spec.version))
        if old is not None:
            why = "was unregistered and cannot come back" if old.removed else "is already registered"
            raise RegistryError("duplicate", operation, f"{spec.id} {why}; raise the version")
        if spec.name in self._catalog.aliases:
            raise RegistryError(
                "alias_taken", operation, f"{spec.name!r} is an alias of {self._catalog.aliases[spec.name]!r}"
            )
        taken = self._lookalike(spec.name)
        undoing = spec.name + UNDO
        if taken is None and entry.tool.undo is not None:
            versions = self._versions(undoing)
            foreign = any(one.tool.spec.undoes != spec.name for one in versions) or undoing in self._catalog.aliases
            taken = undoing if foreign else self._lookalike(undoing)
        if taken is not None:
            raise RegistryError(
                "duplicate", operation, f"{spec.name!r} looks like {taken!r}, which is taken; choose another name"
            )

    def _require_later(self, spec: ToolSpec, versions: list[Entry]) -> None:
        latest = max((entry.tool.spec.version for entry in versions if entry.callable), key=version_key, default=None)
        if latest is not None and version_key(spec.version) < version_key(latest):
            raise RegistryError(
                "in_use", "replace", f"{spec.id} is older than {latest}, which is in use; raise the version"
            )

    def _put(self, entry: Entry) -> None:
        """Publishes an entry, and with it the one that takes back its calls, if it has an `undo`."""
        catalog = self._catalog
        undo = undo_tool(entry.tool)
        new = [entry] if undo is None else [entry, Entry(undo, entry.created_at_ns)]
        entries = {(one.tool.spec.name, one.tool.spec.version): one for one in new}
        self._catalog = build_catalog(catalog.revision + 1, {**catalog.entries, **entries}, catalog.aliases)

    def _change(self, operation: str, name: str, version: str | None, **flags: bool) -> None:
        with self._lock:
            catalog = self._catalog
            name = catalog.aliases.get(name, name)
            chosen = {
                key: replace(entry, **flags)
                for key, entry in catalog.entries.items()
                if key[0] == name and version in (None, key[1]) and not entry.removed
            }
            if not chosen:
                wanted = name if version is None else f"{name}@{version}"
                raise RegistryError("not_found", operation, f"there is no tool {wanted!r}")
            self._catalog = build_catalog(catalog.revision + 1, {**catalog.entries, **chosen}, catalog.aliases)


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_").replace(".", "_")


def _as_tool(operation: str, tool: object, handler: Handler | None, raw: bool) -> Tool:
    if isinstance(tool, Tool):
        if handler is not None:
            raise RegistryError(
                "handler_missing", operation, f"{tool.spec.name!r} has its handler already; give a contract with one"
            )
        return tool
    if not isinstance(tool, ToolSpec | Definition):
        hint = "; put @tool on the function" if callable(tool) else ""
        raise SpecError(f"{operation} takes a Tool, or a ToolSpec or Definition and a handler, not {tool!r:.80}{hint}")
    if isinstance(tool, Definition) and isinstance(tool.name, str) and not tool.name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RegistryError("name_empty", operation, "the tool's name is empty")
    if handler is None:
        raise RegistryError(
            "handler_missing", operation, f"{tool.name!r} has no handler; give the function that does the work"
        )
    spec = tool.to_spec() if isinstance(tool, Definition) else tool
    return raw_tool(spec, handler) if raw else bind_tool(spec, handler)
