"""`ResultCache`: results of reads that may be given again, in memory, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import msgspec

from ..call import ToolResult
from ..spec import Tool


class _Kept(NamedTuple):
    result: bytes
    """Redacted and capped, before any `after`. Written out: whoever changes what they were given changes no other."""
    tool: Tool
    """The very tool that gave it."""
    at: float

    @property
    def size(self) -> int:
        return len(self.result)


class ResultCache:
    """Bounded in entries and bytes; what was used the longest time ago goes first."""

    def __init__(self, *, entries: int, size_bytes: int) -> None:
        self._most = entries
        self._most_bytes = size_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str, tool: Tool, *, since: float) -> ToolResult | None:
        """A result that this very tool gave no earlier than `since`."""
        found = self._kept.get(key)
        if found is None or found.tool is not tool or found.at < since:
            return None
        self._kept.move_to_end(key)
        return msgspec.json.decode(found.result, type=ToolResult)

    def put(self, key: str, tool: Tool, result: ToolResult, *, now: float) -> None:
        """Keeps a result, unless it alone is too large."""
        kept = _Kept(msgspec.json.encode(result), tool, now)
        self._drop(key)
        if kept.size > self._most_bytes:
            return
        self._kept[key] = kept
        self._bytes += kept.size
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: str) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.size
