"""`Sample`: a call, and what must come of it. Release checks make it before a version is promoted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from ..errors import RECOVERY, Code, SpecError
from ..types import Caller
from . import rules
from .rules import Rule, check_fields

SampleKind: TypeAlias = Literal["good", "bad", "denied", "slow"]
"""`good` runs, `bad` is refused for its arguments, `denied` by policy; `slow` does not end in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A call of one tool and what must come of it. The handler runs for real: let it reach a test system only.

    Raises:
        SpecError: A field is not what it must be.
    """

    kind: SampleKind
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the model would write."""
    caller: Caller | None = None
    """By default one with all permissions of the tool; for `denied` one with none."""
    status: str | None = None
    """Which status the result must have; by default what the kind says."""
    code: Code | None = None
    """Which error code; by default one that fits the kind."""
    timeout_s: float | None = None
    """For `slow`: a shorter time limit than the contract's, so that the check need not wait that long."""

    def __post_init__(self) -> None:
        check_fields("sample", self, _SAMPLE)
        if self.timeout_s is not None and self.kind != "slow":
            raise SpecError("sample: timeout_s is for kind='slow' only; leave it out")


_STATUSES: Final = ("pending", "ok", "error", "denied", "cancelled", "unknown")
_SAMPLE: Final[Mapping[str, Rule]] = {
    "kind": rules.one_of(get_args(SampleKind)),
    "arguments": rules.mapping,
    "caller": rules.optional(rules.instance_of(Caller, "a Caller")),
    "status": rules.optional(rules.one_of(_STATUSES)),
    "code": rules.optional(rules.one_of(RECOVERY)),
    "timeout_s": rules.optional(rules.seconds(zero=False)),
}
