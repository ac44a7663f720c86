"""Stage 7, for a call that waited: everything is checked again, the approval is used up, the intent is durable.

A call that nobody was asked about is started by the transaction of stage 6: nothing lies between.
"""

from __future__ import annotations

import contextlib

from ..approval import Approval, is_met
from ..errors import Code, SurehandError, tool_error
from ..limits import Full
from ..normalize import failures
from ..policy import Ask
from ..ports import Move, Moved
from ..spec.hashes import content_hash
from ..types import SELF, Requirement
from .ask import ask, keyed_digest, preview, vote_seal
from .claim import pending
from .moved import ROUNDS, decide_anew
from .passage import Passage, Stop
from .quota import charges, no_room, tell_reserved, waits
from .services import Services
from .trace import stored_arguments, trace

_STILL_TRUE: frozenset[Code] = frozenset({"POLICY_DENIED", "TOOL_NOT_FOUND", "HOOK_BLOCKED", "TOOL_BUSINESS_ERROR"})
"""Refusals of stages 1 to 5 that mean the same after an approval. Any other means that something moved."""


_NOT_NOW: frozenset[Code] = frozenset({"TOOL_UNAVAILABLE", "TOOL_ERROR"})
"""A check that could not be made says nothing: the call stays ready, the yes is kept."""


async def start(p: Passage, s: Services, stop: Stop | None) -> Stop | None:
    """Moves `p.record` from ready to running, once; or ends it; or asks again.

    Args:
        p: A passage whose stages 1 to 5 ran again just now; `p.record` is the ready call.
        s: The services.
        stop: What those stages said.
    """
    for _ in range(ROUNDS):
        started = await _checked(p, s, stop)
        if not isinstance(started, Moved):
            return started
        try:
            stop = await decide_anew(p, s)
        except SurehandError:
            break
    return Stop(
        status="error", error=failures.unavailable(p.spec, "what holds for it cannot be read, or keeps changing")
    )


async def _checked(p: Passage, s: Services, stop: Stop | None) -> Stop | Moved | None:
    record = p.record
    assert record is not None
    if stop is not None and stop.error is not None and stop.error.code in _NOT_NOW:
        return waits(p, stop) if "retry_after_s" in stop.error.details else stop
    if stop is not None:
        kept = stop.error is not None and stop.error.code in _STILL_TRUE
        return await _end(p, s, stop if kept else _stale(p, "its arguments or checks are not the same any more"))
    needs = p.decision.requirements if isinstance(p.decision, Ask) else ()
    stored = await s.store.get_approval(record.tenant, record.approval_id or "")
    if stored is None or stored.status != "approved":
        return pending(record)
    if needs and _question(needs) != _question(stored.needs):
        if content_hash(p.final) != content_hash(stored_arguments(s, record).final):
            return await _end(p, s, _stale(p, "its arguments changed, and policy asks something else now"))
        return await _ask_again(p, s, needs)
    if keyed_digest(p, s, needs) != stored.digest or s.clock.now_us() >= stored.expires_us:
        return await _end(p, s, _stale(p, "the tool, its arguments, the hooks, the policies or the caller changed"))
    if not _counted_here(p, s, stored, needs or stored.needs):
        return await _end(p, s, _stale(p, "its answers were not given through an engine that has the keys"))
    return await _start(p, s)


def _counted_here(p: Passage, s: Services, stored: Approval, needs: tuple[Requirement, ...]) -> bool:
    """Whether the yes comes from votes that an engine with the keys counted, none of them written into the database."""
    for vote in stored.votes:
        own = vote.approver == p.caller.id
        if vote.seal != vote_seal(s, stored, vote) or any((group == SELF) != own for group in vote.groups):
            return False
        if p.caller.id in vote.acts_for.values():
            return False
    return is_met(needs, stored.votes)


def _question(needs: tuple[Requirement, ...]) -> list[tuple[str, str, str, int, str]]:
    return sorted((need.policy_id, need.group, need.policy_hash, need.quorum, need.escalate_to) for need in needs)


