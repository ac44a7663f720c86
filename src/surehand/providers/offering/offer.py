"""The tools of a view, made to fit one provider. The dialects only write them down in their own form."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from ...errors import ConfigError, SpecError
from ...schema.bounds import plain
from ...schema.keywords import spelled_out
from ...spec import ToolSpec
from ...view import ToolView, ViewEntry
from ..export import Export
from ..profile import Profile
from .names import wire_names
from .openapi import to_openapi
from .restore import Restoration, property_names, renamed
from .root import plain_root
from .strict import StrictSchema, Verdict, to_strict
from .words import cut

_CACHED: Final = 128
_NO_STRICT: Final = StrictSchema(schema=None, losses=("the provider has no strict mode",))


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as the provider may be told of it."""

    name: str
    """On the wire."""
    description: str
    parameters: dict[str, Any]
    strict: bool | None
    """`None` where strict mode was not asked for, and the provider does not assume it."""


Render: TypeAlias = Callable[[Offer], dict[str, Any]]
"""Writes one tool down."""
Wrap: TypeAlias = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
"""Puts the tools together as the provider wants them, where that is not simply a list."""


class Exporter:
    """Makes the exports of one provider and keeps the last ones."""

    def __init__(self, profile: Profile, render: Render, wrap: Wrap = list) -> None:
        self._profile = profile
        self._render = render
        self._wrap = wrap
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, bool], tuple[tuple[ViewEntry, ...], Export]] = {}

    def export(self, view: ToolView, *, strict: bool) -> Export:
        """The export of a view; the same object as long as it is kept, so it is not to be changed."""
        key = (view.digest, strict)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and _same(kept[0], view.tools):
            return kept[1]
        found = self._built(view, strict)
        with self._lock:
            if len(self._kept) >= _CACHED:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = (view.tools, found)
        return found

    def _built(self, view: ToolView, strict: bool) -> Export:
        """An export. Where strict mode holds for all tools or none, one that cannot have it decides for all."""
        work = _Export(self._profile, view, strict)
        found = work.build(self._render, self._wrap)
        if self._profile.strict_by_tool or not work.reasons:
            return found
        return _Export(self._profile, view, strict, ruled_out=work.reasons).build(self._render, self._wrap)


def _same(one: tuple[ViewEntry, ...], other: tuple[ViewEntry, ...]) -> bool:
    """Whether the very same contracts are in both: a digest does not tell in which order a schema names properties."""
    return one is other or all(a.spec is b.spec for a, b in zip(one, other, strict=True))


