"""`Filters`: what agents, scenes, states of a run and environments narrow, besides policies. They never grant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from ..errors import ConfigError
from ..spec import ToolSpec
from ..spec.rules import did_you_mean, known_names
from ..types import Caller, Risk, RunState, Stage
from .hidden import Hidden, HiddenReason

Default: TypeAlias = Literal["allow", "deny"]
Kind: TypeAlias = Literal["agents", "scenes", "environments", "run_states"]

_RISKS: Final[tuple[Risk, ...]] = get_args(Risk)
_KINDS: Final[Mapping[Kind, HiddenReason]] = {
    "agents": "agent",
    "scenes": "scene",
    "environments": "environment",
    "run_states": "run_state",
}
FILTER_TABLES: Final = tuple(_KINDS)
"""The tables of a project file that hold filters."""
STANDING: Final[tuple[Kind, ...]] = ("agents", "environments")
"""Those that say what may be known at all; the others say what is useful at a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFilter:
    """Which tools are let in. What is left out lets all in.

    Raises:
        ConfigError: A field is not what it must be.
    """

    tools: tuple[str, ...] | None = None
    """Names. With `tags`, what is in either is let in."""
    tags: tuple[str, ...] | None = None
    risk: Risk | None = None
    """The highest."""
    read_only: bool = False
    """Whether only tools that change nothing are let in."""
    stages: tuple[Stage, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("tools", "tags", "stages"):
            value: object = getattr(self, name)
            if value is None:
                continue
            items = cast("list[object]", value) if isinstance(value, list | tuple) else [0]
            if not all(isinstance(one, str) and one for one in items):
                raise ConfigError(f"{name} must be a list of strings, not {value!r:.80}")
            object.__setattr__(self, name, tuple(items))
        for stage in self.stages or ():
            if stage not in get_args(Stage):
                raise ConfigError(f"stages holds {stage!r}; write some of {', '.join(get_args(Stage))}")
        if self.risk is not None and self.risk not in _RISKS:
            raise ConfigError(f"risk must be one of {', '.join(_RISKS)}, not {self.risk!r:.80}")
        if not isinstance(self.read_only, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"read_only must be true or false, not {self.read_only!r:.80}")

    def refuses(self, spec: ToolSpec) -> tuple[bool, str] | None:
        """Why a tool is not let in: whether it is for its stage, and the rest of a sentence about the tool."""
        if self.stages is not None and spec.stage not in self.stages:
            return True, f"has the stage {spec.stage}, and only {', '.join(self.stages) or 'none'} is let in"
        if self.risk is not None and _RISKS.index(spec.risk) > _RISKS.index(self.risk):
            return False, f"has the risk {spec.risk}, and the highest is {self.risk}"
        if self.read_only and not spec.read_only:
            return False, "has effects, and only reads are let in"
        listed = self.tools is not None or self.tags is not None
        if listed and spec.name not in (self.tools or ()) and not set(spec.tags).intersection(self.tags or ()):
            return False, "is not among its tools and tags"
        return None


@dataclass(frozen=True, kw_only=True)
class Filters:
    """All filters of one engine, each by its name. A filter only ever takes away.

    Raises:
        ConfigError: A state is none that a run can have.
    """

    agents: Mapping[str, ToolFilter] = field(default_factory=dict[str, ToolFilter])
    scenes: Mapping[str, ToolFilter] = field(default_factory=dict[str, ToolFilter])
    """A scene that is not here lets nothing in."""
    environments: Mapping[str, ToolFilter] = field(default_factory=dict[str, ToolFilter])
    run_states: Mapping[str, ToolFilter] = field(default_factory=dict[str, ToolFilter])
    agents_default: Default = "allow"
    """Of agents that are not here. A caller without an agent is none."""

    def __post_init__(self) -> None:
        for state in self.run_states:
            if state not in get_args(RunState):
                raise ConfigError(f"run_states.{state}: there is no such state; write {', '.join(get_args(RunState))}")

    def hides(self, caller: Caller, spec: ToolSpec, kinds: Iterable[Kind] = FILTER_TABLES) -> Iterator[Hidden]:
        """Why a caller does not see a tool, whatever policies say."""
        for kind in kinds:
            name = _name(kind, caller)
            found: ToolFilter | None = getattr(self, kind).get(name) if name else None
            if found is not None:
                refused = found.refuses(spec)
                if refused is not None:
                    reason: HiddenReason = "stage" if refused[0] else _KINDS[kind]
                    yield Hidden(reason=reason, why=f"{_word(kind)} {name!r}: {spec.name} {refused[1]}")
            elif name and kind == "agents" and self.agents_default == "deny":
                yield Hidden(reason="agent", why=f"agent {name!r}: it is not in [agents], whose default is deny")
            elif name and kind == "scenes":
                yield Hidden(reason="scene", why=f"scene {name!r}: there is no such scene")

    def unknown(self, specs: Iterable[ToolSpec]) -> list[str]:
        """Names of tools and tags that no tool has: each a mistake, one line."""
        known = list(specs)
        names = {spec.name for spec in known}
        tags = {tag for spec in known for tag in spec.tags}
        return [
            f"{kind}.{name}: no tool {what} {one!r}{did_you_mean(one, sorted(have))}"
            for kind in _KINDS
            for name, found in getattr(self, kind).items()
            for what, given, have in (("is named", found.tools, names), ("has the tag", found.tags, tags))
            for one in given or ()
            if one not in have
        ]


def read_filters(tables: Mapping[str, Any]) -> Filters:
    """The filters of a project file: its tables `agents`, `scenes`, `environments` and `run_states`.

    Raises:
        ConfigError: A name or value is not known.
    """
    agents = _table(tables.get("agents", {}), "agents")
    default = agents.pop("default", "allow")
    if default not in get_args(Default):
        raise ConfigError(f"agents.default must be {' or '.join(map(repr, get_args(Default)))}, not {default!r:.80}")
    found: dict[str, Any] = {
        kind: {
            name: _filter(one, f"{kind}.{name}")
            for name, one in (agents if kind == "agents" else _table(tables.get(kind, {}), kind)).items()
        }
        for kind in _KINDS
    }
    return Filters(**found, agents_default=default)


def _filter(given: object, where: str) -> ToolFilter:
    table = _table(given, where)
    known = [one.name for one in fields(ToolFilter)]
    for name in table:
        if name not in known:
            raise ConfigError(f"{where}: there is no setting {name!r}{did_you_mean(name, known) or known_names(known)}")
    try:
        return ToolFilter(**table)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table, not {value!r:.80}")
    return dict(cast("dict[str, Any]", value))


def _name(kind: Kind, caller: Caller) -> str:
    match kind:
        case "agents":
            return caller.agent
        case "scenes":
            return caller.scene
        case "environments":
            return caller.environment
        case "run_states":
            return caller.run_state


def _word(kind: Kind) -> str:
    return _KINDS[kind].replace("_", " ")
