"""How rows are chained, and how the head of a chain is signed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from surehand.spec.hashes import canonical_json

from .record import Checkpoint

if TYPE_CHECKING:
    from surehand.secrets import Keyring, VerifyKey

SCHEME = 1
"""Raised when what a link or a signature covers changes."""
_LINK = f"surehand.audit.link.{SCHEME}"
_CHECKPOINT = f"surehand.audit.checkpoint.{SCHEME}"


def link(previous: str, seq: int, digest: str) -> str:
    """The chain hash of a row, in hex.

    Args:
        previous: Chain hash of the row before; empty for the first of a tenant.
        seq: Place in the tenant's chain, from 1.
        digest: Of the row's body, which names the tenant.
    """
    return hashlib.sha256(f"{_LINK}\n{previous}\n{seq}\n{digest}".encode()).hexdigest()


def checkpoint(keyring: Keyring, tenant: str, seq: int, chain: str, at_us: int) -> Checkpoint:
    """Signs that a tenant's chain has this hash at this length."""
    key_id = keyring.public_key_id
    signature = keyring.sign(_signed(tenant, seq, chain, at_us, key_id))
    return Checkpoint(tenant=tenant, seq=seq, chain=chain, at_us=at_us, key_id=key_id, signature=signature)


def is_signed(statement: Checkpoint, key: VerifyKey) -> bool:
    """Whether the key's owner made this checkpoint."""
    at, name = statement.at_us, statement.key_id
    data = _signed(statement.tenant, statement.seq, statement.chain, at, name)
    return name == key.id and key.verify(statement.signature, data)


def _signed(tenant: str, seq: int, chain: str, at_us: int, key_id: str) -> bytes:
    return canonical_json(
        {"scheme": _CHECKPOINT, "tenant": tenant, "seq": seq, "chain": chain, "at_us": at_us, "key_id": key_id}
    )
