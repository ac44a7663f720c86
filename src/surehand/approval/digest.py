"""The digest that binds a person's yes to exactly what will run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..spec import ToolSpec
from ..spec.hashes import content_hash
from ..types import Caller, Requirement

SCHEME = 3
"""Raised when what the digest covers changes, so that old approvals never match by accident."""


def digest(
    spec: ToolSpec,
    arguments: Mapping[str, Any],
    caller: Caller,
    needs: tuple[Requirement, ...],
    *,
    idempotency_key: str,
) -> str:
    """Over the final arguments (injected ones included), the contract, the binding, the caller and the question.

    The caller's roles and scopes are not covered: they are checked again, by policy, when the call starts. Anybody
    can compute it: whoever stores it puts a key over it, so that nobody who can write the database makes one up.

    Args:
        spec: The pinned version.
        arguments: What will run.
        caller: On whose behalf.
        needs: The question.
        idempotency_key: What the handler will be given: another key is another effect.
    """
    return content_hash(
        {
            "scheme": SCHEME,
            "arguments": arguments,
            "idempotency_key": idempotency_key,
            "contract": spec.contract_hash,
            "binding": spec.binding_hash,
            "tenant": caller.tenant,
            "caller": caller.id,
            "agent": caller.agent,
            "environment": caller.environment,
            "policies": sorted(
                [need.policy_id, need.group, need.policy_hash, need.quorum, need.escalate_to] for need in needs
            ),
        }
    )
