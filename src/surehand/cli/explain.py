"""`surehand policy explain`: what policy would say of a call, which policies say it, and what would change that.

Works from the project file alone, like `policy check`: who can read the policies can work it out.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ..errors import NotFoundError
from .documents import Document
from .failures import OK
from .printer import Printer, Style
from .session import Session

if TYPE_CHECKING:
    from ..policy import Decision, Policies
    from ..provenance import Origin
    from ..registry import Catalog, Entry
    from ..types import Caller, Trust
    from ..view import World

_STYLES: dict[str, Style] = {"allow": "green", "ask": "yellow", "deny": "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call, as policy is asked about it."""

    session: Session
    world: World
    entry: Entry
    caller: Caller
    arguments: dict[str, Any]
    now_ns: int
    origin: Origin

    def decide(self, policies: Policies, caller: Caller) -> Decision:
        """As at the call's fifth stage, were it this caller's."""
        return policies.authorize(caller, self.entry.tool.spec, self.arguments, now_ns=self.now_ns, origin=self.origin)


def explain(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="The tool.")],
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="The arguments: a JSON object.")] = "",
    of: Annotated[
        str | None, typer.Option("--of", metavar="NAME", help="Whose call it would be; else that of --as.")
    ] = None,
    untrusted: Annotated[
        list[str] | None,
        typer.Option(
            "--untrusted", metavar="ARGUMENT", help="An argument that stood only in untrusted results; repeatable."
        ),
    ] = None,
    read_untrusted: Annotated[
        bool, typer.Option("--read-untrusted", help="As in a run that has read an untrusted result.")
    ] = False,
) -> int:
    """Say what would be decided of a call, by which policies and why, and what would change it. Runs nothing."""
    from ..view import World
    from .policy import load

    session = Session(ctx.obj)
    caller = session.caller_by("--of") if of is None else session.named(of, "--of")
    catalog, policies, _ = load(session)
    entry = _entry(catalog, name)
    arguments = _final(session, entry, caller, args)
    document = _explained(
        Case(
            session=session,
            world=World(catalog, policies, session.settings.filters),
            entry=entry,
            caller=caller,
            arguments=arguments,
            now_ns=time.time_ns(),
            origin=_origin(arguments, untrusted or [], read=read_untrusted),
        )
    )
    if session.json:
        session.out.document(document)
    else:
        _print(session, document)
    return OK


def _origin(arguments: dict[str, Any], untrusted: list[str], *, read: bool) -> Origin:
    """Where the arguments would come from.

    Raises:
        BadParameter: One of those named is not there.
    """
    from ..provenance import Origin

    for name in untrusted:
        if name not in arguments:
            known = ", ".join(arguments) or "none"
            raise typer.BadParameter(f"there is no argument {name!r}; there are {known}", param_hint="--untrusted")
    labels: dict[str, Trust] = {name: "untrusted" if name in untrusted else "trusted" for name in arguments}
    return Origin(untrusted=read or bool(untrusted), labels=labels)


def _entry(catalog: Catalog, wanted: str) -> Entry:
    name, _, version = wanted.partition("@")
    entry = catalog.resolve(name, version or None)
    if entry is None:
        raise NotFoundError(f"there is no tool {wanted!r} in this project; `surehand tools list` shows those there are")
    return entry


def _final(session: Session, entry: Entry, caller: Caller, text: str) -> dict[str, Any]:
    """The arguments as policies read them: checked, complete, with what comes from the caller.

    Raises:
        BadParameter: They are refused before any policy is asked.
    """
    from ..rehearsal import RefusedError, final_arguments
    from ..schema import ParseFailure, parse_arguments, parse_lenient

    strictness, limits = session.settings.arguments, session.settings.limits.arguments
    if strictness == "lenient":
        parsed, _ = parse_lenient(text, limits=limits)
    else:
        parsed = parse_arguments(text, limits=limits)
    if isinstance(parsed, ParseFailure):
        raise typer.BadParameter(f"no policy is asked, since {parsed.message}", param_hint="--args")
    try:
        return final_arguments(entry, caller, parsed, strictness=strictness)
    except RefusedError as error:
        raise typer.BadParameter(f"no policy is asked, since they are refused: {error}", param_hint="--args") from error


