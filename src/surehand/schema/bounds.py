"""What keeps a schema from costing more than it is worth, checked once, before it is compiled.

Schemas may come from an MCP server that wishes us ill. Found by trying `jsonschema-rs` 0.61: its meta-schema check
fetches an unknown `$schema` over HTTP, schemas nested deeper than 127 do not compile, and while it judges recursive
schemas in linear time, listing what is wrong (`iter_errors`) takes time exponential in the depth of the value: 45
seconds at depth 20.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ..errors import SpecError
from ..spec.hashes import canonical_json
from ..spec.places import follow
from .keywords import Schema, children, pointer, walk

MAX_DEPTH: Final = 64
MAX_NODES: Final = 5_000
MAX_BYTES: Final = 256 * 1024
MAX_EXPANDED: Final = 100_000
"""Schemas that one value may be held against once every `$ref` is written out."""
MAX_LISTED: Final = 500
"""Schemas that may fail on the way to one list of errors; each costs about 50 microseconds."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_OLDER: Final = frozenset(
    f"{scheme}://json-schema.org/{draft}/schema" for scheme in ("http", "https") for draft in ("draft-06", "draft-07")
) | {"https://json-schema.org/draft/2019-09/schema"}
_CHANGED: Final = frozenset({"additionalItems", "dependencies", "$recursiveRef", "$recursiveAnchor"})
"""Keywords of older dialects that 2020-12 does not know. A list of `items`, it refuses by itself."""


