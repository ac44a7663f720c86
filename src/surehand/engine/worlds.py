"""`Worlds`: which catalog and policies hold now. Each change of either is checked before it holds."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..errors import PolicyError
from ..pipeline import Services
from ..policy import Policies
from ..registry import Catalog, Registry
from ..view import World

_log = logging.getLogger("surehand.engine")


class Worlds:
    """Keeps `services.world` in step with the registry and the policies.

    Args:
        services: Whose world it is.
        registry: Its catalog is read before each call.
        load: Checks policies against a catalog.
        complete: Registers what a registry that has grown needs besides.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        load: Callable[[Catalog], Policies],
        complete: Callable[[Registry], None],
    ) -> None:
        self._s = services
        self._complete = complete
        self._registry = registry
        self._load = load
        self._catalog = registry.catalog

    def now(self) -> World:
        """What holds, the latest catalog included."""
        if self._registry.catalog is not self._catalog:
            self._complete(self._registry)
            self._take(self._registry.catalog)
        return self._s.world

    def set_policies(self, load: Callable[[Catalog], Policies]) -> None:
        """Replaces the policies at once.

        Raises:
            PolicyError: They do not load; the old ones stay.
        """
        policies = load(self._catalog)
        self._load = load
        self._s.world = self._s.world.renewed(self._s.world.catalog, policies)

    def _take(self, catalog: Catalog) -> None:
        """Reads a new catalog. Versions that the policies do not fit are held back; the rest holds at once."""
        try:
            world = self._s.world.renewed(catalog, self._load(catalog))
        except PolicyError as error:
            held = [key for key in catalog.entries if key not in self._s.world.catalog.entries]
            if not held:
                raise
            _log.error("held back, since policies do not fit: %s: %s", held, error)
            self._s.emit("engine.problem", where="policies", problem=str(error), held=[f"{n}@{v}" for n, v in held])
            rest = catalog.without(held)
            world = self._s.world.renewed(rest, self._load(rest))
        self._catalog, self._s.world = catalog, world
