"""BM25 (Robertson and Spärck Jones) over small collections of short texts, in memory."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

_K1: Final = 1.2
_B: Final = 0.75
_WORD: Final = re.compile(r"[^\W_]+")
_EMPTY: Final = frozenset(("a", "an", "and", "by", "for", "in", "is", "it", "of", "on", "or", "the", "to", "with"))
"""English words that say nothing about a tool."""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words(text: str) -> list[str]:
    """The words of a text or a name, case folded, plurals as singulars: `listOrders` gives `list`, `order`."""
    apart = _HUMP.sub(" ", unicodedata.normalize("NFKC", text))
    return [_singular(word) for word in _WORD.findall(apart.casefold()) if word not in _EMPTY]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


class Index:
    """Ranks documents against a query.

    Args:
        documents: Word -> how often, of each.
    """

    def __init__(self, documents: Sequence[Mapping[str, int]]) -> None:
        sizes = [sum(one.values()) for one in documents]
        mean = sum(sizes) / max(1, len(sizes)) or 1.0
        self._found: dict[str, list[tuple[int, float]]] = {}
        uses = Counter(word for one in documents for word in one)
        rarity = {word: math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for word, n in uses.items()}
        for at, (document, size) in enumerate(zip(documents, sizes, strict=True)):
            for word, count in document.items():
                weight = count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * size / mean))
                self._found.setdefault(word, []).append((at, rarity[word] * weight))

    def rank(self, query: Sequence[str], most: int) -> list[int]:
        """Places of the documents that hold any of the words, best first; equal ones in their order."""
        scores: dict[int, float] = {}
        for word in dict.fromkeys(query):
            for at, score in self._found.get(word, ()):
                scores[at] = scores.get(at, 0.0) + score
        return sorted(scores, key=lambda at: (-scores[at], at))[:most]
