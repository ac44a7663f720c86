"""The control plane that publishes tool versions, and the snapshot that the runtime reads."""

from .canary import Canary, Trial
from .catalog import Catalog, Entry, Notice
from .kills import EVERYTHING, Kills, kill_name
from .lifecycle import MOVES, check_move
from .registry import SEARCH_TOOL, Registry
from .standing import Standing, standing_of
from .version import version_key

__all__ = [
    "EVERYTHING",
    "MOVES",
    "SEARCH_TOOL",
    "Canary",
    "Catalog",
    "Entry",
    "Kills",
    "Notice",
    "Registry",
    "Standing",
    "Trial",
    "check_move",
    "kill_name",
    "standing_of",
    "version_key",
]
