"""`surehand policy publish`, `versions`, `rollback`: the policy set in force, for every process of the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .control import Reason, told
from .documents import Document
from .failures import OK
from .printer import local_time, utc_time
from .session import Session

if TYPE_CHECKING:
    from ..engine import Engine, PolicyVersion


def publish(
    ctx: typer.Context,
    path: Annotated[
        Path | None, typer.Argument(help="A folder of *.cedar files, or one file; else the project's own.")
    ] = None,
    reason: Reason = "",
) -> int:
    """Put a policy set in force everywhere, in place of the project's files or of what was published before."""
    from ..policy import read_policies

    session = Session(ctx.obj)
    by = session.caller
    own = session.settings.policies
    if path is None and own is None:
        raise typer.BadParameter("the project has no policies; name a folder or a file", param_hint="PATH")
    sources = read_policies(path or session.project.resolve().parent / (own or ""))
    return told(
        session,
        session.run(lambda engine: engine.control.publish_policies(sources, by=by, reason=reason)),
        f"published: {len(sources)} file{'s'[: len(sources) != 1]}",
    )


def rollback(
    ctx: typer.Context,
    digest: Annotated[
        str, typer.Argument(metavar="DIGEST", help="How the set's digest begins; `project` for the project's files.")
    ],
    reason: Reason = "",
) -> int:
    """Put a set in force again that was published before."""
    session = Session(ctx.obj)
    by = session.caller
    return told(
        session,
        session.run(lambda engine: engine.control.rollback_policies(digest, by=by, reason=reason)),
        "of the project hold again" if digest == "project" else f"of set {digest} hold again",
    )


def versions(ctx: typer.Context) -> int:
    """List the sets that were published, newest first, and say what is in force."""
    session = Session(ctx.obj)
    by = session.caller

    async def work(engine: Engine) -> tuple[list[PolicyVersion], str]:
        return await engine.control.policy_versions(by=by), engine.policies.digest

    found, in_force = session.run(work, needs="audit")
    published = bool(found and found[0].digest)
    if session.json:
        where = "published" if published else "project"
        session.out.document({"in_force": in_force, "from": where, "versions": [_document(one) for one in found]})
        return OK
    source = "a published set; the project's files do not hold" if published else "the project's files"
    session.out.facts([("in force", f"{in_force}, {source}")])
    if found:
        session.out.table(
            ("DIGEST", "PUBLISHED", "BY", "FILES", "REASON"),
            [
                (
                    one.digest or "project",
                    local_time(one.at_us),
                    one.by,
                    ", ".join(source.name for source in one.sources),
                    one.reason,
                )
                for one in found
            ],
        )
    return OK


def _document(one: PolicyVersion) -> Document:
    return {
        "digest": one.digest or None,
        "in_force": one.in_force,
        "files": [source.name for source in one.sources],
        "by": one.by,
        "at": utc_time(one.at_us),
        "reason": one.reason,
    }
