"""What settings and contracts say of other tools, held against the tools there are: a typo must not switch it off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..errors import ConfigError
from ..limits import Quotas
from ..registry import Catalog
from ..spec import FROM_CACHE, ToolSpec


def check_catalog(catalog: Catalog, quotas: Quotas) -> None:
    """Checks limits and fallbacks. Tools that are registered later are checked when they are called.

    Raises:
        ConfigError: A limit names a tool or argument that there is not, or a fallback cannot stand in.
    """
    arguments: dict[str, set[str]] = {}
    for entry in catalog.entries.values():
        spec = entry.tool.spec
        arguments.setdefault(spec.name, set()).update(spec.parameters.get("properties", {}), spec.injected)
        if spec.fallback and spec.fallback != FROM_CACHE:
            _check_fallback(spec, catalog)
    quotas.check(arguments)


def _check_fallback(spec: ToolSpec, catalog: Catalog) -> None:
    where = f"tool {spec.name!r}: fallback {spec.fallback!r}"
    entry = catalog.resolve(spec.fallback, None)
    if entry is None:
        raise ConfigError(f"{where} is no tool there is; name a read-only tool, or {FROM_CACHE!r}")
    other = entry.tool.spec
    if not other.read_only:
        raise ConfigError(f"{where} is not read-only; only reads stand in for reads")
    mine: Mapping[str, Any] = spec.parameters.get("properties", {})
    theirs: Mapping[str, Any] = other.parameters.get("properties", {})
    for name in mine:
        if name not in theirs or _shape(mine[name]) != _shape(theirs[name]):
            raise ConfigError(f"{where} does not take the argument {name!r} as {spec.name!r} does")
    needed = set(other.parameters.get("required", ())) - set(spec.parameters.get("required", ()))
    if needed:
        raise ConfigError(f"{where} requires {', '.join(sorted(needed))}, which {spec.name!r} does not")
    if spec.output_schema is not None and spec.output_schema != other.output_schema:
        raise ConfigError(f"{where} does not promise the same output")


def _shape(schema: Any) -> Any:
    """A schema without what is only for reading."""
    if not isinstance(schema, Mapping):
        return schema
    parts = cast("Mapping[str, Any]", schema)
    return {key: value for key, value in parts.items() if key not in ("title", "description", "default", "examples")}
