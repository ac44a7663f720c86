"""The keyword fields that the builders of a contract share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ..types import Idempotency, Risk, Stage, Trust
from .rules import check_names
from .sample import Sample
from .tool_spec import Check, Handler, HealthCheck, Preview, Retry, RetryKind, RunnerName, StatusCheck


class ContractFields(TypedDict, total=False):
    """Fields of `ToolSpec` that every builder takes; their meaning and defaults are there."""

    version: str
    risk: Risk
    read_only: bool
    requires_approval: bool
    permissions: Sequence[str]
    idempotency: Idempotency
    key: Sequence[str]
    key_retention_s: float
    cache_ttl_s: float
    fallback: str
    upstream: str
    timeout_s: float
    retry: RetryKind | Retry
    sequential: bool
    runner: RunnerName
    owner: str
    tags: Sequence[str]
    stage: Stage
    credential: str
    calls: Sequence[str]
    trust: Trust | None


class SpecFields(ContractFields, total=False):
    """What `Definition.to_spec` takes besides."""

    output_schema: Mapping[str, Any] | None
    source: str
    target: str
    injected: Mapping[str, str]


class ToolFields(ContractFields, total=False):
    """What `@tool` takes besides."""

    name: str
    """Instead of the function's name."""
    description: str
    """Instead of the docstring."""
    display: str
    status_check: StatusCheck | None
    check: Check | None
    preview: Preview | None
    undo: Handler | None
    health_check: HealthCheck | None
    samples: Sequence[Sample]


def contract_values(where: str, fields: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """The fields as `ToolSpec` takes them: `retry` may be the name of its kind.

    Args:
        where: Whose fields they are, for the message.
        fields: As they were given.
        kind: The class that names the fields there are.

    Raises:
        SpecError: There is no such field, or no such kind of retry.
    """
    known: frozenset[str] = getattr(kind, "__optional_keys__")  # noqa: B009 - pyright knows it of no plain type
    check_names(where, fields, known)
    values = dict(fields)
    if isinstance(values.get("retry"), str):
        values["retry"] = Retry(kind=values["retry"])
    return values
