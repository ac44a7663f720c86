"""Tool search: finds tools in a view by words. Reveals nothing that the view does not list; runs nothing."""

from .rank import relevant
from .tool import found, offer_search

__all__ = ["found", "offer_search", "relevant"]
