"""Which tools a caller may see now, and why not the others. One function guards listing and calling alike."""

from .filters import FILTER_TABLES, Filters, ToolFilter, read_filters
from .hidden import REASONS, Hidden, HiddenReason
from .tool_view import ToolView, ViewEntry
from .world import World

__all__ = [
    "FILTER_TABLES",
    "REASONS",
    "Filters",
    "Hidden",
    "HiddenReason",
    "ToolFilter",
    "ToolView",
    "ViewEntry",
    "World",
    "read_filters",
]
