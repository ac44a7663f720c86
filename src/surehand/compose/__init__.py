"""The one place that picks implementations: store, keys, anchor, policies, runners.

What it is given and cannot use, it refuses by name.
"""

from .modules import load_tools
from .opening import open_engine, open_project, policy_loader
from .rehearsing import load_world, policy_rows

__all__ = ["load_tools", "load_world", "open_engine", "open_project", "policy_loader", "policy_rows"]
