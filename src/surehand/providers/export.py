"""`Export`: the tools of a view as one provider takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from .offering.restore import Restoration
from .offering.strict import Verdict


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """A view as one provider accepts it. The same view gives the same bytes."""

    dialect: str
    """The provider's name."""
    tools: list[dict[str, Any]]
    """What the provider's request takes as its tools."""
    wire_names: Mapping[str, str]
    """Name on the wire -> our name."""
    names: Mapping[str, str]
    """Our name -> name on the wire."""
    notes: tuple[str, ...] = ()
    """What could not be said exactly, one line a tool: why, and what was moved into the description."""
    verdicts: Mapping[str, Verdict] = {}
    """Our name -> what strict mode does to the tool. Empty unless it was asked for. `unsupported`: sent without it."""
    restorations: Mapping[str, Restoration] = {}
    """Our name -> what `decode` has to undo in the arguments, where the export changed the schema that far."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """What `tools` holds, so that an export can be given as it is."""
        return iter(self.tools)

    def __len__(self) -> int:
        """How many tools."""
        return len(self.wire_names)
