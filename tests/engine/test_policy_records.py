"""Every record says which policies were in force."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any, get_args

import apsw

import surehand as sh
from surehand.audit.record import Kind
from surehand.testing import FakeClock
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until

OPERATOR = sh.Caller(id="olga", tenant="acme", roles=["operator"])


BESIDE = {"call.nested", "call.undone"}
"""Of calls that other calls make or take back."""
KINDS = {kind for kind in get_args(Kind) if kind.startswith("call.")} - BESIDE | {"approval.decided", "approval.ended"}


async def test_every_kind_of_record_names_the_policy_set(desk: Desk, open_desk: Any) -> None:
    gate: list[int] = []

    @sh.tool(key=["no"])
    async def lost(no: int) -> str:
        """Loses its answer."""
        raise sh.OutcomeUnknown("no answer")

    @sh.tool(key=["no"], timeout_s=0.05, runner="thread")
    def slow(no: int) -> str:
        """Comes back late."""
        while not gate:
            time.sleep(0.01)
        return "late"

    @sh.tool(key=["no"])
    async def dies(no: int) -> str:
        """Is running when its process dies."""
        return "ok"

    clock, tools = FakeClock(), (pay_tool(desk), lost, slow, dies)
    given: Any = {"policies": ASK_FINANCE, "clock": clock}
    engine: sh.Engine = await open_desk(*tools, **given, settings=sh.Settings(limits=sh.Limits(approval_ttl_s=60)))
    asked = await engine.call(pay_call(1, 50_000), desk.alice)
    await engine.approvals.approve(asked.approval_id or "", by=desk.fiona)
    await engine.resume(asked.call_id, by=desk.alice)
    await engine.call(pay_call(1, 50_000), desk.alice)
    await engine.call(pay_call(2, 5), sh.Caller(id="bob", tenant="acme"))
    open_question = await engine.call(pay_call(3, 50_000), desk.alice)
    unknown = await engine.call(sh.ToolCall(id="c", name="lost", arguments={"no": 1}), desk.alice)
    await engine.unknown.resolve(unknown.call_id, sh.Done("done"), by=OPERATOR, evidence="seen in the bank")
    await engine.call(sh.ToolCall(id="c", name="slow", arguments={"no": 1}), desk.alice)
    gate.append(1)
    orphan = await engine.call(sh.ToolCall(id="c", name="dies", arguments={"no": 1}), desk.alice)
    assert open_question.status == "pending"

    async def kinds() -> set[str]:
        return {row.kind for row in await engine.services.store.list_audit("acme")}

    async def late() -> bool:
        return "call.late" in await kinds()

    await until(late)
    # By the store's own SQLite: a second one in this process would undo its locks.
    with closing(apsw.Connection(str(desk.folder / "surehand.db"))) as db:
        db.set_busy_timeout(10_000)
        db.execute(
            "update surehand_calls set status = 'running', owner = 'eng_gone', result = null, outcome = null"
            " where call_id = ?",
            (orphan.call_id,),
        )
    clock.advance(120)
    await open_desk(*tools, **given)

    async def all_there() -> bool:
        return await kinds() >= KINDS

    await until(all_there)
    sets = {json.loads(row.body).get("policy_set") for row in await engine.services.store.list_audit("acme")}
    assert sets == {engine.policies.digest}


async def test_a_policy_names_who_answers_when_nobody_does(desk: Desk, open_desk: Any) -> None:
    """The second role is part of the question, and is shown."""
    policy = ASK_FINANCE.replace('@approvers("finance")', '@approvers("finance") @escalate("director")')
    engine = await open_desk(pay_tool(desk), policies=policy)
    waiting = await engine.call(pay_call(amount=20_000), desk.alice)
    shown = await engine.approvals.get(waiting.approval_id, by=desk.alice)
    assert [(need.group, need.escalate_to) for need in shown.needs] == [("finance", "director")]