class _Export:
    """The work on one export. What a request may hold of something is given to the first tools that want it."""

    def __init__(
        self, profile: Profile, view: ToolView, strict: bool, ruled_out: Mapping[str, str] | None = None
    ) -> None:
        most = profile.tools_max
        if most is not None and len(view.tools) > most:
            raise ConfigError(
                f"{profile.name} takes at most {most} tools in one request, and this view has {len(view.tools)}; "
                "lower limits.view_tools, so that search_tools finds the rest, or narrow the view by a scene"
            )
        self.profile = profile
        self.view = view
        self.strict = strict
        self.notes: list[str] = []
        self.verdicts: dict[str, Verdict] = {}
        self.restorations: dict[str, Restoration] = {}
        self.ruled_out = ruled_out or {}
        """Tools that cannot be strict and why, where therefore no tool can."""
        self.reasons: dict[str, str] = {}
        """Why tools are sent without strict."""
        self.used = {"strict tools": 0, "properties": 0, "optional properties": 0, "alternatives": 0}

    def build(self, render: Render, wrap: Wrap) -> Export:
        profile = self.profile
        names = wire_names(
            self.view.names,
            profile.name_pattern,
            profile.name_max,
            start=profile.name_start,
            length_min=profile.name_min,
        )
        tools: list[dict[str, Any]] = []
        for entry in self.view.tools:
            try:
                tools.append(render(self.offer(entry.spec, names[entry.name])))
            except SpecError as error:
                self.notes.append(f"{entry.name}: left out: {error}")
        return Export(
            dialect=profile.name,
            tools=wrap(tools) if tools else [],
            wire_names={wire: name for name, wire in names.items()},
            names=names,
            notes=tuple(self.notes),
            verdicts=self.verdicts,
            restorations=self.restorations,
        )

    def offer(self, spec: ToolSpec, wire: str) -> Offer:
        said: list[str] = []
        original = spelled_out(plain(spec.parameters, f"tool {spec.id!r}: parameters"))
        aliased, aliases = self.aliased(original, said)
        parameters, rules = plain_root(aliased, self.profile.root_forbids)
        if rules:
            said.append("combinators at the root, said in the description")
        strict = self.strict
        if strict:
            narrowed = self.narrowed(spec.name, parameters, said)
            strict = narrowed is not None
            parameters = narrowed or parameters
        drop_nulls = strict and self.profile.strict is not None and self.profile.strict.all_required
        if drop_nulls or aliases:
            root, _ = plain_root(original, self.profile.root_forbids)
            self.restorations[spec.name] = Restoration(parameters=root, drop_nulls=drop_nulls, names=aliases)
        if self.profile.schema == "openapi":
            parameters = self.as_openapi(spec.name, parameters, rules, said)
        description = cut(spec.description, " ".join(rules), self.profile.description_max)
        if not description.startswith(spec.description.rstrip()):
            said.append(f"description cut to {self.profile.description_max} characters")
        if said:
            self.notes.append(f"{spec.name}: {'; '.join(said)}")
        says = self.profile.strict_assumed or (self.strict and self.profile.strict is not None)
        return Offer(name=wire, description=description, parameters=parameters, strict=strict if says else None)

    def as_openapi(self, name: str, parameters: dict[str, Any], rules: list[str], said: list[str]) -> dict[str, Any]:
        """The schema as OpenAPI, and with it what it no longer says."""
        made = to_openapi(parameters)
        rules.extend(made.rules)
        if made.losses and self.verdicts.get(name) == "lossless":
            self.verdicts[name] = "lossy"
            said[:] = ["lossy", *said]
        said.extend(made.losses)
        return made.schema

    def aliased(self, original: dict[str, Any], said: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
        """The schema with property names that fit, and the real name of each that had to change."""
        pattern = self.profile.property_pattern
        if pattern is None:
            return original, {}
        table = property_names(original, pattern, self.profile.property_max, self.profile.property_start)
        aliases = {wire: name for name, wire in table.items() if wire != name}
        if not aliases:
            return original, {}
        said.append("properties renamed: " + ", ".join(f"`{name}` to `{wire}`" for wire, name in aliases.items()))
        return renamed(original, table), aliases

    def narrowed(self, name: str, parameters: dict[str, Any], said: list[str]) -> dict[str, Any] | None:
        """The strict schema; `None` if there is none, or the request has no room for it."""
        rules = self.profile.strict
        strict = _NO_STRICT if rules is None else to_strict(parameters, rules)
        lost = [*said, *strict.losses]
        reason = self.forbidden(name) or (strict.losses[0] if strict.schema is None else self.exceeded(strict))
        if reason:
            self.verdicts[name] = "unsupported"
            self.reasons[name] = reason
            said[:] = [f"unsupported, sent without strict: {reason}", *said]
            return None
        self.verdicts[name] = "lossy" if lost else "lossless"
        said[:] = [f"lossy: {'; '.join(lost)}"] if lost else []
        return strict.schema

    def forbidden(self, name: str) -> str:
        """Why a tool may not be strict whatever its schema is."""
        if not self.ruled_out or name in self.ruled_out:
            return self.ruled_out.get(name, "")
        others = sorted(self.ruled_out)
        rest = f" and {len(others) - 1} more" if len(others) > 1 else ""
        return f"the provider takes all tools strict or none, and {others[0]}{rest} cannot be"

    def exceeded(self, strict: StrictSchema) -> str:
        """Which limit of a request a tool would exceed; if none, it is counted."""
        limits = (
            ("strict tools", 1, self.profile.strict_tools_max),
            ("properties", strict.properties, self.profile.strict_properties_max),
            ("optional properties", strict.optional, self.profile.optional_max),
            ("alternatives", strict.unions, self.profile.unions_max),
        )
        for what, size, most in limits:
            if most is not None and self.used[what] + size > most:
                return f"more than {most} {what} in one request"
        for what, size, _ in limits:
            self.used[what] += size
        return ""
