"""The one place that picks implementations: store, keys, anchor, policies, runners.

What it is given and cannot use, it refuses by name.
"""

from .modules import load_tools
from .opening import open_engine, open_project, policy_loader

__all__ = ["load_tools", "open_engine", "open_project", "policy_loader"]
