"""`portability`: what each provider can be told of each tool, as a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from ..providers import PROVIDERS, Dialect, Export, Verdict, dialect
from ..spec import Tool, ToolSpec
from ..view import ToolView, ViewEntry

Carried: TypeAlias = Literal["whole", "changed", "left out"]
"""What becomes of a tool that is not sent strictly: nothing, a form that the provider takes, or it is not sent."""


class Portability(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: what one provider can be told of one tool, sent alone."""

    tool: str
    """`name@version`."""
    provider: str
    plain: Carried
    """Without strict mode."""
    strict: Verdict | None
    """With it; `None` where the provider has none."""
    notes: tuple[str, ...] = ()
    """What was changed or lost, and why: of the plain export first, then what strict mode adds."""


def portability(tools: Iterable[Tool | ToolSpec], *, providers: Sequence[str] = ()) -> list[Portability]:
    """All cells, tool by tool, the providers in the order of their names. Nothing is sent to anybody.

    Args:
        tools: Tools or contracts.
        providers: Those to tell about; all that are known by default.

    Raises:
        ConfigError: There is no such provider.
    """
    spoken = [dialect(name) for name in providers or sorted(PROVIDERS)]
    specs = [tool.spec if isinstance(tool, Tool) else tool for tool in tools]
    return [_cell(spec, one) for spec in specs for one in spoken]


def alone(spec: ToolSpec) -> ToolView:
    """A view of one contract."""
    return ToolView(tools=(ViewEntry(spec=spec),), hidden={}, digest=f"lint:{spec.id}:{spec.contract_hash}")


def said(export: Export, spec: ToolSpec) -> list[str]:
    """The notes of an export of one contract, without its name."""
    return [note.removeprefix(f"{spec.name}: ") for note in export.notes]


def _cell(spec: ToolSpec, spoken: Dialect) -> Portability:
    view = alone(spec)
    plainly = said(spoken.export(view), spec)
    has_strict = spoken.profile.strict is not None
    strictly = spoken.export(view, strict=True) if has_strict else None
    notes = [*plainly, *(said(strictly, spec) if strictly else ())]
    left_out = any(note.startswith("left out") for note in plainly)
    return Portability(
        tool=spec.id,
        provider=spoken.profile.name,
        plain="left out" if left_out else "changed" if plainly else "whole",
        strict=strictly.verdicts.get(spec.name) if strictly else None,
        notes=tuple(dict.fromkeys(notes)),
    )
