"""Which effect a call is: the key that makes it happen at most once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..call import RunStep
from ..spec import ToolSpec
from ..types import Caller


def effect_key(
    spec: ToolSpec,
    arguments: Mapping[str, Any],
    caller: Caller,
    *,
    idempotency_key: str | None,
    run: RunStep | None,
    parent: tuple[str, int] | None = None,
) -> list[Any] | None:
    """The parts of the key, to be hashed, or `None` if nothing says which effect this is.

    The contract's `key` arguments come first, then the caller's key, then the place in the run, or, for a call that a
    handler makes, the key of the handler's own call and its place among the handler's calls (`parent`). The model's
    own id of the call is never used: models and providers repeat them. The tenant is always a part; the
    version is not, so an effect stays the same effect across versions.
    """
    if spec.key:
        return [caller.tenant, spec.name, "arguments", [[name, arguments.get(name)] for name in spec.key]]
    if idempotency_key is not None:
        return [caller.tenant, spec.name, "caller", caller.id, idempotency_key]
    if run is not None:
        return [caller.tenant, spec.name, "run", run.run_id, run.turn, run.position]
    if parent is not None:
        return [caller.tenant, spec.name, "parent", *parent]
    return None
