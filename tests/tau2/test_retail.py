"""The 114 retail tasks of tau2, driven through the engine: what is granted happens once, what is denied does not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from tests.tau2 import retail

pytestmark = pytest.mark.timeout(60)

AGENT = sh.Caller(id="agent", tenant="shop", agent="retail-agent")
MANAGER = sh.Caller(id="mia", tenant="shop", roles=["approver"])
AUDITOR = sh.Caller(id="vera", tenant="shop", roles=["auditor"])
NO_WRITES = sh.PolicySource(
    "no-writes.cedar",
    '@id("no-writes") forbid (principal, action in Action::"call", resource) when { !resource.read_only };',
)
CHANGES_NOTHING = frozenset({"10", "12", "24", "25", "50", "57", "62", "65", "67", "68", "105"})
"""Tasks whose own actions leave the database as it was."""


async def _act(engine: sh.Engine, task: Any) -> list[sh.ToolResult]:
    """Makes the calls that the task's author wrote down, and approves what waits."""
    results: list[sh.ToolResult] = []
    for position, action in enumerate(task.evaluation_criteria.actions):
        call = sh.ToolCall(id=action.action_id, name=action.name, arguments=action.arguments)
        result = await engine.call(call, AGENT, idempotency_key=f"{task.id}/{position}")
        if result.status == "pending" and result.approval_id is not None:
            await engine.approvals.approve(result.approval_id, by=MANAGER)
            result = await engine.resume(result.call_id, by=AGENT)
        results.append(result)
    return results


@pytest.mark.parametrize("name", sorted(retail.tasks()))
async def test_granted(name: str, tmp_path: Path) -> None:
    """The evaluator gives the full score; each call has exactly one outcome; the same keys again change nothing."""
    task, shop = retail.tasks()[name], retail.Store()
    async with sh.open_engine(store=f"sqlite:///{tmp_path}/s.db", tools=shop.tools()) as engine:
        results = await _act(engine, task)
        assert retail.score(task, shop.trajectory) == 1.0
        await engine.audit.seal()
        rows = await engine.audit.list(by=AUDITOR, limit=1000)
        outcomes = Counter(row.call_id for row in rows if row.kind == "call.finished")
        assert outcomes == {result.call_id: 1 for result in results}
        done, left = len(shop.trajectory), shop.hash()
        for first, second in zip(results, await _act(engine, task), strict=True):
            if first.name in shop.writes and first.status == "ok":
                assert (second.replayed, second.content) == (True, first.content)
        repeated = [result for result in results if result.name not in shop.writes or result.status != "ok"]
        assert len(shop.trajectory) == done + 2 * len(repeated)
        assert shop.hash() == left


@pytest.mark.parametrize("name", sorted(retail.tasks()))
async def test_denied(name: str, tmp_path: Path) -> None:
    """With every write denied, no write reaches a tool, and only tasks that change nothing score."""
    task, shop = retail.tasks()[name], retail.Store()
    async with sh.open_engine(store=f"sqlite:///{tmp_path}/s.db", tools=shop.tools(), policies=[NO_WRITES]) as engine:
        for result in await _act(engine, task):
            assert (result.name in shop.writes) == (result.error is not None and result.error.code == "TOOL_NOT_FOUND")
    assert retail.score(task, shop.trajectory) == float(name in CHANGES_NOTHING)


def test_all() -> None:
    """The tasks are all there are; 11 of them need no write."""
    assert (len(retail.tasks()), len(CHANGES_NOTHING)) == (114, 11)
