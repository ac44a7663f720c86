"""What the guide says of events holds for every kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import surehand as sh
from surehand.agent import Reason, RunEventKind
from tests.agent.raw import Raw, asked, drive, said
from tests.desk import ASK_FINANCE, Desk, pay_tool

GUIDE = Path(__file__).parents[2] / "docs" / "runs.md"
OF_A_CALL = {"call_id", "tool_call_id", "name", "position"}
DENY = """
@id("never") @reason("never to him") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.to == "him" };
"""


def listed() -> dict[str, set[str]]:
    """The guide's table: kind -> the fields of its data."""
    rows: dict[str, set[str]] = {}
    for kinds, what in re.findall(
        r"^\| ((?:`[a-z]+(?:\.[a-z]+)?`(?:, )?)+) \|[^|]*\| (.*) \|$", GUIDE.read_text(), re.M
    ):
        if kinds.strip("`") in get_args(Reason):
            continue
        fields = set(re.findall(r"`([a-z_]+)`", re.sub(r"\([^)]*\)", "", what)))
        for kind in re.findall(r"`([^`]+)`", kinds):
            rows[kind] = fields | (OF_A_CALL if "a call's" in what else set())
    return rows


def test_the_guide_lists_every_kind() -> None:
    assert listed().keys() == set(get_args(RunEventKind))


async def test_the_guide_lists_the_data_of_every_kind(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE + DENY)

    def pay(to: str, no: int, amount: int = 5) -> dict[str, Any]:
        return asked(f'{{"to":"{to}","no":{no},"amount":{amount}}}', id=f"c{no}")

    model = Raw(
        sh.ModelFailure("later", retryable=True),
        said("I pay.", pay("bob", 1), pay("eve", 2, 50_000), pay("him", 3)),
        said("Done."),
    )
    bounds = sh.Bounds(denials=1, model_wait_s=0)
    events = await drive(engine, model, desk.alice, run_id="r1", messages=["go"], bounds=bounds, wait=False)
    (question,) = await engine.approvals.list(by=desk.fiona)
    await engine.approvals.approve(question.approval_id, by=desk.fiona)
    events += await drive(engine, model, desk.alice, run_id="r1")
    guide = listed()
    for event in events:
        assert event.data.keys() == guide[event.kind], event.kind
    assert {event.kind for event in events} == guide.keys() - {"call.named", "call.progress"}
