"""Every bound of an engine, with its default, and the limits that an operator declares: budgets and rates. Pure."""

from .bounds import Limits
from .counting import Charge, Counter, Full, Held, Uncountable, admit, charged_amount
from .declared import Budget, Per, Rate
from .quotas import Quotas

__all__ = [
    "Budget",
    "Charge",
    "Counter",
    "Full",
    "Held",
    "Limits",
    "Per",
    "Quotas",
    "Rate",
    "Uncountable",
    "admit",
    "charged_amount",
]
