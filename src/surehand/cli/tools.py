"""`surehand tools`: what a caller may see, and what a tool promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import NotAllowedError, NotFoundError
from .documents import Document, listed_document, needs_key, tool_document
from .entitled import may, reasons_against
from .failures import OK
from .health import health
from .lifecycle import alias, canary, deprecate, disable, history, promote
from .lint import lint
from .portability import export
from .printer import Printer
from .release import check, diff, review
from .session import Session
from .why import why

if TYPE_CHECKING:
    from ..engine import Engine
    from ..registry import Catalog, Entry
    from ..types import Caller
    from ..view import ToolView, ViewEntry

app = typer.Typer(no_args_is_help=True, help="Show what a caller may call and what a tool promises; move versions.")
for _command in (why, lint, health, promote, disable, deprecate, canary, alias, history):
    app.command(_command.__name__)(_command)

app.command("export")(export)
app.command("check")(check)
app.command("diff")(diff)
app.command("review")(review)


@app.command("list")
def list_(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Hidden tools too, with the reason; for those who may read the audit.")
    ] = False,
    of: Annotated[
        str | None, typer.Option("--of", metavar="NAME", help="The view of another caller of the project.")
    ] = None,
) -> int:
    """List the tools that a caller may see now, and who is asked before they run."""
    session = Session(ctx.obj)
    caller = session.caller
    whose = caller if of is None else session.named(of, "--of")
    if whose.tenant != caller.tenant:
        raise NotAllowedError(f"{caller.id} may not look into another tenant, and {of} is of {whose.tenant}")

    async def work(engine: Engine) -> ToolView:
        against = reasons_against(engine, caller, "audit") if everything else ()
        if against:
            raise NotAllowedError(f"{caller.id} may not read why tools are hidden: {'; '.join(against)}")
        return await engine.view(whose, fit=False)

    view = session.run(work, needs="audit")
    if session.json:
        document: Document = {"digest": view.digest, "tools": [listed_document(entry) for entry in view.tools]}
        hidden = {name: one.why for name, one in view.hidden.items()}
        reasons = {name: one.reason for name, one in view.hidden.items()}
        session.out.document({**document, "hidden": hidden, "hidden_reasons": reasons} if everything else document)
    else:
        _print_view(session.out, view, whose, everything)
    return OK


@app.command("show")
def show(ctx: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="The tool.")]) -> int:
    """Show a tool's contract: schema, hashes, versions, and who is asked."""
    session = Session(ctx.obj)
    caller = session.caller
    document = session.run(lambda engine: _tool(engine, caller, name))
    if session.json:
        session.out.document(document)
    else:
        _print_tool(session.out, document)
    return OK


async def _tool(engine: Engine, caller: Caller, wanted: str) -> Document:
    """What is hidden from the caller, tools and versions, is there for those only who may read why."""
    from ..policy import Ask, Deny

    await engine.view(caller)
    world, now_us = engine.services.world, engine.services.clock.now_us()
    reads_reasons = may(engine, caller, "audit")

    def is_there(one: Entry) -> bool:
        return reads_reasons or not isinstance(world.look(caller, one, now_us=now_us), Deny)

    name, _, version = wanted.partition("@")
    entry = world.catalog.resolve(name, version or None) or _any_version(world.catalog, name, version)
    if entry is None or not is_there(entry):
        raise NotFoundError(f"there is no tool {wanted!r}; `surehand tools list` shows those there are")
    decision = world.look(caller, entry, now_us=now_us)
    hidden = "; ".join(decision.reasons) if isinstance(decision, Deny) else ""
    asks = decision.requirements if isinstance(decision, Ask) else ()
    versions = [
        _version(world.catalog, one)
        for one in world.catalog.entries.values()
        if one.tool.spec.name == entry.tool.spec.name and is_there(one)
    ]
    return tool_document(entry, versions, asks, hidden)


def _any_version(catalog: Catalog, name: str, version: str) -> Entry | None:
    """A tool without a current version still has something to show."""
    if version:
        return None
    found = [entry for (one, _), entry in catalog.entries.items() if one == name]
    return found[-1] if found else None


def _version(catalog: Catalog, entry: Entry) -> Document:
    spec = entry.tool.spec
    state = "current" if catalog.current.get(spec.name) == spec.version else "available"
    if not entry.callable:
        state = entry.status
    return {"version": spec.version, "stage": spec.stage, "state": state, "contract_hash": spec.contract_hash}


_WHY = "; `surehand tools why NAME` says why"


def _print_view(out: Printer, view: ToolView, caller: Caller, everything: bool) -> None:
    if view.tools:
        out.table(("TOOL", "RISK", "EFFECT", "ASKS", "DESCRIPTION"), [_row(entry) for entry in view.tools])
    else:
        out.nothing(f"{caller.id} sees no tool{'' if everything else _WHY}")
    if everything and view.hidden:
        out.line("hidden:")
        out.table(("TOOL", "REASON", "WHY"), [(name, one.reason, one.why) for name, one in view.hidden.items()])
    elif everything:
        out.nothing("no tool is hidden")


def _row(entry: ViewEntry) -> tuple[str, ...]:
    spec = entry.spec
    effect = "read only" if spec.read_only else (spec.idempotency or "").replace("_", " ")
    effect += ", needs a key" if needs_key(spec) else ""
    asks = ", ".join(dict.fromkeys(ask.group for ask in entry.asks))
    return spec.id, spec.risk, effect, asks, spec.description.strip().partition("\n")[0]


_SHOWN = (
    "display", "risk", "read_only", "requires_approval", "permissions", "idempotency", "key", "key_retention_s",
    "cache_ttl_s", "fallback", "upstream", "timeout_s", "sequential", "status_check", "undo", "owner", "tags",
    "stage", "notice", "source", "target", "runner", "credential", "calls", "trust", "contract_hash", "binding_hash",
    "hidden",
)  # fmt: skip


def _print_tool(out: Printer, tool: Document) -> None:
    out.facts([("tool", f"{tool['name']}@{tool['version']}")])
    out.block(tool["description"])
    out.facts((name.replace("_", " "), _text(tool[name])) for name in _SHOWN)
    out.facts([("retry", "" if tool["retry"]["kind"] == "none" else _text(list(tool["retry"].values())))])
    out.facts(("asks", f"{ask['group']}: {ask['reason']} ({ask['policy_id']})") for ask in tool["asks"])
    out.facts(("injected", f"{name} from {source}") for name, source in tool["injected"].items())
    out.line("parameters:")
    out.value(tool["parameters"])
    if tool["output_schema"] is not None:
        out.line("output:")
        out.value(tool["output_schema"])
    out.line("versions:")
    out.table(
        ("VERSION", "STATE", "STAGE", "CONTRACT"),
        [(one["version"], one["state"], one["stage"], one["contract_hash"]) for one in tool["versions"]],
    )


def _text(value: object) -> str:
    match value:
        case None | []:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(str(one) for one in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case _:
            return str(value)
