"""What `Engine.view` gives: the world's view, fitted to a model and to the moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ConfigError
from ..pipeline import Services
from ..pipeline.breaker import without_unavailable
from ..spec.rules import did_you_mean, known_names
from ..types import Caller
from ..view import ToolView, World


def view_of(
    s: Services,
    world: World,
    caller: Caller,
    pins: Mapping[str, str],
    *,
    run_id: str,
    loaded: Sequence[str],
    fit: bool,
    available: bool,
) -> ToolView:  # fmt: skip
    """See `Engine.view`."""
    now_us = s.clock.now_us()
    first = (*s.always, *loaded)
    if pins:
        view = world.pinned(caller, pins, now_us=now_us, run_id=run_id)
        view = view.fit(s.limits.view_tools, first) if fit else view
    elif fit:
        view = world.shown(caller, s.limits.view_tools, first, now_us=now_us, run_id=run_id)
    else:
        view = world.view(caller, now_us=now_us, run_id=run_id)
    return without_unavailable(s, caller.tenant, view) if available else view


def in_scene(world: World, caller: Caller, scene: str) -> Caller:
    """See `Engine.in_scene`."""
    scenes = world.filters.scenes
    if scene and scene not in scenes:
        known = did_you_mean(scene, sorted(scenes)) or known_names(sorted(scenes))
        raise ConfigError(f"there is no scene {scene!r}{known if scenes else '; the project declares none'}")
    return caller.in_scene(scene)