def _explained(case: Case) -> Document:
    from ..policy import Deny, word

    spec, caller = case.entry.tool.spec, case.caller
    decision = case.decide(case.world.policies, caller)
    look = case.world.look(caller, case.entry, now_us=case.now_ns // 1000)
    return {
        "tool": spec.name,
        "version": spec.version,
        "caller": {
            "id": caller.id,
            "tenant": caller.tenant,
            "roles": list(caller.roles),
            "scopes": list(caller.scopes),
            "agent": caller.agent,
            "environment": caller.environment,
        },
        "arguments": case.arguments,
        "read_untrusted": case.origin.untrusted,
        "untrusted": sorted(n for n, label in (case.origin.labels or {}).items() if label == "untrusted"),
        "listed": not isinstance(look, Deny),
        "hidden": "; ".join(look.reasons) if isinstance(look, Deny) else None,
        "decision": word(decision),
        "reasons": list(decision.reasons),
        "policies": [_policy(case.world.policies, one) for one in decision.policies],
        **_change(case, decision),
        "shadow": msgspec.to_builtins(decision.shadow),
        "interceptors": list(case.session.settings.interceptors),
    }


def _policy(policies: Policies, policy_id: str) -> Document:
    rule = policies.rules[policy_id]
    return {
        "id": rule.id,
        "source": rule.source,
        "effect": rule.effect,
        "approvers": list(rule.groups),
        "quorum": rule.quorum,
        "liftable": bool(rule.groups),
        "reason": rule.reason,
        "text": rule.text,
    }


def _change(case: Case, decision: Decision) -> Document:
    """What would make another decision of it."""
    from ..policy import Ask, Deny, word
    from ..rehearsal import changes

    caller, needed, policies = case.caller, set(case.entry.tool.spec.permissions), case.world.policies
    limit = case.session.settings.tenants.get(caller.tenant)
    missing = sorted(needed.difference(caller.scopes))
    with_them = None
    if missing:
        with_them = case.decide(policies, dataclasses.replace(caller, scopes=(*caller.scopes, *missing)))
    found = changes(policies, caller, case.entry.tool.spec, case.decide)
    return {
        "missing_scopes": missing,
        "with_scopes": None if with_them is None else {"decision": word(with_them), "reasons": list(with_them.reasons)},
        "tenant_lacks": [] if limit is None else sorted(needed.difference(limit)),
        "asks": [
            {
                "policy_id": one.policy_id,
                "group": one.group,
                "quorum": one.quorum,
                "callers": _approvers(case, one.group),
            }
            for one in (decision.requirements if isinstance(decision, Ask) else ())
        ],
        "hard": [one for one in decision.policies if not policies.rules[one].groups]
        if isinstance(decision, Deny)
        else [],
        "changes": [msgspec.to_builtins(one) for one in found],
    }


def _approvers(case: Case, group: str) -> list[str]:
    """The callers of the project whose yes counts for a group."""
    from ..policy import SELF, Allow

    policies, spec, requester = case.world.policies, case.entry.tool.spec, case.caller
    return [
        name
        for name, one in case.session.settings.callers.items()
        if one.tenant == requester.tenant
        and one.same_person(requester) == (group == SELF)
        and (group == SELF or group in one.roles)
        and isinstance(policies.may_approve(one, spec, now_ns=case.now_ns), Allow)
    ]


def _print(session: Session, told: Document) -> None:
    out, caller = session.out, told["caller"]
    out.facts(
        [
            ("tool", f"{told['tool']}@{told['version']}"),
            ("caller", f"{caller['id']}, tenant {caller['tenant']}"),
            ("roles", ", ".join(caller["roles"])),
            ("scopes", ", ".join(caller["scopes"])),
            ("listed", "yes" if told["listed"] else f"no: {told['hidden']}"),
        ]
    )
    out.line(f"decision: {told['decision']}", _STYLES[told["decision"]])
    out.facts(("reason", reason) for reason in told["reasons"])
    out.facts(("change", change) for change in _changes(told))
    for one in told["shadow"]:
        groups = f" {', '.join(one['groups'])}" if one["groups"] else ""
        out.facts([("shadow", f"{one['policy_id']} would make it {one['decision']}{groups}: {one['reason']}")])
    if told["interceptors"]:
        names = ", ".join(told["interceptors"])
        out.facts([("note", f"not run here, and may change the arguments or ask: {names}")])
    out.line("arguments, as policies read them:")
    out.value(told["arguments"])
    for one in told["policies"]:
        _print_policy(out, one)


def _changes(told: Document) -> list[str]:
    """In words, what the document says."""
    changes: list[str] = []
    caller = told["caller"]
    if told["missing_scopes"]:
        after = told["with_scopes"]
        reasons = f": {'; '.join(after['reasons'])}" if after["reasons"] else ""
        changes.append(
            f"with {', '.join(told['missing_scopes'])} in {caller['id']}'s scopes: {after['decision']}{reasons}"
        )
    if told["tenant_lacks"]:
        changes.append(f"[tenants.{caller['tenant']}] must have {', '.join(told['tenant_lacks'])} too")
    for ask in told["asks"]:
        who = " or ".join(ask["callers"]) or "nobody of this project"
        people = ask["group"] if ask["quorum"] == 1 else f"{ask['quorum']} people of {ask['group']}"
        changes.append(f"the yes of {people} lifts {ask['policy_id']}: {who} may give it")
    changes += [
        f"nobody can lift {one}: it takes another call, another caller, or another policy" for one in told["hard"]
    ]
    return changes + [line for one in told["changes"] if (line := _turned(one))]


def _turned(change: Document) -> str:
    names, decision = ", ".join(change["names"]), change["decision"]
    match change["kind"]:
        case "role":
            return f"with the role {names}: {decision}"
        case "without":
            return f"without {names}: {decision}"
        case _:
            return ""  # told with the scopes


def _print_policy(out: Printer, policy: Document) -> None:
    people = "" if policy["quorum"] == 1 else f"{policy['quorum']} people of "
    kind = f"asks {people}{', '.join(policy['approvers'])}" if policy["liftable"] else f"{policy['effect']}s"
    out.line(f"policy {policy['id']} of {policy['source']} {kind}:", "bold")
    out.block(policy["text"])