async def _start(p: Passage, s: Services) -> Stop | Moved | None:
    record = p.record
    assert record is not None
    assert record.approval_id is not None
    takes = charges(p, s, starts=True)
    if isinstance(takes, Stop):
        return takes
    now_us = s.clock.now_us()
    p.started_us = now_us
    move = Move(
        tenant=record.tenant,
        call_id=record.call_id,
        expect=("ready",),
        to="running",
        owner=s.owner,
        attempt=record.attempt + 1,
        started_us=now_us,
        approval=(record.approval_id, ("approved",), "consumed"),
        control=p.world.revision,
        audit=(trace(p, s, "call.started"),),
    )
    try:
        moved = await (s.store.move_within(move, takes) if takes else s.store.move(move))
        if not moved and p.world.revision is not None:
            latest = await s.store.control_revision()
            if latest != p.world.revision:
                return Moved(revision=latest)
    except SurehandError:
        s.owed.append(_take_back(move))
        return Stop(status="error", error=failures.unavailable(p.spec, "its start could not be recorded"))
    if isinstance(moved, Full):
        return await _no_room(p, s, moved)
    if moved:
        tell_reserved(p, s)
    return None if moved else pending(record)


async def _no_room(p: Passage, s: Services, full: Full) -> Stop:
    """The yes is kept: the call may be resumed later."""
    p.charges, p.started_us = (), None
    stop = no_room(p, s, full, approved=True)
    with contextlib.suppress(SurehandError):
        await s.recorder.soon(trace(p, s, "limit.refused", amount=full.charge.amount))
    return waits(p, stop)


def _take_back(move: Move) -> Move:
    assert move.approval is not None
    return Move(
        tenant=move.tenant,
        call_id=move.call_id,
        expect=("running",),
        expect_owner=move.owner,
        expect_started_us=move.started_us,
        to="ready",
        approval=(move.approval[0], ("consumed",), "approved"),
    )


async def _ask_again(p: Passage, s: Services, needs: tuple[Requirement, ...]) -> Stop:
    """Policy asks something else now: the old yes does not answer it."""
    record = p.record
    assert record is not None
    await preview(p, s)
    approval = ask(p, s, needs, now_us=s.clock.now_us())
    await s.store.move(
        Move(
            tenant=record.tenant,
            call_id=record.call_id,
            expect=("ready",),
            to="waiting",
            approval=(record.approval_id or "", ("approved",), "stale"),
            new_approval=approval,
            new_digest=approval.digest,
            contract_hash=p.spec.contract_hash,
            binding_hash=p.spec.binding_hash,
            audit=(
                trace(p, s, "call.waiting", shown_hash=approval.shown_hash, reason="policy asks something else now"),
            ),
        )
    )
    fresh = await s.store.get_call(record.tenant, record.call_id)
    return pending(fresh or record)


def _stale(p: Passage, why: str) -> Stop:
    record = p.record
    assert record is not None
    return Stop(
        status="denied",
        error=tool_error(
            "APPROVAL_STALE",
            f"What was approved is not what would run now: {why}. Nothing was done. "
            "Call again to have it approved anew.",
            tool=record.name,
            version=record.version,
        ),
    )


async def _end(p: Passage, s: Services, stop: Stop) -> Stop:
    """The call will not run: its approval is void and its effect may be asked for again."""
    record = p.record
    assert record is not None
    assert stop.error is not None
    done = await s.store.move(
        Move(
            tenant=record.tenant,
            call_id=record.call_id,
            expect=("ready",),
            to="denied" if stop.status == "denied" else "error",
            error_code=stop.error.code,
            finished_us=s.clock.now_us(),
            release_key=True,
            approval=(record.approval_id or "", ("approved",), "stale"),
            audit=(trace(p, s, "call.refused", status="denied", error_code=stop.error.code),),
        )
    )
    return stop if done else pending(record)
