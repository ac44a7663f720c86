"""`Catalog`: the frozen snapshot of the registry that the runtime reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

from ..errors import SpecError
from ..schema import Validator, compile_parameters, compile_schema
from ..spec import Tool
from ..types import Stage
from .canary import Canary
from .version import version_key

EntryStatus = Literal["draft", "test", "canary", "active", "deprecated", "disabled", "removed"]


@dataclass(frozen=True, slots=True)
class Notice:
    """Of a deprecated version."""

    use: str = ""
    """What to use instead."""
    until: str = ""
    """The day, as YYYY-MM-DD, until which it is there."""

    def __str__(self) -> str:
        instead = f"; use {self.use}" if self.use else ""
        return f"deprecated{instead}{f'; it is there until {self.until}' if self.until else ''}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One published version, its schemas compiled.

    Raises:
        SpecError: A schema of the tool is not valid or too large, it names an argument that is injected, or it is
            written in Python and has a default that it refuses itself.
    """

    tool: Tool
    created_at_ns: int
    """Nanoseconds since the epoch."""
    disabled: bool = False
    removed: bool = False
    """A tombstone: its history stays readable, it is never listed or called."""
    notice: Notice | None = None
    """Of a deprecated version."""
    canary: Canary | None = None
    """Who gets it, while it is on trial."""
    absent: bool = False
    """Whether its source does not offer it now: another version that is there is current before it."""
    parameters: Validator = field(init=False, repr=False, compare=False)
    """Of the arguments; unknown top-level arguments, and those that are injected, are refused."""
    output: Validator | None = field(init=False, repr=False, compare=False)
    """Of the structured result, where the contract promises one."""

    def __post_init__(self) -> None:
        spec = self.tool.spec
        where = f"tool {spec.id!r}: parameters"
        # What runs elsewhere fills in its own defaults, as it is now; and what somebody else wrote is not ours to mend.
        ours = spec.source == "python"
        parameters = compile_parameters(spec.parameters, where, forbidden=frozenset(spec.injected), fill=ours)
        if parameters.unfit_defaults and ours:
            raise SpecError(
                f"{where}: its own schema refuses the default at {parameters.unfit_defaults[0]}; mend either"
            )
        object.__setattr__(self, "parameters", parameters)
        output = spec.output_schema
        compiled = None if output is None else compile_schema(output, where=f"tool {spec.id!r}: output_schema")
        object.__setattr__(self, "output", compiled)

    @property
    def stage(self) -> Stage:
        """Where it stands."""
        return "disabled" if self.disabled else self.tool.spec.stage

    @property
    def callable(self) -> bool:
        """Whether new calls may choose it."""
        return not (self.disabled or self.removed or self.tool.spec.stage == "disabled")

    @property
    def status(self) -> EntryStatus:
        """`removed`, `disabled`, or the stage of its contract."""
        return "removed" if self.removed else "disabled" if self.disabled else self.tool.spec.stage

    @property
    def created_at(self) -> datetime:
        """When it was published, in UTC."""
        return datetime.fromtimestamp(self.created_at_ns / 1e9, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All versions at one moment. Replaced as a whole by each change of the registry."""

    revision: int
    entries: Mapping[tuple[str, str], Entry]
    """`(name, version)` -> entry; tombstones included."""
    current: Mapping[str, str]
    """Name -> the version that a call without a version gets."""
    aliases: Mapping[str, str]
    """Other name -> name."""
    canaries: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name -> the version on trial that some callers get instead of the current one."""

    @staticmethod
    def empty() -> Catalog:
        """Without any tool."""
        nothing: Mapping[str, str] = MappingProxyType({})
        return Catalog(revision=0, entries=MappingProxyType({}), current=nothing, aliases=nothing)

    def resolve(self, name: str, version: str | None = None) -> Entry | None:
        """The entry of a name (or alias), or `None`. Disabled and removed entries are returned too."""
        name = self.aliases.get(name, name)
        chosen = version if version is not None else self.current.get(name)
        return None if chosen is None else self.entries.get((name, chosen))

    def listed(self) -> list[Entry]:
        """The current version of each name that new calls may choose, by name."""
        found = (self.entries[name, version] for name, version in sorted(self.current.items()))
        return [entry for entry in found if entry.callable]

    def without(self, ids: Collection[tuple[str, str]]) -> Catalog:
        """A catalog that lacks some `(name, version)`, as if never published; `current` is worked out anew."""
        entries = {key: entry for key, entry in self.entries.items() if key not in ids}
        names = {name for name, _ in entries}
        aliases = {alias: name for alias, name in self.aliases.items() if name in names}
        return build_catalog(self.revision, entries, aliases)


_PREFERENCE: dict[Stage, int] = {"active": 3, "deprecated": 2, "canary": 1, "test": 0}
"""A version on trial does not take over from one in use."""


def build_catalog(revision: int, entries: Mapping[tuple[str, str], Entry], aliases: Mapping[str, str]) -> Catalog:
    """Freezes entries and works out the current version of each name.

    That is the latest by version order (see `version_key`) among the callable ones of the best stage: active before
    deprecated before canary before test; those that their source offers now come before all others. A draft is never
    current; it is called by its version.
    """
    best: dict[str, tuple[tuple[object, ...], str]] = {}
    trials: dict[str, str] = {}
    for (name, version), entry in entries.items():
        stage = entry.tool.spec.stage
        if entry.callable and stage in _PREFERENCE:
            rank = (not entry.absent, _PREFERENCE[stage], version_key(version))
            if name not in best or rank > best[name][0]:
                best[name] = (rank, version)
            if entry.canary is not None and version_key(version) >= version_key(trials.get(name, version)):
                trials[name] = version
    return Catalog(
        revision=revision,
        entries=MappingProxyType(dict(entries)),
        current=MappingProxyType({name: version for name, (_, version) in best.items()}),
        aliases=MappingProxyType(dict(aliases)),
        canaries=MappingProxyType(trials),
    )
