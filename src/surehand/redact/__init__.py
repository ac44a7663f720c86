"""Takes secrets out of what people, models and records see, and unsafe characters out of text. Pure.

Never decides who may see what: it knows values, schemas, names and patterns, not callers.
"""

from .characters import clean_text, visible
from .redactor import MARK, Redactor

__all__ = ["MARK", "Redactor", "clean_text", "visible"]
