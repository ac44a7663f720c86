"""What came out of a tool, in the words that a model and a person may read. Pure."""

from . import failures
from .budget import Unwritable
from .text import cap, display
from .value import LIMIT_BYTES, LIMIT_NODES, Value, json_value, read_value

__all__ = [
    "LIMIT_BYTES",
    "LIMIT_NODES",
    "Unwritable",
    "Value",
    "cap",
    "display",
    "failures",
    "json_value",
    "read_value",
]