def plain(schema: Mapping[str, Any], where: str) -> Schema:
    """A bounded deep copy that holds nothing but JSON.

    Raises:
        SpecError: Not JSON, or deeper or larger than the limits.
    """
    budget = [MAX_NODES]

    def copy(value: Any, depth: int) -> Any:
        budget[0] -= 1
        if budget[0] < 0:
            raise SpecError(f"{where}: the schema has more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise SpecError(f"{where}: the schema is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            if not all(isinstance(key, str) for key, _ in items):
                raise SpecError(f"{where}: the schema has a key that is not a string")
            return {key: copy(item, depth + 1) for key, item in items}
        if isinstance(value, list | tuple):
            return [copy(item, depth + 1) for item in cast("list[Any]", value)]
        if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        raise SpecError(f"{where}: the schema holds {value!r:.80}, which is not JSON")

    copied = copy(schema, 1)
    try:
        size_bytes = len(canonical_json(copied))
    except TypeError as error:
        raise SpecError(f"{where}: the schema is not JSON: {error}") from None
    if size_bytes > MAX_BYTES:
        raise SpecError(f"{where}: the schema has {size_bytes} bytes, more than {MAX_BYTES}")
    return copied


def is_older(schema: Schema) -> bool:
    """Whether a schema is of an older dialect by its own word, as generators still write it."""
    dialect = schema.get("$schema")
    return isinstance(dialect, str) and dialect.rstrip("#") in _OLDER


def check_references(schema: Schema, where: str) -> None:
    """Only references into the document itself, and only one dialect.

    Raises:
        SpecError: A reference leads outside or nowhere, or another dialect is declared than 2020-12 or one before it
            in which all that the schema says means the same.
    """
    older = is_older(schema)
    for path, node in walk(schema):
        at = pointer(path)
        dialect = node.get("$schema", DIALECT)
        if not isinstance(dialect, str) or (dialect.rstrip("#") != DIALECT and not (older and not path)):
            raise SpecError(f"{where}: $schema at {at} is {dialect!r:.80}; schemas are 2020-12: convert it")
        if older and (changed := sorted(_CHANGED & node.keys())):
            raise SpecError(f"{where}: {changed[0]} at {at} means something else since 2020-12: convert the schema")
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in node:
                raise SpecError(f"{where}: {keyword} at {at} is not supported; write $ref")
        if path and "$id" in node:
            raise SpecError(f"{where}: $id at {at} would change what $ref means; remove it")
        if "$ref" in node:
            ref = node["$ref"]
            if not isinstance(ref, str) or follow(schema, ref) is None:
                raise SpecError(
                    f"{where}: $ref at {at} is {ref!r:.80}; a reference must lead to a schema in this document, "
                    "such as '#/$defs/Name'; nothing is ever fetched"
                )


def check_expansion(schema: Schema, where: str) -> int:
    """Bounds what one value can cost.

    Returns:
        To which depth of a value errors may be listed in detail (see the module's docstring).

    Raises:
        SpecError: References multiply beyond the limit, or go in a circle without entering the value.
    """
    graph = _References(schema, where)
    size = graph.expand(schema, frozenset())
    in_place = graph.edges(in_place=True)
    for circle in _components(in_place):
        if len(circle) > 1 or any(node in in_place[node] for node in circle):
            raise SpecError(f"{where}: a $ref leads back to itself without entering a property or an item")
    edges = graph.edges(in_place=False)
    branching = 1
    for circle in _components(edges):
        for node in circle:
            branching *= max(1, sum(target in circle for target in edges[node]))
    return MAX_DEPTH if branching == 1 else int(math.log(max(1, MAX_LISTED / size)) / math.log(branching))


class _References:
    """The document as a graph of reference targets; a target is known by the `id` of its schema."""

    def __init__(self, root: Schema, where: str) -> None:
        self.root = root
        self.where = where
        self.sizes: dict[int, int] = {}
        self.targets: dict[int, Schema] = {id(root): root}

    def target(self, node: Schema) -> Schema | None:
        found = follow(self.root, node["$ref"]) if "$ref" in node else None
        if isinstance(found, dict):
            self.targets.setdefault(id(found), found)
            return found
        return None

    def expand(self, node: Schema, above: frozenset[int]) -> int:
        """How many schemas this one is when written out; a reference to one it is inside of counts once."""
        if id(node) in self.sizes:
            return self.sizes[id(node)]
        if id(node) in above:
            return 1
        if len(above) > 2 * MAX_DEPTH:
            raise SpecError(f"{self.where}: references of the schema are nested deeper than {2 * MAX_DEPTH} levels")
        above = above | {id(node)}
        total = 1 + sum(self.expand(child.schema, above) for child in children(node) if child.in_place is not None)
        found = self.target(node)
        if found is not None:
            total += self.expand(found, above)
        if total > MAX_EXPANDED:
            raise SpecError(f"{self.where}: references multiply the schema to more than {MAX_EXPANDED} schemas")
        self.sizes[id(node)] = total
        return total

    def edges(self, *, in_place: bool) -> dict[int, list[int]]:
        """Target -> the targets it refers to, once for each reference. Call it after `expand`, which finds them."""
        return {key: list(self._references(node, in_place)) for key, node in list(self.targets.items())}

    def _references(self, node: Schema, in_place: bool) -> Iterator[int]:
        pending = [node]
        while pending:
            here = pending.pop()
            target = self.target(here)
            if target is not None:
                yield id(target)
            pending.extend(
                child.schema for child in children(here) if child.in_place or (child.in_place is False and not in_place)
            )


def _components(edges: Mapping[int, list[int]]) -> Iterator[set[int]]:
    """The strongly connected parts of a graph (Kosaraju, without recursion)."""
    order = _finishing_order(edges)
    back: dict[int, list[int]] = {node: [] for node in edges}
    for node, targets in edges.items():
        for target in targets:
            back[target].append(node)
    left = set(order)
    for start in reversed(order):
        component: set[int] = set()
        pending = [start]
        while pending:
            node = pending.pop()
            if node in left:
                left.discard(node)
                component.add(node)
                pending.extend(back[node])
        if component:
            yield component


def _finishing_order(edges: Mapping[int, list[int]]) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    pending = [(start, False) for start in edges]
    while pending:
        node, done = pending.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            pending.append((node, True))
            pending.extend((target, False) for target in edges[node])
    return order
