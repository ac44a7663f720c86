"""Where tools come from besides Python: each source says what it has, and the keeper publishes it.

A source knows its protocol and nothing of calls, policies or stores; what it offers is governed like any other tool.
"""

from .keeper import Keeper
from .make import make_source
from .pins import Pins, definition_hash, read_pins, write_pins
from .settings import SourceSettings, read_sources
from .source import Source

__all__ = [
    "Keeper",
    "Pins",
    "Source",
    "SourceSettings",
    "definition_hash",
    "make_source",
    "read_pins",
    "read_sources",
    "write_pins",
]
