"""Records to values and rows to records. Sealed bytes pass through; only JSON text is encoded and decoded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..approval import Approval, Grant, Vote
from ..audit import AuditRow, Checkpoint
from ..call import Artifact
from ..errors import StoreError
from ..ledger import CallRecord
from ..ports import RunRecord, StoredArtifact, StoredEvent, TurnRecord
from ..types import Caller, Requirement
from .tx import Row, Values

T = TypeVar("T")
R = TypeVar("R")
ApprovalRows: TypeAlias = "tuple[Row, list[Row]]"
"""An approval's row, and those of its votes."""

_log = logging.getLogger("surehand.storage")
_caller = msgspec.json.Decoder(Caller)
_needs = msgspec.json.Decoder(tuple[Requirement, ...])
_groups = msgspec.json.Decoder(tuple[str, ...] | dict[str, str])
_encoder = msgspec.json.Encoder()

_CALL_FIELDS = CallRecord.__struct_fields__
_APPROVAL_FIELDS = tuple(field for field in Approval.__struct_fields__ if field != "votes")
_AUDIT_FIELDS = AuditRow.__struct_fields__
_RUN_FIELDS = RunRecord.__struct_fields__
_GRANT_FIELDS = Grant.__struct_fields__


def _json(value: Any) -> str:
    return _encoder.encode(value).decode()


def _decoded(decoder: msgspec.json.Decoder[T], stored: Any, what: str, tenant: str) -> T:
    try:
        return decoder.decode(stored)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"the row of {what} of tenant {tenant} is damaged and cannot be read") from error


def all_readable(read: Callable[[R], T], fetch: Callable[[int], Sequence[R]], limit: int) -> list[T]:
    """Up to `limit` records. What cannot be read is skipped, and the next takes its place.

    Args:
        read: Makes a record.
        fetch: Gives up to so many rows, always from the start.
        limit: How many records.
    """
    asked = limit
    while True:
        rows = fetch(asked)
        found = list(_readable(read, rows))
        if len(found) >= limit or len(rows) < asked:
            return found[:limit]
        asked *= 2


def _readable(read: Callable[[R], T], rows: Sequence[R]) -> Iterator[T]:
    for row in rows:
        try:
            yield read(row)
        except StoreError as error:
            _log.warning("%s", error)


def call_values(record: CallRecord) -> dict[str, Any]:
    """A call's columns."""
    values = msgspec.structs.asdict(record)
    values["caller"] = _json(record.caller)
    return values


def call_record(row: Row) -> CallRecord:
    """The call in the first columns of a row."""
    values = dict(zip(_CALL_FIELDS, row, strict=False))
    values["caller"] = _decoded(_caller, values["caller"], f"call {values['call_id']}", values["tenant"])
    return CallRecord(**values)


def approval_values(approval: Approval) -> dict[str, Any]:
    """An approval's columns; its votes are rows of their own."""
    values = msgspec.structs.asdict(approval)
    values["needs"] = _json(approval.needs)
    return values


def approval_record(rows: ApprovalRows) -> Approval:
    """The approval in the first columns of a row, with votes in their order."""
    row, vote_rows = rows
    values = dict(zip(_APPROVAL_FIELDS, row, strict=False))
    values["needs"] = _decoded(_needs, values["needs"], f"approval {values['approval_id']}", values["tenant"])
    return Approval(**values, votes=tuple(_vote(vote) for vote in vote_rows))


def approvals_apart(rows: Sequence[Row]) -> list[ApprovalRows]:
    """Rows that each hold an approval and one of its votes, or none, by approval."""
    width = len(_APPROVAL_FIELDS)
    found: dict[tuple[str, str], ApprovalRows] = {}
    for row in rows:
        approval_id, _, tenant, *_ = row
        _, cast = found.setdefault((tenant, approval_id), (row, []))
        if row[width] is not None:
            cast.append(row[width:])
    return list(found.values())


def vote_values(tenant: str, approval_id: str, position: int, vote: Vote) -> Values:
    """A vote's columns."""
    return {
        "tenant": tenant,
        "approval_id": approval_id,
        "position": position,
        "approver": vote.approver,
        "verdict": vote.verdict,
        "groups": _json(_groups_stored(vote)),
        "reason": vote.reason,
        "at_us": vote.at_us,
        "seal": vote.seal,
    }


