"""How far a run may go, and why one ends."""

from __future__ import annotations

from typing import Literal

import msgspec

Reason = Literal["completed", "degenerate", "truncated", "refused", "limit", "denied_repeatedly", "failed", "cancelled"]
"""Why a run ended.

`completed`: the model gave its answer. `degenerate`: it announced calls and made none, or said nothing twice.
`truncated`: its answer was cut off by its length limit. `refused`: it, or a filter, refused. `limit`: a bound of the
run was reached. `denied_repeatedly`: it went on asking for what it may not do. `failed`: the model could not be asked,
or it repeated a call that fails. `cancelled`: somebody stopped it.
"""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one run. Time that people take to decide does not count."""

    turns: int = 25
    """Answers of the model."""
    calls: int = 200
    tokens: int = 1_000_000
    """Input and output, as the provider counts them."""
    seconds: float = 900.0
    model_attempts: int = 3
    """How often one request is sent while the provider fails in a way that may pass."""
    model_wait_s: float = 0.5
    """Before the second attempt; doubled each time, with jitter."""
    silence: int = 1
    """How often the model is asked again when it said nothing at all."""
    same_failure: int = 3
    """The same call that fails so often ends the run."""
    denials: int = 3
    """A tool that is denied so often leaves the run's view; twice as many denials in all end the run."""
