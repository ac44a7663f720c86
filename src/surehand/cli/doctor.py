"""`surehand doctor`: whether everything that a project needs is there and well. Looks only; repairs nothing."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import typer

from ..errors import PolicyError, SurehandError
from .failures import FAILED, OK
from .printer import Style
from .session import Session

if TYPE_CHECKING:
    from ..registry import Catalog
    from ..settings import Settings

State = Literal["ok", "warning", "problem"]
_STYLES: dict[State, Style] = {"ok": "green", "warning": "yellow", "problem": "red"}
_EXTRAS = ("openai", "anthropic", "google-genai", "boto3", "mistralai", "ollama", "cohere")


class Finding(NamedTuple):
    """One thing that was looked at."""

    state: State
    check: str
    found: str
    advice: str = ""
    """What to do; empty if all is well."""


def doctor(ctx: typer.Context) -> int:
    """Check the installation, the project, its keys, store and audit, and say what to do. Exit code 1 on a problem."""
    session = Session(ctx.obj)
    session.claim_stdout()
    findings = [_program(), *_examined(session), _extras()]
    healthy = all(one.state != "problem" for one in findings)
    if session.json:
        session.out.document({"ok": healthy, "checks": [one._asdict() for one in findings]})
    else:
        for one in findings:
            advice = f"; {one.advice}" if one.advice else ""
            session.out.line(f"{one.state}: {one.check}: {one.found}{advice}", _STYLES[one.state])
    return OK if healthy else FAILED


def _program() -> Finding:
    from .. import __version__

    return Finding("ok", "program", f"surehand {__version__}, Python {platform.python_version()} on {sys.platform}")


def _advised(text: str) -> tuple[str, str]:
    """What is wrong, and what a refusal says behind its last semicolon."""
    found, _, advice = text.rpartition("; ")
    return (found, advice) if found else (advice, "")


def _examined(session: Session) -> Iterable[Finding]:
    """The project, and what it names: nothing can be said of those if it cannot be read."""
    try:
        settings = session.settings
    except SurehandError as error:
        yield Finding("problem", "project", *_advised(str(error)))
        return
    advice = "" if settings.callers else "the command line needs one: add a table [callers.NAME] with a tenant"
    yield Finding(
        "ok" if settings.callers else "warning",
        "project",
        f"{session.project}, callers: {', '.join(sorted(settings.callers)) or 'none'}",
        advice,
    )
    folder = session.project.resolve().parent
    yield from _guarded("tools", lambda: _tools_and_policies(settings, folder))
    yield from _guarded("interceptors", lambda: _interceptors(settings, folder))
    yield from _guarded("store", lambda: _kept(session, settings, folder))


def _guarded(check: str, look: Callable[[], Iterable[Finding]]) -> Iterable[Finding]:
    """Whatever else is found is told too."""
    try:
        yield from look()
    except SurehandError as error:
        yield Finding("problem", check, str(error))
    except Exception as error:
        yield Finding("problem", check, f"{type(error).__name__}: {error}")


def _tools_and_policies(settings: Settings, folder: Path) -> Iterable[Finding]:
    from ..compose import load_tools
    from ..registry import Registry
    from .documents import needs_key

    registry = Registry()
    for tool in load_tools(settings.tools, folder):
        registry.register(tool)
    specs = [entry.tool.spec for entry in registry.catalog.entries.values()]
    keyless = ", ".join(spec.name for spec in specs if needs_key(spec))
    if not specs:
        yield Finding("warning", "tools", "none", 'name modules that hold tools: tools = ["tools"]')
    elif keyless:
        yield Finding("warning", "tools", f"{len(specs)}; no key= in {keyless}", "each of their calls must bring a key")
    else:
        yield Finding("ok", "tools", f"{len(specs)}")
    yield from _guarded("policies", lambda: _policies(settings, folder, registry.catalog))


def _policies(settings: Settings, folder: Path, catalog: Catalog) -> Iterable[Finding]:
    from ..compose import policy_loader

    own = None if settings.policies is None else folder / settings.policies
    try:
        policies = policy_loader(own, settings)(catalog)
    except PolicyError as error:
        for problem in error.problems:
            yield Finding("problem", "policies", problem)
        return
    builtin = sum(rule.source == "built-in" for rule in policies.rules.values())
    yield Finding("ok", "policies", f"{len(policies.rules) - builtin} of the project and {builtin} built-in")
    for warning in policies.warnings:
        yield Finding("warning", "policies", warning)


def _interceptors(settings: Settings, folder: Path) -> Iterable[Finding]:
    from ..compose.modules import load_interceptors

    if settings.interceptors:
        yield Finding("ok", "interceptors", f"{len(load_interceptors(settings.interceptors, folder))}")


def _kept(session: Session, settings: Settings, folder: Path) -> Iterable[Finding]:
    from .belongings import examine

    return examine(settings, folder, session.project)


def _extras() -> Finding:
    found = {name: _version(name) for name in _EXTRAS}
    there = [f"{name} {version}" for name, version in found.items() if version]
    if there:
        return Finding("ok", "model clients", ", ".join(there))
    advice = 'pip install "surehand[openai]"; others: anthropic, bedrock, cohere, google, mistral, ollama'
    return Finding("warning", "model clients", "none, so a run can only play a script", advice)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
