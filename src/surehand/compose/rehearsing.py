"""A project's tools and policies without an engine: what policies would decide, and whether that is as expected."""

from __future__ import annotations

import time
from pathlib import Path

from ..registry import Registry
from ..rehearsal import RowResult, judge_rows, read_rows
from ..search import offer_search
from ..settings import Settings, read_project
from ..view import World
from .inputs import PolicyArgument
from .modules import load_tools
from .opening import policy_loader


def load_world(settings: Settings, folder: Path, policies: PolicyArgument = None) -> World:
    """The tools of a project, and its policies or others in their place. Opens no database.

    Raises:
        ConfigError: The project or a tool is wrong.
        PolicyError: The policies do not fit the tools.
        RegistryError: Two tools have the same `name@version`.
    """
    registry = Registry()
    for tool in load_tools(settings.tools, folder):
        registry.register(tool)
    offer_search(registry, settings.limits.view_tools)
    own = None if settings.policies is None else folder / settings.policies
    load = policy_loader(own if policies is None else policies, settings)
    return World(registry.catalog, load(registry.catalog), settings.filters)


def policy_rows(
    file: str | Path, *, project: str | Path = "surehand.toml", policies: PolicyArgument = None
) -> list[RowResult]:
    """Judges the rows of a file by a project's policies: `surehand policy test`, for a test of your own.

    Args:
        file: TOML with `[[row]]`, or JSON lines.
        project: The project file: tools, policies, callers.
        policies: Others in place of the project's.

    Returns:
        One result a row; `.problems` says what is not as expected.

    Raises:
        ConfigError: The project or the file is wrong.
        PolicyError: The policies do not fit the tools.
        RegistryError: Two tools have the same `name@version`.
    """
    settings, folder = read_project(project)
    rows = read_rows(file, settings.callers)
    world = load_world(settings, folder, policies)
    return judge_rows(rows, world, now_ns=time.time_ns(), strictness=settings.arguments)
