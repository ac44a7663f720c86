"""Recorded calls, judged by a draft of the policies: what it would newly allow, ask about and deny. Runs nothing.

Calls of the ledger are judged on their stored final arguments and caller. Reads and denied calls are only in the
audit, which keeps a summary: such a call is judged if the summary is the whole (its keyed hash says so) and its
caller is one of those given; else it is counted as left out.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

import msgspec

from ..audit import AuditRow
from ..engine import Engine
from ..errors import SurehandError
from ..ledger import CallRecord
from ..pipeline import Services
from ..pipeline.trace import stored_arguments
from ..policy import Ask, Decision, Policies, Word, word
from ..registry import Entry
from ..types import Caller
from .final import injected

LIMIT_MAX: Final = 10_000
_STEP: Final = 200
_GONE: Final = "its version is not in the catalog any more"
_SEALED: Final = "its arguments cannot be opened"
_UNDECIDED: Final = "it was refused before any policy was asked"
_NOBODY: Final = "its caller is not known here"
_PART: Final = "only a part of its arguments was recorded"


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """A call of which the draft says something else."""

    call_id: str
    name: str
    version: str
    caller: str
    at_us: int
    before: Word
    """What the policies in force say of it today."""
    after: Word
    """What the draft says. The same word: other people would be asked."""
    policies: tuple[str, ...]
    """Of the draft's decision."""
    reasons: tuple[str, ...]


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft would have made of the recorded calls."""

    judged: int
    changed: tuple[Replayed, ...]
    """Newest first."""
    left_out: dict[str, int]
    """Why calls could not be judged -> how many."""
    in_force: str
    """Digest of the policies in force."""
    draft: str

    def newly(self, after: Word) -> int:
        """How many calls the draft would newly allow, ask about or deny."""
        return sum(one.after == after for one in self.changed)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    call_id: str
    entry: Entry
    caller: Caller
    final: dict[str, Any]
    at_us: int


async def replay_policies(
    engine: Engine,
    draft: Policies,
    *,
    by: Caller,
    limit: int = 1000,
    callers: Iterable[Caller] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Judges the newest calls of the tenant by a draft, and by the policies in force as they are today.

    Args:
        engine: An open engine: it has the keys.
        draft: Loaded against the engine's catalog.
        by: Who looks; may read the audit.
        limit: How many calls of the ledger and how many records of the audit are looked at, at most 10,000.
        callers: With the roles and scopes that reads and denied calls are judged by.
        progress: Told how many are judged, of how many.

    Raises:
        NotAllowedError: Policy does not let `by` read the audit.
    """
    s = engine.services
    bounded = min(limit, LIMIT_MAX)
    records = await engine.audit.calls(by=by, limit=bounded)
    rows = await engine.audit.list(by=by, limit=bounded)
    known = {one.id: one for one in callers if one.tenant == by.tenant}
    calls = [*(_of_ledger(s, record) for record in records), *_of_audit(s, rows, known)]
    left_out: Counter[str] = Counter()
    changed: list[Replayed] = []
    in_force = engine.policies
    for number, call in enumerate(calls, 1):
        if isinstance(call, str):
            left_out[call] += 1
        elif (told := _told(call, in_force, draft)) is not None:
            changed.append(told)
        if number % _STEP == 0:
            if progress is not None:
                progress(number, len(calls))
            await asyncio.sleep(0)
    return Replay(
        judged=len(calls) - left_out.total(),
        changed=tuple(sorted(changed, key=lambda one: -one.at_us)),
        left_out=dict(left_out),
        in_force=in_force.digest,
        draft=draft.digest,
    )


def _told(call: _Call, in_force: Policies, draft: Policies) -> Replayed | None:
    spec, now_ns = call.entry.tool.spec, call.at_us * 1000
    before = in_force.authorize(call.caller, spec, call.final, now_ns=now_ns)
    after = draft.authorize(call.caller, spec, call.final, now_ns=now_ns)
    if word(before) == word(after) and _needs(before) == _needs(after):
        return None
    return Replayed(
        call_id=call.call_id,
        name=spec.name,
        version=spec.version,
        caller=call.caller.id,
        at_us=call.at_us,
        before=word(before),
        after=word(after),
        policies=after.policies,
        reasons=after.reasons,
    )


def _needs(decision: Decision) -> set[tuple[str, int]]:
    return {(one.group, one.quorum) for one in decision.requirements} if isinstance(decision, Ask) else set()


def _of_ledger(s: Services, record: CallRecord) -> _Call | str:
    entry = s.world.catalog.entries.get((record.name, record.version))
    if entry is None:
        return _GONE
    try:
        stored = stored_arguments(s, record)
    except SurehandError:
        return _SEALED
    return _Call(call_id=record.call_id, entry=entry, caller=stored.caller, final=stored.final, at_us=record.created_us)


def _of_audit(s: Services, rows: Iterable[AuditRow], known: dict[str, Caller]) -> Iterator[_Call | str]:
    """Calls that are not in the ledger: each has one record, of how it ended."""
    for row in rows:
        if row.kind not in ("call.finished", "call.refused"):
            continue
        try:
            facts: object = msgspec.json.decode(row.body)
        except msgspec.DecodeError:
            facts = None
        if not isinstance(facts, dict) or "key" in facts:  # what is in the ledger says its key
            continue
        yield _recorded(s, row, cast("dict[str, Any]", facts), known)


def _recorded(s: Services, row: AuditRow, facts: dict[str, Any], known: dict[str, Caller]) -> _Call | str:
    if not facts.get("decision"):
        return _UNDECIDED
    entry = s.world.catalog.entries.get((facts["name"], facts["version"]))
    if entry is None:
        return _GONE
    said: dict[str, str] = facts["caller"]
    if said["id"] not in known:
        return _NOBODY
    caller = dataclasses.replace(
        known[said["id"]],
        agent=said["agent"],
        environment=said["environment"],
        run_state=facts.get("run_state") or "",
    )
    final = {**facts["arguments"], **injected(entry, caller)}
    if facts["args_hash"] not in (s.keyring.keyed_hash(facts["arguments"]), s.keyring.keyed_hash(final)):
        return _PART
    return _Call(call_id=row.call_id or "", entry=entry, caller=caller, final=final, at_us=row.at_us)
