"""No order of votes, edits, answers, withdrawals, expiry, restarts and resumes runs what was not approved, or twice."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import surehand as sh
from surehand.testing import FakeClock

ALICE = sh.Caller(id="alice", tenant="acme", roles=["finance"])  # she asks, and is in the group that is asked
PEOPLE = [sh.Caller(id=name, tenant="acme", roles=["finance"]) for name in ("fiona", "frank", "fred")]
WHO = st.sampled_from([*PEOPLE, *PEOPLE, ALICE, sh.Caller(id="eve", tenant="acme", roles=["clerk"])])
AMOUNT = st.sampled_from([10, 70, 80, 200, 300])
NUMBER = st.integers(0, 6)
ANSWERS = ["approve", "reject", "edit", "answer", "withdraw"]
WHAT = st.sampled_from(["approve", "approve", "edit", *ANSWERS])
AT_ONCE = st.sampled_from(["edit", "edit", "approve", "approve", "resume", *ANSWERS])
PICK = st.integers(0, 63)
ONE = st.tuples(AT_ONCE, WHO, st.fixed_dictionaries({"no": NUMBER, "amount": AMOUNT}))
TTL_S = 1000


def needed(amount: int) -> int:
    """How many people must agree: nobody, one, or two."""
    return 0 if amount <= 50 else 1 if amount <= 100 else 2


@dataclass
class Asked:
    """What the answers that were taken come to, kept apart from the engine."""

    call_id: str
    asking: str
    written: dict[str, int]
    arguments: dict[str, int]
    need: int
    expires_s: float
    yes: set[str] = field(default_factory=set[str])
    ended: bool = False
    ran: bool = False

    def may_run(self, now_s: float) -> bool:
        """Whether a resume must run it now."""
        return not self.ended and not self.ran and len(self.yes) >= self.need and now_s < self.expires_s


@cache
def _empty_database() -> str:
    """A migrated database and its keys, made once: each example starts from a copy."""
    folder = tempfile.mkdtemp()
    engine = sh.open_engine(store=f"sqlite:///{folder}/surehand.db", tools=[])

    async def open_once() -> None:
        async with engine:
            pass

    asyncio.run(open_once())
    return folder


class Orders(RuleBasedStateMachine):
    """Two engines on one SQLite file, and the people of one tenant."""

    @initialize()
    def open(self) -> None:
        """Start with an empty database."""
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        shutil.copytree(_empty_database(), self.folder.name, dirs_exist_ok=True)
        self.clock = FakeClock()
        self.done: list[tuple[str, int, int]] = []
        self.known: list[Asked] = []
        self.engines = [self.engine(), self.engine()]
        for engine in self.engines:
            self.run(engine.__aenter__())

    def engine(self) -> sh.Engine:
        """One more engine on the database."""

        @sh.tool(key=["no"])
        async def pay(no: int, amount: int, *, call_id: Annotated[str, sh.Injected("call_id")]) -> str:
            """Pays."""
            self.done.append((call_id, no, amount))
            return "paid"

        where = Path(self.folder.name)
        limits = sh.Limits(approval_ttl_s=TTL_S, escalate_after_s=TTL_S)
        engine = sh.open_engine(
            store=f"sqlite:///{where / 'surehand.db'}",
            tools=[pay],
            clock=self.clock,
            settings=sh.Settings(limits=limits),
        )

        @engine.hook("tool.pre")
        def ask(call: sh.Proposed) -> sh.AskPerson | None:
            many = needed(call.arguments["amount"]) if isinstance(call.arguments.get("amount"), int) else 1
            return sh.AskPerson("finance", "large", quorum=many) if many else None

        return engine

    def run(self, work: Any) -> Any:
        return self.runner.run(_as_coroutine(work))

    def attempt(self, *works: Awaitable[Any]) -> list[Any]:
        """All at once; a refusal is a value."""
        ended = self.run(asyncio.wait_for(_all(works), 60))
        for one in ended:
            if isinstance(one, BaseException) and not isinstance(one, sh.ApprovalError):
                raise one
        return ended

    @property
    def now_s(self) -> float:
        return self.clock.monotonic()

    @rule(no=NUMBER, amount=AMOUNT)
    def ask(self, no: int, amount: int) -> None:
        """The model calls; an identical call that waits answers for itself."""
        written = {"no": no, "amount": amount}
        result = self.run(self.engines[0].call(sh.ToolCall(id="c", name="pay", arguments=written), ALICE))
        found = next((one for one in self.known if one.call_id == result.call_id), None)
        if found is not None:
            assert written in (found.written, found.arguments)
            return
        if result.error is not None:  # another call of that number has that effect
            assert result.error.code == "IDEMPOTENCY_CONFLICT"
            return
        need, expires_s = needed(amount), self.now_s + TTL_S
        asked = Asked(result.call_id, result.approval_id or "", written, dict(written), need, expires_s)
        asked.ran = result.status == "ok"
        self.known.append(asked)

    def picked(self, pick: int) -> Asked | None:
        """A call, rather one that waits. What is drawn must not depend on who won a race, so it is a number."""
        waiting = [one for one in self.known if not one.ended and not one.ran]
        some = waiting if waiting and pick % 4 else self.known
        return some[pick // 4 % len(some)] if some else None

    def work(self, what: str, call: Asked, who: sh.Caller, engine: sh.Engine, given: dict[str, int]) -> Awaitable[Any]:
        approvals = engine.approvals
        match what:
            case "approve":
                return approvals.approve(call.asking, by=who)
            case "reject":
                return approvals.reject(call.asking, by=who, reason="no")
            case "answer":
                return approvals.answer(call.asking, "by hand", by=who)
            case "withdraw":
                return approvals.withdraw(call.asking, by=who)
            case "edit":
                return approvals.edit(call.asking, given, by=who)
            case _:
                return engine.resume(call.call_id, by=ALICE)

    def take(self, what: str, call: Asked, who: sh.Caller, ended: Any, given: dict[str, int]) -> None:
        """An answer that the engine took, in the model's books. Whether it should have is checked here too."""
        if isinstance(ended, sh.ApprovalError):
            return
        assert not call.ended
        if what == "withdraw":
            assert who.id == "alice"
            call.ended = True
            return
        assert who in PEOPLE
        assert self.now_s < call.expires_s
        if what == "approve":
            assert who.id not in call.yes
            call.yes.add(who.id)
        elif what == "edit":
            assert ended.arguments == given != call.arguments
            call.arguments, call.asking, call.yes = given, ended.approval_id, {who.id}
            call.need, call.expires_s = max(1, needed(given["amount"])), self.now_s + TTL_S
        else:
            call.ended = True

    @rule(pick=PICK, what=WHAT, who=WHO, no=NUMBER, amount=AMOUNT)
    def decide(self, pick: int, what: str, who: sh.Caller, no: int, amount: int) -> None:
        """One person does one thing."""
        call = self.picked(pick)
        if call is None:
            return
        given = {"no": no, "amount": amount}
        (ended,) = self.attempt(self.work(what, call, who, self.engines[0], given))
        self.take(what, call, who, ended, given)

    @rule(pick=PICK, pairs=st.tuples(ONE, ONE))
    def race(self, pick: int, pairs: tuple[tuple[str, sh.Caller, dict[str, int]], ...]) -> None:
        """Two things at once about one call, in two processes' engines."""
        call = self.picked(pick)
        if call is None or call.ended or call.ran:
            return
        works = [
            self.work(what, call, who, engine, given)
            for (what, who, given), engine in zip(pairs, self.engines, strict=True)
        ]
        before = len(self.done)
        ended = self.attempt(*works)
        both = sorted(zip(pairs, ended, strict=True), key=lambda one: one[0][0] != "approve")
        taken = [what for (what, _, _), one in both if what in ANSWERS and not isinstance(one, sh.ApprovalError)]
        assert sum(what != "approve" for what in taken) <= 1, "two answers that exclude each other were both taken"
        if len(self.done) > before:
            self.ran(call, [what for what in taken if what != "approve"])
        for (what, who, given), one in both:
            if what in ANSWERS:
                self.take(what, call, who, one, given)
        if len(self.done) > before:
            assert self.done[-1][1:] == (call.arguments["no"], call.arguments["amount"])
            assert len(call.yes) >= call.need

    @rule(pick=PICK)
    def resume(self, pick: int) -> None:
        """Runs exactly what may run; anything else stays, or has ended."""
        call = self.picked(pick)
        if call is None:
            return
        must, before = call.may_run(self.now_s), len(self.done)
        (result,) = self.attempt(self.engines[1].resume(call.call_id, by=ALICE))
        assert len(self.done) - before == int(must)
        if must:
            assert self.done[-1] == (call.call_id, call.arguments["no"], call.arguments["amount"])
            self.ran(call, [])
        assert (result.status == "ok") is call.ran

    def ran(self, call: Asked, against: list[str]) -> None:
        assert not call.ran, "it ran twice"
        assert not call.ended
        assert against in ([], ["edit"]), "it ran although it was ended at once"
        call.ran = True

    @rule(seconds=st.sampled_from([10, TTL_S + 1]))
    def pass_time(self, seconds: int) -> None:
        """Questions expire."""
        self.clock.advance(seconds)

    @rule()
    def restart(self) -> None:
        """Another process takes over."""
        old = self.engines.pop(0)
        self.engines.append(self.engine())
        self.run(old.close())
        self.run(self.engines[-1].__aenter__())

    @invariant()
    def nothing_runs_twice(self) -> None:
        """Whatever else happened."""
        ids = [call_id for call_id, _, _ in getattr(self, "done", [])]
        assert len(ids) == len(set(ids))

    def teardown(self) -> None:
        """Close what is open."""
        if hasattr(self, "engines"):
            for engine in self.engines:
                self.run(engine.close())
            self.runner.close()
            self.folder.cleanup()


async def _as_coroutine(work: Awaitable[Any]) -> Any:
    return await work


async def _all(works: tuple[Awaitable[Any], ...]) -> list[Any]:
    return await asyncio.gather(*works, return_exceptions=True)


@pytest.mark.timeout(300)
def test_no_order_of_answers_runs_what_was_not_approved_or_twice() -> None:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    few = settings(max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=slow)
    run_state_machine_as_test(Orders, settings=few)
