"""How what code registers becomes stored: a version is published once, and never again with another contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from ..errors import RegistryError, StoreError, SurehandError
from ..registry import Catalog, Entry, Standing, standing_of
from ..spec import ToolSpec
from .control_state import ControlState
from .plane import Plane, Planned
from .worlds import Worlds


@dataclass(frozen=True, slots=True)
class Local:
    """What this process's registry has come to since the control plane was last followed."""

    entries: Mapping[tuple[str, str], Entry]
    aliases: Mapping[str, str]
    disabled: frozenset[tuple[str, str]]
    removed: frozenset[tuple[str, str]]

    def after(self, earlier: Local | None) -> Local:
        """With what was to be stored earlier."""
        if earlier is None:
            return self
        return Local(
            entries=self.entries,
            aliases={**earlier.aliases, **self.aliases},
            disabled=self.disabled | earlier.disabled,
            removed=self.removed | earlier.removed,
        )


def local(catalog: Catalog, state: ControlState) -> Local:
    """The difference between the registry and what it followed."""
    known = state.standings
    return Local(
        entries=catalog.entries,
        aliases={alias: name for alias, name in catalog.aliases.items() if state.aliases.get(alias) != name},
        disabled=frozenset(
            key
            for key, entry in catalog.entries.items()
            if entry.disabled and key in known and known[key].stage != "disabled"
        ),
        removed=frozenset(
            key for key, entry in catalog.entries.items() if entry.removed and key in known and not known[key].removed
        ),
    )


def to_publish(mine: Local, state: ControlState) -> tuple[list[Planned], dict[tuple[str, str], str]]:
    """The rows to write, and the versions that are refused, each with why. Pure."""
    rows: list[Planned] = []
    refused: dict[tuple[str, str], str] = {}
    for key, entry in mine.entries.items():
        standing = state.standings.get(key)
        if standing is None:
            stage = standing_of(entry).stage
            rows.append(_row(entry, "publish", standing_of(entry), now=stage))
            continue
        spec = entry.tool.spec
        same = spec.contract_hash == standing.contract_hash
        unused_draft = standing.stage == "draft" and not standing.used and not standing.removed
        if not same and not unused_draft:
            refused[key] = _refusal(entry, standing)
        elif unused_draft and not (same and entry.stage == "draft"):
            if not entry.removed:
                rows.append(_row(entry, "publish", standing_of(entry), was=standing.contract_hash))
        elif key in mine.removed:
            rows.append(_row(entry, "remove", replace(standing, removed=True), was=standing.stage, now="removed"))
        elif key in mine.disabled and standing.stage != "disabled":
            now: Standing = replace(standing, stage="disabled")
            rows.append(_row(entry, "disable", now, was=standing.stage, now="disabled"))
        elif spec.binding_hash != standing.binding_hash:
            moved = replace(standing, binding_hash=spec.binding_hash)
            rows.append(_row(entry, "bind", moved, was=standing.binding_hash, now=spec.binding_hash))
    rows += [
        Planned(kind="alias", name=alias, value=name, action="alias", now=name)
        for alias, name in mine.aliases.items()
        if alias not in state.aliases
    ]
    return rows, refused


def _row(entry: Entry, action: str, standing: Standing, *, was: str = "", now: str = "") -> Planned:
    spec = entry.tool.spec
    return Planned(
        kind="version",
        name=spec.id,
        value=standing,
        action=action,  # pyright: ignore[reportArgumentType]
        was=was,
        now=now,
        facts={"contract_hash": spec.contract_hash, "binding_hash": spec.binding_hash, "owner": spec.owner},
    )


def _refusal(entry: Entry, standing: Standing) -> str:
    spec = entry.tool.spec
    why = "calls refer to it" if standing.stage == "draft" else "a published version never changes"
    if standing.removed:
        why = "it was unregistered and cannot come back"
    return (
        f"{spec.id} was published before with another contract ({standing.contract_hash[:12]}, here "
        f"{spec.contract_hash[:12]}), and {why}; raise the version, or take the change back"
    )


class Publishing:
    """Stores what the registry of one engine has come to."""

    def __init__(self, plane: Plane, worlds: Worlds) -> None:
        self._plane = plane
        self._worlds = worlds
        self._told: set[tuple[str, str]] = set()
        self._unstored: Local | None = None
        """What could not be stored when it was due: following may have undone it in the registry since."""

    async def publish(self, *, strict: bool = False) -> None:
        """Brings control plane and registry together.

        Args:
            strict: Whether a version that may not be published is an error; else it is held back and told.

        Raises:
            RegistryError: `duplicate`: versions were published before with another contract.
            StoreError: The control plane cannot be read or written.
        """
        mine = local(self._worlds.registry.catalog, self._plane.state).after(self._unstored)
        refused: dict[tuple[str, str], str] = {}

        def plan(state: ControlState) -> list[Planned]:
            refused.clear()
            rows, wrong = to_publish(mine, state)
            refused.update(wrong)
            return [] if strict and wrong else rows

        try:
            await self._plane.write(plan, by=None)
        except StoreError:
            self._unstored, self._worlds.off = mine, mine.disabled | mine.removed
            self._worlds.mark_behind()
            self._worlds.take(self._plane.state)
            self._worlds.mark_behind()
            raise
        self._unstored, self._worlds.off = None, frozenset()
        if refused and strict:
            raise RegistryError("duplicate", "register", "; ".join(refused.values()))
        for key in refused.keys() - self._told:
            self._worlds.problem("registry", refused[key])
        self._told |= refused.keys()
        self._worlds.mark_behind()
        self._worlds.take(self._plane.state)

    async def use(self, draft: ToolSpec) -> None:
        """A call refers to a draft from now on. That this cannot be stored is only told: the call is done."""
        self._worlds.registry.mark_used(draft.name, draft.version)
        try:
            await self._note_used(draft.name, draft.version)
        except SurehandError as error:  # a draft that changes makes its approvals stale
            self._worlds.problem("control", str(error))

    async def _note_used(self, name: str, version: str) -> None:
        known = self._plane.state.standings.get((name, version))
        if known is not None and known.used:
            return

        def plan(state: ControlState) -> list[Planned]:
            standing = state.standings.get((name, version))
            if standing is None or standing.used:
                return []
            now = replace(standing, used=True)
            return [Planned(kind="version", name=f"{name}@{version}", value=now, action="use", now="used")]

        await self._plane.write(plan, by=None)
