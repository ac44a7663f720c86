"""What came out of a tool, in the words that a model and a person may read. Pure."""

from . import failures
from .text import cap, display
from .value import Value, read_value

__all__ = ["Value", "cap", "display", "failures", "read_value"]
