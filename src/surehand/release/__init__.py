"""Releases of tools."""

from .diff import diff

__all__ = ["diff"]
