"""`surehand sources`: where tools come from besides Python, how each is, and which definitions are approved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ..errors import ConfigError, NotFoundError
from .documents import Document
from .failures import FAILED, OK
from .printer import local_time, utc_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine
    from ..ports import SourceStatus
    from ..spec import ToolSpec

app = typer.Typer(no_args_is_help=True, help="Show where tools come from besides Python; approve their definitions.")


@app.command("list")
def list_(ctx: typer.Context) -> int:
    """List the project's sources and how each is. Exit code 1 if one is unavailable."""
    session = Session(ctx.obj)
    found = session.run(lambda engine: _statuses(engine, session), needs="audit")
    if session.json:
        session.out.document({"sources": [_document(one) for one in found]})
    elif found:
        session.out.table(("SOURCE", "KIND", "STATE", "TOOLS", "WAITING", "SINCE", "WHY"), [_row(one) for one in found])
    else:
        session.out.nothing("the project has no sources; describe one in a table [sources.NAME] of the project file")
    return FAILED if any(one.state == "unavailable" for one in found) else OK


@app.command("pin")
def pin(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SOURCE", help="The source.")],
    tool: Annotated[
        list[str] | None, typer.Option("--tool", metavar="NAME", help="Only this tool; repeat it for several.")
    ] = None,
) -> int:
    """Approve what a source says of its tools now: writes the hash of each definition into the file of pins."""
    from ..compose.places import within
    from ..sources import Pins, read_pins, write_pins

    session = Session(ctx.obj)
    project = session.project.resolve()
    file = Path(within(session.settings, project.parent, project).pins)
    status, specs = session.run(lambda engine: _offered(engine, session, name), needs="audit")
    if status.state != "ready":
        raise ConfigError(f"source {name!r} is {status.state}, so there is nothing to approve: {status.why}")
    wanted = set(tool or (spec.name for spec in specs))
    unknown = sorted(wanted - {spec.name for spec in specs})
    if unknown:
        raise NotFoundError(f"source {name!r} does not offer {unknown[0]!r}; `surehand sources list` shows its state")
    before = read_pins(file)
    chosen = {spec.name: spec.version for spec in specs if spec.name in wanted}
    changed = {one: version for one, version in chosen.items() if before.versions.get(one) != version}
    write_pins(file, Pins(versions={**before.versions, **chosen}))
    if session.json:
        session.out.document({"file": str(file), "pinned": chosen, "changed": changed})
    else:
        rows = [(one, before.versions.get(one, ""), version) for one, version in sorted(changed.items())]
        if rows:
            session.out.table(("TOOL", "BEFORE", "NOW"), rows)
        session.out.line(f"{len(chosen)} pinned, {len(changed)} of them new or changed, in {file}", "green")
    return OK


async def _statuses(engine: Engine, session: Session) -> list[SourceStatus]:
    return await engine.limits.sources(by=session.caller)


async def _offered(engine: Engine, session: Session, name: str) -> tuple[SourceStatus, list[ToolSpec]]:
    """A source, and the definitions that it offers now."""
    status = next((one for one in await _statuses(engine, session) if one.name == name), None)
    if status is None:
        raise NotFoundError(f"there is no source {name!r} in {session.project}; `surehand sources list` shows them")
    entries = engine.registry.catalog.entries.values()
    return status, [one.tool.spec for one in entries if one.tool.spec.id in status.offered]


def _document(one: SourceStatus) -> Document:
    document = msgspec.to_builtins(one)
    return {**document, "since": utc_time(document.pop("since_us") or None)}


def _row(one: SourceStatus) -> tuple[str, ...]:
    why = "; ".join(part for part in (one.why, *one.notes) if part)
    return (one.name, one.kind, one.state, str(len(one.offered)), str(len(one.waiting)), local_time(one.since_us), why)
