"""The record that makes a call happen at most once: keys, states, and what a repeat means. Pure."""

from .claims import HOLDS_KEY, Meaning, meaning
from .keys import effect_key
from .record import CallRecord

__all__ = ["HOLDS_KEY", "CallRecord", "Meaning", "effect_key", "meaning"]
