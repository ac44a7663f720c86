"""`Existing`: what a store answers when the effect that is asked for is already known."""

from __future__ import annotations

import msgspec

from ..ledger import CallRecord


class Existing(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is already there under the key of a claim, or as an open unknown of the same arguments."""

    record: CallRecord
    owner_silent_us: int | None
    """For how long the process that has it has not said that it is alive; `None` if none has it, or it never did."""
