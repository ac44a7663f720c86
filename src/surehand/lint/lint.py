"""`lint_tools`: all rules over some contracts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from ..errors import ConfigError
from ..spec import Tool, ToolSpec
from .descriptions import DESCRIPTION_RULES
from .finding import Finding, Rule
from .names import NAME_RULES
from .parameters import PARAMETER_RULES
from .texts import TEXT_RULES

RULES: Final[tuple[Rule, ...]] = (*TEXT_RULES, *NAME_RULES, *DESCRIPTION_RULES, *PARAMETER_RULES)
"""All rules, those about attacks first."""


def lint_tools(tools: Iterable[Tool | ToolSpec], *, only: Collection[str] | None = None) -> list[Finding]:
    """What is wrong with contracts, tool by tool in the order of `RULES`. Advice: it never blocks a call.

    Args:
        tools: All tools that a model may be shown together; rules about names and duplicates compare them.
        only: Names of the tools to tell about; the others are compared with. All by default.

    Raises:
        ConfigError: Something is neither a tool nor a contract.
    """
    specs: list[ToolSpec] = []
    for tool in tools:
        if not isinstance(tool, Tool | ToolSpec):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"lint_tools: pass tools or contracts, not {tool!r:.80}")
        specs.append(tool.spec if isinstance(tool, Tool) else tool)
    return [
        Finding(rule=rule.id, severity=rule.severity, tool=spec.id, where=problem.where, text=problem.text)
        for spec in specs
        if only is None or spec.name in only
        for rule in RULES
        for problem in rule.check(spec, specs)
    ]
