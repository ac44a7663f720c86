"""One call, in one straight line. `order.py` shows the line; each stage is a file."""

from .interceptor import (
    After,
    AskPerson,
    Before,
    Block,
    Hooks,
    Interceptor,
    Modify,
    Proposed,
    Rewrite,
    Withhold,
)
from .order import carry_on, perform
from .passage import Outcome, Passage, Stop, storable
from .result_cache import ResultCache
from .services import Recorder, Services, new_id

__all__ = [
    "After",
    "AskPerson",
    "Before",
    "Block",
    "Hooks",
    "Interceptor",
    "Modify",
    "Outcome",
    "Passage",
    "Proposed",
    "Recorder",
    "ResultCache",
    "Rewrite",
    "Services",
    "Stop",
    "Withhold",
    "carry_on",
    "new_id",
    "perform",
    "storable",
]
