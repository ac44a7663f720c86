"""The transactions of what is kept beside a result."""

from __future__ import annotations

from collections.abc import Sequence

from ..ports import StoredArtifact
from . import statements
from .rows import artifact_record, artifact_values
from .tx import Tx


def put_artifacts(tx: Tx, artifacts: Sequence[StoredArtifact]) -> None:
    """`Store.put_artifacts`."""
    for stored in artifacts:
        tx.write(statements.insert_artifact, artifact_values(stored))


def get_artifact(tx: Tx, tenant: str, artifact_id: str) -> StoredArtifact | None:
    """`Store.get_artifact`."""
    found = tx.rows(statements.get_artifact, {"tenant": tenant, "artifact_id": artifact_id})
    return artifact_record(found[0]) if found else None
