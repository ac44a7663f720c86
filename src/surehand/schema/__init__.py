"""JSON Schema 2020-12 and JSON text: bounded, strict, worded for models. Knows no tools, callers or policies."""

from .parse import ArgumentLimits, ParseFailure, Strictness, parse_arguments, parse_json, parse_lenient
from .plan import Coercion, coerce, fill_defaults
from .validator import Validator, compile_parameters, compile_schema
from .violations import Violation

__all__ = [
    "ArgumentLimits",
    "Coercion",
    "ParseFailure",
    "Strictness",
    "Validator",
    "Violation",
    "coerce",
    "compile_parameters",
    "compile_schema",
    "fill_defaults",
    "parse_arguments",
    "parse_json",
    "parse_lenient",
]
