"""Lint of contracts: what a model, a reviewer or a provider would stumble over. Reads contracts only; runs nothing."""

from .finding import Finding, Rule, Severity
from .lint import RULES, lint_tools
from .portability import Portability, portability

__all__ = ["RULES", "Finding", "Portability", "Rule", "Severity", "lint_tools", "portability"]
