"""`check`: everything that must hold before a version is promoted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..engine import Engine
from ..errors import ConfigError, NotFoundError
from ..registry import Entry
from ..runners import Job, Raised, Returned
from ..spec import Sample, Tool
from ..spec.tool_spec import is_async
from ..types import Stage
from .declared import check_declared, check_difference, check_rollback, previous_of
from .diff import diff, release_hash
from .report import Report, Row, met, unmet
from .signature import check_signature
from .trial import Tried, try_samples

_SAMPLES_MAX = 100
_HEALTH_S = 10.0


async def check(
    engine: Engine,
    name: str,
    version: str,
    *,
    to: Stage = "active",
    samples: Sequence[Sample] = (),
    rollback: str = "",
    alerts: bool | None = None,
) -> Report:
    """Checks one version. Sample calls run its handler for real, through an engine whose store is in memory.

    Args:
        engine: The engine that knows the version. Nothing of it changes.
        name: Of the tool.
        version: Which one, whatever its stage.
        to: The stage that it is checked for; at `test` much may still be missing.
        samples: In addition to those declared with the tool.
        rollback: The version that is to take over if this one fails.
        alerts: Whether somebody is told when calls fail; by default whether anything listens to the engine's events.

    Raises:
        NotFoundError: There is no such version.
        ConfigError: There are more than 100 samples, or the engine cannot be copied; see `try_samples`.
    """
    entry = entry_of(engine, name, version)
    tool = entry.tool
    every = [*tool.samples, *samples]
    if len(every) > _SAMPLES_MAX:
        raise ConfigError(f"check: {len(every)} samples; {_SAMPLES_MAX} are the most")
    before = previous_of(engine.registry.catalog, entry)
    policies = engine.policies
    found = None if before is None else diff(before.tool, tool, policies=policies)
    tried = await try_samples(engine, tool, every)
    rows = (
        check_signature(tool, to),
        *check_declared(tool, to),
        _idempotency(tool, tried, to),
        *_samples(tool, tried, to),
        _timeout(tried, to),
        check_difference(found, to),
        await _health(engine, tool, to),
        _alert(engine, alerts, to),
        check_rollback(engine.registry.catalog, entry, rollback, to),
    )
    return Report(
        tool=tool.spec.id,
        to=to,
        previous=None if before is None else before.tool.spec.version,
        hash=release_hash(None if before is None else before.tool.spec, tool.spec),
        rows=rows,
        diff=found,
    )


def current_hash(engine: Engine, name: str, version: str) -> str:
    """`Report.hash` as it would be now.

    Raises:
        NotFoundError: There is no such version.
    """
    entry = entry_of(engine, name, version)
    before = previous_of(engine.registry.catalog, entry)
    return release_hash(None if before is None else before.tool.spec, entry.tool.spec)


def entry_of(engine: Engine, name: str, version: str) -> Entry:
    """One version, whatever its stage.

    Raises:
        NotFoundError: There is no such version.
    """
    entry = engine.registry.catalog.resolve(name, version)
    if entry is None or entry.removed:
        raise NotFoundError(f"there is no tool {f'{name}@{version}'!r}")
    return entry


def _idempotency(tool: Tool, tried: list[Tried], to: Stage) -> Row:
    id, wants, spec = "idempotency.tested", "the same call under the same key has one effect", tool.spec
    if spec.read_only:
        return met(id, wants, "it is read-only: there is no effect to repeat")
    if spec.idempotency == "idempotency_key" and not tool.raw and "idempotency_key" not in spec.injected.values():
        text = "idempotency_key promises that the same key has one effect, but the handler never gets it; inject it"
        return unmet(id, wants, text, to)
    repeated = [one.repeated for one in tried if one.repeated is not None]
    if not repeated:
        return unmet(id, wants, "no good sample shows it; add one that passes", to)
    return unmet(id, wants, repeated[0], to) if repeated[0] else met(id, wants, "the repeat was replayed, one effect")


def _samples(tool: Tool, tried: list[Tried], to: Stage) -> Iterator[Row]:
    wanted = ["good", "bad", *(["denied"] if tool.spec.permissions else [])]
    missing = [kind for kind in wanted if all(one.sample.kind != kind for one in tried)]
    wants = f"samples show calls that are {', '.join(wanted)}"
    if missing:
        yield unmet("samples", wants, f"there is none that is {', '.join(missing)}; add samples=[sh.Sample(...)]", to)
    else:
        yield met("samples", wants, f"{len(tried)} samples")
    for number, one in enumerate(tried, 1):
        id, wants = f"sample.{number}", f"a {one.sample.kind} call ends as it should"
        if one.problem:
            yield unmet(id, wants, f"{one.problem}; correct the tool, its policies or the sample", to)
        else:
            yield met(id, wants, one.told)


def _timeout(tried: list[Tried], to: Stage) -> Row:
    wants = "a call that takes too long is ended in time"
    slow = [one for one in tried if one.sample.kind == "slow"]
    if not slow:
        return unmet("timeout", wants, "no sample shows it; add sh.Sample(kind='slow', ...) that is slow", to)
    if problems := [one.problem for one in slow if one.problem]:
        return unmet("timeout", wants, problems[0], to)
    return met("timeout", wants, slow[0].told)


async def _health(engine: Engine, tool: Tool, to: Stage) -> Row:
    wants = "a health check says whether it can be used"
    if tool.health_check is None:
        return unmet("health", wants, "there is none; declare health_check=, a function that returns True or False", to)
    s = engine.services
    runner = s.inline if is_async(tool.health_check) else s.thread
    ended = await runner.run(Job(call=tool.health_check, timeout_s=_HEALTH_S, late=lambda _: None))
    match ended:
        case Returned(value=value) if value is not False:
            return met("health", wants, "it answers yes")
        case Returned():
            text = "it says that the tool cannot be used now; mend what it depends on"
        case Raised(error=error):
            text = f"it fails with {type(error).__name__}; make it answer, or mend what it asks"
        case _:
            text = f"it does not answer within {_HEALTH_S:.0f} s; give it a time limit of its own"
    return unmet("health", wants, text, to)


def _alert(engine: Engine, alerts: bool | None, to: Stage) -> Row:
    wants = "somebody is told when calls fail"
    if alerts or (alerts is None and engine.has_listeners):
        return met("alert", wants, "events are listened to")
    text = (
        "nothing listens to the engine's events; register engine.on_event(...), or say that one is wired: alerts=True"
    )
    return unmet("alert", wants, text, to)
