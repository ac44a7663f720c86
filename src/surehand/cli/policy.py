"""`surehand policy`: whether policies load and fit the project's tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import PolicyError
from .documents import needs_key, policies_document
from .explain import explain
from .failures import FAILED, OK
from .policy_sets import publish, rollback, versions
from .session import Session

if TYPE_CHECKING:
    from ..policy import Policies
    from ..registry import Catalog

app = typer.Typer(no_args_is_help=True, help="Check policies, and explain what they decide.")
app.command("explain")(explain)
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
    from ..compose import load_tools, policy_loader
    from ..registry import Registry

    session.claim_stdout()
    settings = session.settings
    folder = session.project.resolve().parent
    registry = Registry()
    for tool in load_tools(settings.tools, folder):
        registry.register(tool)
    own = None if settings.policies is None else folder / settings.policies
    policies = policy_loader(path or own, settings)(registry.catalog)
    keyless = [
        f"tool {spec.id} has effects and declares no key=, so each call must bring a key of its own: "
        "idempotency_key= or run=, on the command line --key or --run"
        for spec in (entry.tool.spec for entry in registry.catalog.entries.values())
        if needs_key(spec)
    ]
    return registry.catalog, policies, [*policies.warnings, *keyless]


def _print_problems(session: Session, error: PolicyError) -> int:
    if session.json:
        session.out.document(
            {"ok": False, "policies": None, "builtin": None, "digest": None, "warnings": [], "problems": error.problems}
        )
        return FAILED
    session.out.line(f"policy: {len(error.problems)} problem{'s'[: len(error.problems) != 1]}", "red")
    session.out.facts(("problem", problem) for problem in error.problems)
    return FAILED
