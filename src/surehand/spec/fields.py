"""The keyword fields that the builders of a contract share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from ..types import Idempotency, Risk, Stage
from .tool_spec import Check, Handler, Retry, StatusCheck


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
    timeout_s: float
    retry: Literal["none", "simple", "exponential"] | Retry
    sequential: bool
    runner: Literal["auto", "inline", "thread"]
    owner: str
    tags: Sequence[str]
    stage: Stage
    credential: str


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
    undo: Handler | None


def contract_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as `ToolSpec` takes them: `retry` may be the name of its kind."""
    values = dict(fields)
    if isinstance(values.get("retry"), str):
        values["retry"] = Retry(kind=values["retry"])
    return values
