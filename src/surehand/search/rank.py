"""Which tools of a view a text is about. What is kept is kept by content alone, so no caller's view is another's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, cast

from ..policy.cache import Bounded
from ..registry import SEARCH_TOOL
from ..schema.keywords import walk
from ..spec import ToolSpec
from ..view import ToolView
from .bm25 import Index, words

_NAME_WEIGHT: Final = 3
"""A word of the name counts as often as this many in the description."""
_WORDS_MAX: Final = 2_000
"""Of one tool; the rest of an endless description finds nothing."""
_QUERY_WORDS_MAX: Final = 200
_TEXT_MAX: Final = 20_000
_SCHEMAS_MAX: Final = 500
_documents: Bounded[str, Mapping[str, int]] = Bounded(8_192)
_indexes: Bounded[str, Index] = Bounded(64)


def relevant(view: ToolView, text: str, most: int) -> list[str]:
    """Names of the listed tools that a text is about, best first; none that shares no word with it.

    Args:
        view: What may be found.
        text: The words to look for.
        most: Names at most.
    """
    index = _indexes.get(view.digest) or _indexes.put(view.digest, Index([_document(one.spec) for one in view.tools]))
    best = index.rank(words(text[:_TEXT_MAX])[:_QUERY_WORDS_MAX], most + 1)
    return [view.tools[at].name for at in best if view.tools[at].name != SEARCH_TOOL][:most]


def _document(spec: ToolSpec) -> Mapping[str, int]:
    key = spec.contract_hash
    return _documents.get(key) or _documents.put(key, Counter(_words_of(spec)))


def _words_of(spec: ToolSpec) -> list[str]:
    said = [spec.description, *spec.tags, *_said(spec.parameters)]
    found = words(spec.name) * _NAME_WEIGHT
    for text in said:
        if len(found) >= _WORDS_MAX:
            break
        found += words(text[:_TEXT_MAX])
    return found[:_WORDS_MAX]


def _said(schema: Mapping[str, Any]) -> Iterator[str]:
    """The names and texts of parameters, however deep, and the values to choose from."""
    for path, node in islice(walk(dict(schema)), _SCHEMAS_MAX):
        if path[-2:-1] == ("properties",):
            yield str(path[-1])
        choices: object = node.get("enum")
        listed = cast("list[Any]", choices) if isinstance(choices, list) else []
        yield from (one for one in (node.get("title"), node.get("description"), *listed) if isinstance(one, str))
