"""How a handler is run: in the event loop or in a thread, within bounds."""

from .breaker import Breaker, Breakers, BreakerState
from .gate import Gate
from .inline import InlineRunner
from .outcome import Ended, Interrupted, Job, NotStarted, Raised, Returned, Runner, TimedOut
from .thread import ThreadRunner

__all__ = [
    "Breaker",
    "BreakerState",
    "Breakers",
    "Ended",
    "Gate",
    "InlineRunner",
    "Interrupted",
    "Job",
    "NotStarted",
    "Raised",
    "Returned",
    "Runner",
    "ThreadRunner",
    "TimedOut",
]