def _groups_stored(vote: Vote) -> tuple[str, ...] | dict[str, str]:
    """The groups; where a deputy counted, each with the member in whose place, or an empty text."""
    return {group: vote.acts_for.get(group, "") for group in vote.groups} if vote.acts_for else vote.groups


def _vote(row: Row) -> Vote:
    tenant, approval_id, _, approver, verdict, groups, reason, at_us, seal = row
    read = _decoded(_groups, groups, f"a vote on approval {approval_id}", tenant)
    acts_for = {group: member for group, member in read.items() if member} if isinstance(read, dict) else {}
    return Vote(
        approver=approver,
        verdict=verdict,
        groups=tuple(read),
        acts_for=acts_for,
        reason=reason,
        at_us=at_us,
        seal=seal,
    )


def audit_values(row: AuditRow) -> Values:
    """An audit row's columns."""
    return msgspec.structs.asdict(row)


def audit_record(row: Row) -> AuditRow:
    """An audit row. A body that somebody turned into text is read as the bytes it stands for: verification tells."""
    values: dict[str, Any] = dict(zip(_AUDIT_FIELDS, row, strict=True))
    if isinstance(values["body"], str):
        values["body"] = values["body"].encode()
    return AuditRow(**values)


def checkpoint_values(checkpoint: Checkpoint) -> Values:
    """A checkpoint's columns."""
    return msgspec.structs.asdict(checkpoint)


def checkpoint_record(row: Row) -> Checkpoint:
    """A checkpoint."""
    return Checkpoint(**dict(zip(Checkpoint.__struct_fields__, row, strict=True)))


def artifact_values(stored: StoredArtifact) -> Values:
    """An artifact's columns."""
    artifact = stored.artifact
    return {
        "tenant": stored.tenant,
        "artifact_id": artifact.id,
        "call_id": stored.call_id,
        "media_type": artifact.media_type,
        "size_bytes": artifact.size_bytes,
        "sha256": artifact.sha256,
        "body": stored.body,
    }


def artifact_record(row: Row) -> StoredArtifact:
    """An artifact."""
    tenant, artifact_id, call_id, media_type, size_bytes, sha256, body = row
    artifact = Artifact(id=artifact_id, media_type=media_type, size_bytes=size_bytes, sha256=sha256)
    return StoredArtifact(artifact=artifact, tenant=tenant, call_id=call_id, body=body)


def run_values(record: RunRecord) -> Values:
    """A run's columns."""
    values = msgspec.structs.asdict(record)
    values["caller"] = _json(record.caller)
    values["cancel"] = int(record.cancel)
    return values


def run_record(row: Row) -> RunRecord:
    """A run."""
    values: dict[str, Any] = dict(zip(_RUN_FIELDS, row, strict=True))
    values["caller"] = _decoded(_caller, values["caller"], f"run {values['run_id']}", values["tenant"])
    values["cancel"] = bool(values["cancel"])
    return RunRecord(**values)


def turn_values(record: TurnRecord) -> Values:
    """A turn's columns."""
    return msgspec.structs.asdict(record)


def turn_record(row: Row) -> TurnRecord:
    """A turn."""
    return TurnRecord(**dict(zip(TurnRecord.__struct_fields__, row, strict=True)))


def event_values(event: StoredEvent) -> Values:
    """An event's columns."""
    return msgspec.structs.asdict(event)


def event_record(row: Row) -> StoredEvent:
    """An event."""
    return StoredEvent(**dict(zip(StoredEvent.__struct_fields__, row, strict=True)))


def grant_values(grant: Grant) -> Values:
    """A grant's columns."""
    values = msgspec.structs.asdict(grant)
    values["needs"] = _json(grant.needs)
    values["giver"] = _json(grant.giver)
    return values


def grant_record(row: Row) -> Grant:
    """A grant."""
    values: dict[str, Any] = dict(zip(_GRANT_FIELDS, row, strict=True))
    what = f"grant {values['grant_id']}"
    values["needs"] = _decoded(_needs, values["needs"], what, values["tenant"])
    values["giver"] = _decoded(_caller, values["giver"], what, values["tenant"])
    return Grant(**values)
