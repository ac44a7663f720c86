"""The control plane that publishes tool versions, and the snapshot that the runtime reads."""

from .catalog import Catalog, Entry
from .registry import Registry
from .version import version_key

__all__ = ["Catalog", "Entry", "Registry", "version_key"]
