"""`Injected`: marks a parameter that the engine fills in and no model ever sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..errors import SpecError

DATA_SOURCES: Final = ("tenant", "caller.id", "agent", "environment")
"""Facts about the caller. They are arguments: policies, approvers and the digest see them."""
RUNTIME_SOURCES: Final = ("caller", "call_id", "idempotency_key", "deadline", "progress", "logger", "tools")
"""Objects of the running call. Only the handler sees them."""


@dataclass(frozen=True, slots=True)
class Injected:
    """Marks a parameter: `tenant_id: Annotated[str, Injected("tenant")]`.

    Raises:
        SpecError: The source is not one of `DATA_SOURCES` or `RUNTIME_SOURCES`.
    """

    source: str

    def __post_init__(self) -> None:
        if self.source not in DATA_SOURCES + RUNTIME_SOURCES:
            known = ", ".join(repr(source) for source in DATA_SOURCES + RUNTIME_SOURCES)
            raise SpecError(f"Injected({self.source!r}): no such source; write one of {known}")
