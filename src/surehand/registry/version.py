"""The order of versions."""

from __future__ import annotations

import re

_PART = re.compile(r"[0-9]+|[A-Za-z]+")


def version_key(version: str) -> tuple[object, ...]:
    """Sorts versions as people read them: `1.9` < `1.10`, `v1` < `v2`, `1.0-rc` < `1.0-rc.1` < `1.0` < `1.0.1`.

    A leading `v` does not count. Split at punctuation and where letters meet digits; numbers compare as numbers. A word
    starts a pre-release, which sorts before its release; from there on the rules are those of semantic versions: the
    shorter first, numbers before words. What follows a `+` decides last.
    """
    release, _, build = version.removeprefix("v").partition("+")
    return (*_parts(release), (int(bool(build)),), *_parts(build), version)


def _parts(text: str) -> list[tuple[int | str, ...]]:
    parts: list[tuple[int | str, ...]] = []
    word, end, number = 0, 1, 2
    for part in _PART.findall(text):
        if part.isdigit():
            parts.append((number, int(part)))
        else:
            parts.append((word, part.lower()))
            end, number, word = 0, 1, 2
    return [*parts, (end,)]
