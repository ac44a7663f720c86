"""Records to values and rows to records. Sealed bytes pass through; only JSON text is encoded and decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..approval import Approval, Vote
from ..audit import AuditRow, Checkpoint
from ..call import Artifact
from ..ledger import CallRecord
from ..ports import StoredArtifact
from ..types import Caller, Requirement
from .tx import Row, Values

_caller = msgspec.json.Decoder(Caller)
_needs = msgspec.json.Decoder(tuple[Requirement, ...])
_groups = msgspec.json.Decoder(tuple[str, ...])
_encoder = msgspec.json.Encoder()

_CALL_FIELDS = CallRecord.__struct_fields__
_APPROVAL_FIELDS = tuple(field for field in Approval.__struct_fields__ if field != "votes")
_AUDIT_FIELDS = AuditRow.__struct_fields__


def _json(value: Any) -> str:
    return _encoder.encode(value).decode()


def call_values(record: CallRecord) -> dict[str, Any]:
    """A call's columns."""
    values = msgspec.structs.asdict(record)
    values["caller"] = _json(record.caller)
    return values


def call_record(row: Row) -> CallRecord:
    """The call in the first columns of a row."""
    values = dict(zip(_CALL_FIELDS, row, strict=False))
    values["caller"] = _caller.decode(values["caller"])
    return CallRecord(**values)


def approval_values(approval: Approval) -> dict[str, Any]:
    """An approval's columns; its votes are rows of their own."""
    values = msgspec.structs.asdict(approval)
    values["needs"] = _json(approval.needs)
    return values


def approval_record(row: Row, vote_rows: Sequence[Row]) -> Approval:
    """The approval in the first columns of a row, with votes in their order."""
    values = dict(zip(_APPROVAL_FIELDS, row, strict=False))
    values["needs"] = _needs.decode(values["needs"])
    return Approval(**values, votes=tuple(_vote(vote) for vote in vote_rows))


def approval_records(rows: Sequence[Row]) -> list[Approval]:
    """Approvals from rows that each hold one and one of its votes, or none."""
    width = len(_APPROVAL_FIELDS)
    found: dict[tuple[str, str], tuple[Row, list[Row]]] = {}
    for row in rows:
        approval_id, _, tenant, *_ = row
        _, cast = found.setdefault((tenant, approval_id), (row, []))
        if row[width] is not None:
            cast.append(row[width:])
    return [approval_record(row, cast) for row, cast in found.values()]


def vote_values(tenant: str, approval_id: str, position: int, vote: Vote) -> Values:
    """A vote's columns."""
    return {
        "tenant": tenant,
        "approval_id": approval_id,
        "position": position,
        "approver": vote.approver,
        "verdict": vote.verdict,
        "groups": _json(vote.groups),
        "reason": vote.reason,
        "at_us": vote.at_us,
        "seal": vote.seal,
    }


def _vote(row: Row) -> Vote:
    _, _, _, approver, verdict, groups, reason, at_us, seal = row
    return Vote(
        approver=approver, verdict=verdict, groups=_groups.decode(groups), reason=reason, at_us=at_us, seal=seal
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
