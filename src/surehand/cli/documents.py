"""The JSON documents of `--json`, as docs/cli.md describes them. Names and types here are stable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import msgspec

from .printer import utc_time

if TYPE_CHECKING:
    from ..approval import Condition
    from ..audit import AuditRow, CallStory, Report
    from ..call import ToolResult
    from ..engine import Deputy, GrantInfo, Pending
    from ..engine.unknown import UnknownCall
    from ..ledger import CallRecord
    from ..policy import Policies
    from ..registry import Entry
    from ..spec import ToolSpec
    from ..types import Requirement
    from ..view import ViewEntry

Document = dict[str, Any]


def result_document(result: ToolResult) -> Document:
    """What a call gave."""
    return msgspec.to_builtins(result)


def story_document(story: CallStory) -> Document:
    """What is recorded of a call."""
    document: Document = msgspec.to_builtins(story)
    for part in (*document["answers"], *document["granted"], *document["steps"]):
        part["at"] = utc_time(part.pop("at_us"))
    return document


def call_document(record: CallRecord) -> Document:
    """A call of the ledger, without what is sealed."""
    return {
        "call_id": record.call_id,
        "tool_call_id": record.tool_call_id,
        "name": record.name,
        "version": record.version,
        "status": record.status,
        "caller": {"id": record.caller.id, "agent": record.caller.agent, "environment": record.caller.environment},
        "run_id": record.run_id,
        "step_index": record.step_index,
        "position": record.position,
        "parent_call_id": record.parent_call_id,
        "undoes": record.undoes,
        "idempotency_key": record.idempotency_key,
        "attempt": record.attempt,
        "error_code": record.error_code,
        "approval_id": record.approval_id,
        "created_at": utc_time(record.created_us),
        "started_at": utc_time(record.started_us),
        "finished_at": utc_time(record.finished_us),
    }


def unknown_document(unknown: UnknownCall) -> Document:
    """A call of unknown outcome, for whoever settles it."""
    told = {"arguments": unknown.arguments, "age_s": unknown.age_s, "checkable": unknown.checkable}
    return {**call_document(unknown.record), **told, "may_still_run": unknown.may_still_run}


def approval_document(pending: Pending) -> Document:
    """A question, and exactly what will run."""
    document: Document = msgspec.to_builtins(pending)
    document["created_at"] = utc_time(document.pop("created_us"))
    document["expires_at"] = utc_time(document.pop("expires_us"))
    return document


def grant_document(grant: GrantInfo) -> Document:
    """A standing answer; `where` as it was given."""
    document: Document = msgspec.to_builtins(grant)
    document["where"] = {one.path: _comparisons(one) for one in grant.where}
    document["created_at"] = utc_time(document.pop("created_us"))
    document["expires_at"] = utc_time(document.pop("expires_us"))
    return document


def _comparisons(condition: Condition) -> Document:
    told: Document = {"equals": condition.equals[0]} if condition.equals else {}
    if condition.one_of:
        told["one_of"] = list(condition.one_of)
    bounds = {"at_most": condition.at_most, "at_least": condition.at_least}
    return {**told, **{name: bound for name, bound in bounds.items() if bound is not None}}


def deputy_document(deputy: Deputy) -> Document:
    """Who stands in for whom."""
    document: Document = msgspec.to_builtins(deputy)
    document["created_at"] = utc_time(document.pop("created_us"))
    document["until"] = utc_time(document.pop("until_us"))
    return document


def record_document(row: AuditRow) -> Document:
    """A record of the audit. `facts` is its body as it was hashed."""
    return {
        "row_id": row.row_id,
        "kind": row.kind,
        "call_id": row.call_id,
        "run_id": row.run_id,
        "at": utc_time(row.at_us),
        "seq": row.seq,
        "digest": row.digest,
        "chain": row.chain,
        "facts": facts_of(row),
    }


def facts_of(row: AuditRow) -> Document:
    """A record's body; empty if somebody broke it, which `audit verify` reports."""
    try:
        facts: object = json.loads(row.body)
    except (ValueError, RecursionError):
        return {}
    return cast("Document", facts) if isinstance(facts, dict) else {}


def report_document(report: Report) -> Document:
    """What verification found in one tenant."""
    return msgspec.to_builtins(report)


def policies_document(policies: Policies, builtin: int, warnings: list[str]) -> Document:
    """Policies that fit the tools."""
    return {
        "ok": True,
        "policies": len(policies.rules) - builtin,
        "builtin": builtin,
        "digest": policies.digest,
        "warnings": warnings,
        "problems": [],
    }


def needs_key(spec: ToolSpec) -> bool:
    """Whether each call must bring the name of its effect, as the contract declares none."""
    return not spec.repeatable and not spec.key


def listed_document(entry: ViewEntry) -> Document:
    """A tool as a view lists it."""
    spec = entry.spec
    return {
        "name": spec.name,
        "version": spec.version,
        "description": spec.description,
        "risk": spec.risk,
        "read_only": spec.read_only,
        "idempotency": spec.idempotency,
        "needs_key": needs_key(spec),
        "asks": asks_document(entry.asks),
        "notice": entry.notice or None,
        "contract_hash": spec.contract_hash,
    }


def asks_document(asks: tuple[Requirement, ...]) -> list[Document]:
    """Who is asked, and why."""
    return [
        {"policy_id": ask.policy_id, "group": ask.group, "quorum": ask.quorum, "reason": ask.reason} for ask in asks
    ]


def tool_document(entry: Entry, versions: list[Document], asks: tuple[Requirement, ...], hidden: str) -> Document:
    """One version's whole contract, and what else there is of its name."""
    spec = entry.tool.spec
    return {
        "name": spec.name,
        "version": spec.version,
        "description": spec.description,
        "display": spec.display,
        "parameters": spec.parameters,
        "output_schema": spec.output_schema,
        "injected": dict(spec.injected),
        "risk": spec.risk,
        "read_only": spec.read_only,
        "requires_approval": spec.requires_approval,
        "permissions": list(spec.permissions),
        "idempotency": spec.idempotency,
        "key": list(spec.key),
        "key_retention_s": spec.key_retention_s,
        "cache_ttl_s": spec.cache_ttl_s,
        "fallback": spec.fallback or None,
        "upstream": spec.upstream or None,
        "timeout_s": spec.timeout_s,
        "retry": {"kind": spec.retry.kind, "attempts": spec.retry.attempts, "wait_s": spec.retry.wait_s},
        "sequential": spec.sequential,
        "status_check": entry.tool.status_check is not None,
        "undo": entry.tool.undo is not None,
        "owner": spec.owner,
        "tags": list(spec.tags),
        "stage": spec.stage,
        "notice": None if entry.notice is None else str(entry.notice),
        "source": spec.source,
        "target": spec.target,
        "runner": spec.runner,
        "credential": spec.credential,
        "calls": list(spec.calls),
        "trust": spec.trust,
        "contract_hash": spec.contract_hash,
        "binding_hash": spec.binding_hash,
        "asks": asks_document(asks),
        "hidden": hidden or None,
        "versions": versions,
    }
