"""`review`: which tools in use somebody should look at, as tasks with a date; and `apply_review`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from ..engine import Engine
from ..errors import ConfigError, NotAllowedError, SurehandError
from ..policy import Allow
from ..registry import Catalog, Entry
from ..registry.version import version_key
from ..spec import ToolSpec
from ..types import Caller
from .change import shown
from .promote import Control
from .review_limits import ReviewLimits
from .usage import Usage, Used, read_usage

ReviewKind: TypeAlias = Literal["unused", "owner", "drifted", "failing", "security"]
Advice: TypeAlias = Literal["look", "deprecate", "disable"]

_DAY_US: Final = 86_400_000_000
_IN_USE: Final = ("canary", "active", "deprecated")
_TOLD: Final = 5


class LintFinding(Protocol):
    """What the linter says, as far as a review needs it."""

    @property
    def severity(self) -> str:
        """`error` or less."""
        ...

    @property
    def tool(self) -> str:
        """`name@version`."""
        ...

    @property
    def rule(self) -> str:
        """Which rule found it."""
        ...


Lint: TypeAlias = Callable[[Sequence[ToolSpec]], Iterable[LintFinding]]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Something that somebody should look at, until a day."""

    id: str
    """`name@version:kind`: the same for as long as it is open."""
    tool: str
    kind: ReviewKind
    text: str
    advice: Advice
    """What `apply_review` would do."""
    opened_us: int
    due_us: int


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """What a review found."""

    at_us: int
    since_us: int
    """From when on there are records: what lies before is not known."""
    tools: int
    """Versions that were looked at."""
    tasks: tuple[Task, ...]
    """Open, the longest open first."""
    closed: tuple[Task, ...]
    """Open before, and found no more."""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one task that was to be acted on."""

    task: str
    did: Literal["deprecate", "disable", "refused"]
    text: str


async def review(
    engine: Engine,
    *,
    by: Caller,
    limits: ReviewLimits | None = None,
    lint: Lint | None = None,
    known: Iterable[Task] = (),
    published: Mapping[str, int] | None = None,
) -> Review:
    """Looks at every version in use. Changes nothing.

    Args:
        engine: Its catalog, and the audit of all its tenants, of which only counts are told.
        by: Who asks.
        limits: Thresholds; see `ReviewLimits`.
        lint: Finds what is wrong with contracts; what it calls an `error` becomes a task.
        known: Tasks of the last review: those that are found again keep their dates.
        published: When each `name@version` was first published, in microseconds since the epoch. Only of versions whose
            age is known it is advised to deprecate them for lack of use.

    Raises:
        NotAllowedError: Policy does not let the caller administer.
    """
    now_us = engine.services.clock.now_us()
    if not isinstance(engine.policies.may(by, "admin", None, now_ns=now_us * 1000), Allow):
        raise NotAllowedError(f"{by.id} may not review tools: it needs the action admin")
    limits = limits or ReviewLimits()
    since_us = now_us - limits.unused_days * _DAY_US
    failures_since_us = now_us - limits.error_days * _DAY_US
    usage = await read_usage(engine, since_us=min(since_us, failures_since_us), failures_since_us=failures_since_us)
    catalog = engine.registry.catalog
    entries = [entry for entry in catalog.entries.values() if entry.callable and entry.status in _IN_USE]
    found: list[tuple[str, ReviewKind, str, Advice]] = []
    for entry in entries:
        spec = entry.tool.spec
        age = (published or {}).get(spec.id)
        found += [(spec.id, *one) for one in _unused(spec, usage, since_us, age, limits)]
        found += [(spec.id, *one) for one in (*_owner(spec, limits), *_failing(usage.of.get(spec.id), limits))]
    found += [*_drifted(catalog, entries, limits), *_security(entries, lint)]
    tasks = _dated(found, {task.id: task for task in known}, now_us, limits)
    open_ids = {task.id for task in tasks}
    return Review(
        at_us=now_us,
        since_us=usage.since_us,
        tools=len(entries),
        tasks=tuple(tasks),
        closed=tuple(task for task in known if task.id not in open_ids),
    )


def _unused(
    spec: ToolSpec, usage: Usage, since_us: int, age_us: int | None, limits: ReviewLimits
) -> Iterator[tuple[ReviewKind, str, Advice]]:
    if spec.id in usage.of and usage.of[spec.id].last_us >= since_us:
        return
    if usage.since_us > since_us or (age_us is not None and age_us > since_us):
        return  # there are no records from then, or it was not there yet
    text = f"nobody called it in {limits.unused_days} days"
    yield ("unused", text, "look") if age_us is None else ("unused", text, "deprecate")


def _owner(spec: ToolSpec, limits: ReviewLimits) -> Iterator[tuple[ReviewKind, str, Advice]]:
    if not spec.owner.strip():
        yield "owner", "nobody answers for it; name an owner", "look"
    elif limits.owners and spec.owner not in limits.owners:
        yield "owner", f"{shown(spec.owner)} is not among the owners there are; name another", "look"


def _failing(used: Used | None, limits: ReviewLimits) -> Iterator[tuple[ReviewKind, str, Advice]]:
    if used is None or used.ended < limits.error_calls or used.failed / used.ended < limits.error_rate:
        return
    text = f"{used.failed} of {used.ended} calls in {limits.error_days} days failed for reasons of the tool"
    yield "failing", text, "disable"


def _drifted(
    catalog: Catalog, entries: list[Entry], limits: ReviewLimits
) -> Iterator[tuple[str, ReviewKind, str, Advice]]:
    for name in sorted({entry.tool.spec.name for entry in entries}):
        specs = [entry.tool.spec for (one, _), entry in catalog.entries.items() if one == name]
        specs.sort(key=lambda spec: version_key(spec.version))
        moved = sum(
            (one.parameters, one.output_schema) != (other.parameters, other.output_schema)
            for one, other in pairwise(specs)
        )
        current = catalog.resolve(name)
        if moved >= limits.drifts and current is not None:
            text = f"{moved} of {len(specs)} versions changed its schemas; settle what it takes and gives"
            yield current.tool.spec.id, "drifted", text, "look"


def _security(entries: list[Entry], lint: Lint | None) -> Iterator[tuple[str, ReviewKind, str, Advice]]:
    if lint is None:
        return
    rules: dict[str, list[str]] = {}
    for finding in lint([entry.tool.spec for entry in entries]):
        if finding.severity == "error":
            rules.setdefault(finding.tool, []).append(finding.rule)
    for tool, names in rules.items():
        known = list(dict.fromkeys(names))
        more = f" and {len(known) - _TOLD} more" if len(known) > _TOLD else ""
        text = f"the linter finds {', '.join(known[:_TOLD])}{more}; `surehand tools lint` says what"
        yield tool, "security", text, "disable"


def _dated(
    found: Iterable[tuple[str, ReviewKind, str, Advice]], known: Mapping[str, Task], now_us: int, limits: ReviewLimits
) -> list[Task]:
    tasks: list[Task] = []
    for tool, kind, text, advice in found:
        id = f"{tool}:{kind}"
        old = known.get(id)
        opened_us, due_us = (old.opened_us, old.due_us) if old else (now_us, now_us + limits.due_days * _DAY_US)
        tasks.append(Task(id=id, tool=tool, kind=kind, text=text, advice=advice, opened_us=opened_us, due_us=due_us))
    return sorted(tasks, key=lambda task: (task.opened_us, task.id))


async def apply_review(control: Control, found: Review, kinds: Collection[ReviewKind], *, by: Caller) -> list[Applied]:
    """Deprecates or disables what tasks of some kinds advise, through the control plane, which may refuse.

    Args:
        control: What moves versions; it governs and records each move.
        found: What `review` found.
        kinds: Tasks of which kinds are acted on. Those that advise to look are left alone.
        by: Who wants it.
    """
    done: list[Applied] = []
    disabled = {task.tool for task in found.tasks if task.kind in kinds and task.advice == "disable"}
    for task in found.tasks:
        if task.kind not in kinds or task.advice == "look" or (task.advice == "deprecate" and task.tool in disabled):
            continue
        name, _, version = task.tool.rpartition("@")
        reason = f"review, {task.kind}: {task.text}"
        try:
            if task.advice == "disable":
                await control.disable(name, version, by=by, reason=reason)
            else:
                await control.deprecate(name, version, by=by, reason=reason)
        except SurehandError as error:
            done.append(Applied(task=task.id, did="refused", text=str(error)))
        else:
            done.append(Applied(task=task.id, did=task.advice, text=reason))
    return done


def read_tasks(path: str | Path) -> list[Task]:
    """The tasks that `write_tasks` wrote; none if there is no such file.

    Raises:
        ConfigError: It cannot be read, or holds something else.
    """
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=list[Task])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"the tasks {path} cannot be read ({error}); name the file that a review wrote") from error


def write_tasks(path: str | Path, tasks: Sequence[Task]) -> None:
    """Keeps open tasks for the next review, in the place of those that were there: wholly or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    file = Path(path)
    beside = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    content: Any = msgspec.json.format(msgspec.json.encode(tasks), indent=2)
    try:
        beside.write_bytes(content + b"\n")
        beside.replace(file)
    except OSError as error:
        raise ConfigError(f"the tasks {path} cannot be written ({error.strerror}); name another file") from error
