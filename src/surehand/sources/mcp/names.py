"""Names of tools that say whose they are, fit every provider, and are different."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

MAX_CHARS: Final = 64
"""What all providers take."""
_HASH_CHARS: Final = 8
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")


def fitted(source: str, names: Iterable[str]) -> dict[str, str]:
    """The server's name of each tool -> ours, `mcp__SOURCE_tool`.

    A name that had to be changed, or that looks like another one, ends in a hash of the server's name: so it depends
    on nothing else that the server offers.
    """
    plain = {name: f"mcp__{source}_{_UNFIT.sub('_', name)}" for name in names}
    looks = Counter(_look(one) for one in plain.values())
    return {
        name: one if _fits(source, name, one) and looks[_look(one)] == 1 else _cut(one, name)
        for name, one in plain.items()
    }


def _fits(source: str, name: str, plain: str) -> bool:
    return plain == f"mcp__{source}_{name}" and len(plain) <= MAX_CHARS


def _look(name: str) -> str:
    return name.casefold().replace("-", "_")


def _cut(plain: str, name: str) -> str:
    ending = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{plain[: MAX_CHARS - _HASH_CHARS - 1]}_{ending}"
