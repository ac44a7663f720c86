"""`surehand policy`: whether policies load and fit the project's tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import PolicyError
from ..types import BUILTIN_ROLES
from .documents import needs_key, policies_document
from .explain import explain
from .failures import FAILED, OK
from .policy_sets import publish, rollback, versions
from .rehearse import judge, replay, shadow
from .session import Session

if TYPE_CHECKING:
    from ..policy import Policies
    from ..registry import Catalog

app = typer.Typer(no_args_is_help=True, help="Check and test policies, and explain what they decide or would.")
app.command("explain")(explain)
app.command("test")(judge)
app.command("replay")(replay)
app.command("shadow")(shadow)
app.command("publish")(publish)
app.command("rollback")(rollback)
app.command("versions")(versions)


@app.command("check")
def check(
    ctx: typer.Context,
    path: Annotated[
        Path | None, typer.Argument(help="A folder of *.cedar files, or one file; else the project's own.")
    ] = None,
) -> int:
    """Load policies against the project's tools and print every problem. Exit code 1 if there is any."""
    session = Session(ctx.obj)
    try:
        _, policies, warnings = load(session, path)
    except PolicyError as error:
        return _print_problems(session, error)
    builtin = sum(rule.source == "built-in" for rule in policies.rules.values())
    if session.json:
        session.out.document(policies_document(policies, builtin, warnings))
        return OK
    count = len(policies.rules) - builtin
    session.out.line(f"policy: ok, {count} of the project and {builtin} built-in", "green")
    session.out.facts([("digest", policies.digest)])
    session.out.facts(("warning", warning) for warning in warnings)
    return OK


def load(session: Session, path: Path | None = None) -> tuple[Catalog, Policies, list[str]]:
    """The project's tools, its policies or others in their place, and what should be looked at.

    Raises:
        ConfigError: The project or a tool is wrong.
        PolicyError: The policies do not fit the tools.
    """
    from ..compose import load_world

    session.claim_stdout()
    world = load_world(session.settings, session.project.resolve().parent, path)
    catalog, policies = world.catalog, world.policies
    keyless = [
        f"tool {spec.id} has effects and declares no key=, so each call must bring a key of its own: "
        "idempotency_key= or run=, on the command line --key or --run"
        for spec in (entry.tool.spec for entry in catalog.entries.values())
        if needs_key(spec)
    ]
    return catalog, policies, [*policies.warnings, *_roles_of_nobody(session, policies), *keyless]


def _roles_of_nobody(session: Session, policies: Policies) -> Iterator[str]:
    """Where the project does not say which roles there are: those that none of its callers has."""
    from ..policy import roles_of

    settings = session.settings
    if settings.roles or not settings.callers:
        return
    had = {role for caller in settings.callers.values() for role in caller.roles}
    for rule in policies.rules.values():
        for role in sorted(roles_of(rule) - had) if rule.source != "built-in" else ():
            if role not in (settings.approvers, *BUILTIN_ROLES):
                yield rule.problem(
                    f'no caller of the project has the role "{role}"; list all there are in roles = [...] '
                    "of the project file, and a wrong one is an error"
                )


def _print_problems(session: Session, error: PolicyError) -> int:
    if session.json:
        session.out.document(
            {"ok": False, "policies": None, "builtin": None, "digest": None, "warnings": [], "problems": error.problems}
        )
        return FAILED
    session.out.line(f"policy: {len(error.problems)} problem{'s'[: len(error.problems) != 1]}", "red")
    session.out.facts(("problem", problem) for problem in error.problems)
    return FAILED
