"""`Worlds`: which catalog, policies and switches hold now. Each change is checked before it holds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from ..errors import PolicyError
from ..pipeline import Services
from ..policy import Policies, PolicySource
from ..registry import Catalog, Registry
from .control_state import ControlState

_log = logging.getLogger("surehand.engine")


class PolicyLoader(Protocol):
    """Checks policies against a catalog."""

    def __call__(
        self, catalog: Catalog, sources: Sequence[PolicySource] | None = None, *, incomplete: bool = False
    ) -> Policies:
        """Loads `sources`; `None` takes those of the project. See `Policies.load`.

        Raises:
            PolicyError: They do not load.
        """
        ...


class Worlds:
    """Keeps `services.world` in step with the registry and the control plane.

    Args:
        services: Whose world it is.
        registry: Its catalog is read before each call.
        load: Checks policies against a catalog.
        complete: Registers what a registry that has grown needs besides.
    """

    def __init__(
        self, services: Services, registry: Registry, load: PolicyLoader, complete: Callable[[Registry], None]
    ) -> None:
        self._s = services
        self._complete = complete
        self._load = load
        self.registry = registry
        self._catalog: Catalog | None = registry.catalog
        self._sources: tuple[PolicySource, ...] | None = None
        self._state = ControlState()
        self.off: frozenset[tuple[str, str]] = frozenset()
        """Versions that were switched off here, which could not be stored yet."""

    @property
    def is_behind(self) -> bool:
        """Whether the registry has changed since it was last looked at."""
        return self.registry.catalog is not self._catalog

    def complete(self) -> None:
        """Registers what a registry that has grown needs besides."""
        self._complete(self.registry)

    def check(self, sources: Sequence[PolicySource] | None) -> Policies:
        """Policies that might hold instead.

        Raises:
            PolicyError: They do not fit the tools.
        """
        return self._load(self._published(), sources)

    def take(self, state: ControlState) -> None:
        """What the control plane says, and the registry, hold from now on."""
        self._state = state
        shadowing = self.registry.follow(state.standings, state.aliases)
        for alias, name in shadowing.items():
            self.problem("aliases", f"the alias {alias!r} is left out: it is, or looks like, the tool {name!r}")
        catalog, world = self.registry.catalog, self._s.world
        sources = None if state.policies is None else state.policies.texts
        if catalog is self._catalog and sources == self._sources:
            self._s.world = world.switched(state.kills, state.revision)
            return
        catalog, policies = self._fitting(self._published(), sources)
        self._s.world = world.renewed(catalog, policies, state.kills, state.revision)
        self._catalog, self._sources = self.registry.catalog, sources

    def mark_behind(self) -> None:
        """Lets the registry be looked at again, though it has not changed."""
        self._catalog = None

    def problem(self, where: str, problem: str, held: Sequence[str] = ()) -> None:
        """Tells operators."""
        _log.error("%s: %s%s", where, problem, f"; held back: {', '.join(held)}" if held else "")
        self._s.emit("engine.problem", where=where, problem=problem, held=list(held))

    def _published(self) -> Catalog:
        """The registry's versions whose very contract is stored. Any other is as if it were not registered."""
        catalog, known = self.registry.catalog, self._state.standings
        wrong = {
            key
            for key, entry in catalog.entries.items()
            if key not in known or known[key].contract_hash != entry.tool.spec.contract_hash
        }
        return catalog.without(wrong | self.off) if wrong or self.off else catalog

    def _fitting(self, catalog: Catalog, sources: tuple[PolicySource, ...] | None) -> tuple[Catalog, Policies]:
        """Policies for a catalog. Versions that they do not fit are held back; the rest holds at once."""
        try:
            return catalog, self._load(catalog, sources)
        except PolicyError as error:
            problem = error
        if sources is not None:  # a published set may name tools that this process has not
            try:
                return catalog, self._load(catalog, sources, incomplete=True)
            except PolicyError as error:
                problem = error
        held = [key for key in catalog.entries if key not in self._s.world.catalog.entries]
        if not held and sources is None:
            raise problem
        if held:
            try:
                rest = catalog.without(held)
                return rest, self._held_back(rest, sources, held, problem)
            except PolicyError as error:
                problem = error
        nothing = catalog.without(catalog.entries.keys())
        return nothing, self._held_back(nothing, sources, catalog.entries.keys(), problem)

    def _held_back(
        self,
        rest: Catalog,
        sources: tuple[PolicySource, ...] | None,
        held: Collection[tuple[str, str]],
        problem: PolicyError,
    ) -> Policies:
        policies = self._load(rest, sources, incomplete=sources is not None)
        named = [f"{name}@{version}" for name, version in held]
        self.problem("policies", str(problem), held=named)
        return policies
