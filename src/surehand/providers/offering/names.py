"""Names on the wire: a table is made for each export, and a name is only ever looked up in it, never taken apart."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

_PREFIX: Final = "functions."
"""What models write in front of a name that they saw in a namespace of that name."""


def wire_names(
    names: Iterable[str], pattern: str, length_max: int, *, start: str = "", length_min: int = 1
) -> dict[str, str]:
    """Gives each name one that a provider accepts. The same set of names gives the same table.

    Names that fit stay as they are. In others, characters that do not fit become `_`; where that is too long, or is
    some other name of the set, it is cut and the start of the name's hash is added.

    Args:
        names: Ours.
        pattern: What each character of a name on the wire must match.
        length_max: Its greatest length.
        start: What its first character must match, where that is narrower.
        length_min: Its least length.

    Returns:
        Our name -> the name on the wire, no two the same.
    """
    wanted = sorted(set(names))
    plain = {name: fitted(name, pattern, start).ljust(length_min, "_") for name in wanted}
    table = {name: name for name in wanted if len(name) <= length_max and plain[name] == name}
    plain = {name: plainly for name, plainly in plain.items() if name not in table}
    uses = Counter([*table, *plain.values()])
    taken = set(uses)
    for name, plainly in plain.items():
        if uses[plainly] == 1 and len(plainly) <= length_max:
            table[name] = plainly
        else:
            table[name] = _hashed(name, plainly, length_max, taken)
            taken.add(table[name])
    return table


def fitted(name: str, pattern: str, start: str = "") -> str:
    """The name with `_` for each character that by itself does not match the pattern; never empty.

    Where its first character does not match `start`, `_` comes before it.
    """
    if not re.fullmatch(pattern, name):
        name = "".join(one if re.fullmatch(pattern, one) else "_" for one in name) or "_"
    return name if not start or re.match(start, name) else f"_{name}"


def _hashed(name: str, plainly: str, length_max: int, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for size in range(8, length_max):
        found = f"{plainly[: length_max - size - 1]}_{digest[:size]}"
        if found not in taken:
            return found
    raise AssertionError("names that collide in every length of sha256")


def resolve(written: str, table: Mapping[str, str]) -> str:
    """Our name for what a model wrote; one that is not in the table comes back as it was written.

    An exact match wins; then one without the blanks around it; then one without `functions.` before it. Anything more,
    such as another case or other punctuation, would be a guess at which tool was meant.

    Args:
        written: By the model.
        table: Name on the wire -> our name.
    """
    if written in table:
        return table[written]
    stripped = written.strip()
    for candidate in (stripped, stripped.removeprefix(_PREFIX)):
        if candidate in table:
            return table[candidate]
    return written
