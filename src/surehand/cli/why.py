"""`surehand tools why`: whether a caller sees a tool, every reason why not, and what would change it.

Like `policy explain` it is for whoever runs the project; no model and no remote caller reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import NotFoundError
from .documents import Document
from .failures import FAILED, OK
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine
    from ..registry import Entry
    from ..types import Caller
    from ..view import Hidden, World


def why(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="The tool.")],
    of: Annotated[
        str | None, typer.Option("--of", metavar="NAME", help="The caller who looks; else that of --as.")
    ] = None,
    scene: Annotated[str | None, typer.Option("--scene", metavar="NAME", help="The scene that they are in.")] = None,
) -> int:
    """Say why a caller does not see a tool, and what would change that. Exit code 1 if it is hidden."""
    session = Session(ctx.obj)
    caller = session.caller if of is None else session.named(of, "--of")
    document = session.run(lambda engine: _explained(engine, caller, name, scene))
    if session.json:
        session.out.document(document)
    else:
        _print(session, document)
    return OK if document["listed"] else FAILED


async def _explained(engine: Engine, caller: Caller, wanted: str, scene: str | None) -> Document:
    caller = caller if scene is None else engine.in_scene(caller, scene)
    view = await engine.view(caller)
    world, now_us = engine.services.world, engine.services.clock.now_us()
    name, _, version = wanted.partition("@")
    entry = _entry(world, name, version)
    if entry is None:
        raise NotFoundError(f"there is no tool {wanted!r}; `surehand tools list --all` shows those there are")
    name = entry.tool.spec.name
    found = world.hides(caller, entry, now_us=now_us)
    unpublished = None if version or found else world.unpublished(name)
    if unpublished is not None:
        found = [unpublished]
    elif not found and not version and name in view.hidden:
        found = [view.hidden[name]]
    return {
        "tool": name,
        "version": entry.tool.spec.version,
        "caller": {"id": caller.id, "tenant": caller.tenant, "agent": caller.agent, "scene": caller.scene},
        "listed": not found,
        "reasons": [reason_document(one) for one in found],
    }


def _entry(world: World, name: str, version: str) -> Entry | None:
    entry = world.catalog.resolve(name, version or None)
    if entry is not None or version:
        return entry
    return next((one for one in reversed(list(world.catalog.entries.values())) if one.tool.spec.name == name), None)


def reason_document(hidden: Hidden) -> Document:
    """One reason why a tool is left out of a view."""
    return {
        "reason": hidden.reason,
        "why": hidden.why,
        "policies": list(hidden.policies),
        "change": hidden.change,
    }


def _print(session: Session, told: Document) -> None:
    out, caller = session.out, told["caller"]
    out.facts(
        [
            ("tool", f"{told['tool']}@{told['version']}"),
            ("caller", f"{caller['id']}, tenant {caller['tenant']}"),
            ("agent", caller["agent"]),
            ("scene", caller["scene"]),
            ("listed", "yes" if told["listed"] else "no"),
        ]
    )
    for one in told["reasons"]:
        out.facts(
            [
                ("reason", one["reason"]),
                ("why", one["why"]),
                ("policies", ", ".join(one["policies"])),
                ("change", one["change"]),
            ]
        )
