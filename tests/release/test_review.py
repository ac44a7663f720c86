"""Which tools in use somebody should look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.release import Review, ReviewLimits, apply_review, read_tasks, review, write_tasks
from surehand.testing import FakeClock
from tests.release.test_promote import ADMIN, Recorded

pytestmark = pytest.mark.timeout(60)
DAY_S = 86_400.0
UNBROKEN = sh.Settings(limits=sh.Limits(breaker_failures=1000))


def tools() -> list[sh.Tool]:
    @sh.tool(name="look", version="1.0.0", read_only=True, owner="billing")
    async def look(text: str) -> str:
        """Looks."""
        if text == "down":
            raise RuntimeError("down")
        if text == "no":
            raise sh.BusinessError("no")
        return text

    @sh.tool(name="pay", version="1.0.0", risk="low", key=["order"], owner="gone")
    async def pay(order: str) -> str:
        """Pays."""
        return order

    return [look, pay]


async def called(engine: sh.Engine, caller: sh.Caller, *texts: str) -> None:
    for text in texts:
        await engine.call(sh.ToolCall(id="c", name="look", arguments={"text": text}), caller)


def told(found: Review) -> dict[str, str]:
    return {task.id: task.text for task in found.tasks}


async def test_what_nobody_called_is_told_once_records_reach_back(open_desk: Any, desk: Any) -> None:
    clock = FakeClock()
    engine = await open_desk(*tools(), clock=clock, settings=UNBROKEN)
    assert told(await review(engine, by=ADMIN)) == {}  # nothing is recorded, so nothing is known
    await called(engine, desk.alice, "a")
    clock.advance(60 * DAY_S)
    await called(engine, desk.mallory, "b")  # another tenant's call is use too
    assert told(await review(engine, by=ADMIN)) == {}
    clock.advance(31 * DAY_S)
    found = await review(engine, by=ADMIN)
    assert told(found) == {"pay@1.0.0:unused": "nobody called it in 90 days"}
    assert found.tasks[0].advice == "look"  # its age is not known
    year_us = clock.now_us() - int(365 * DAY_S * 1e6)
    assert (await review(engine, by=ADMIN, published={"pay@1.0.0": year_us})).tasks[0].advice == "deprecate"
    assert told(await review(engine, by=ADMIN, published={"pay@1.0.0": clock.now_us()})) == {}
    clock.advance(60 * DAY_S)
    assert told(await review(engine, by=ADMIN)).keys() == {"look@1.0.0:unused", "pay@1.0.0:unused"}


async def test_failures_of_the_tool_count_and_those_of_the_model_do_not(
    open_desk: Any, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surehand.release.usage._PAGE", 5)
    clock = FakeClock()
    engine = await open_desk(*tools(), clock=clock, settings=UNBROKEN)
    limits = ReviewLimits(error_calls=10, error_rate=0.5)
    await called(engine, desk.alice, *["no"] * 12)
    assert told(await review(engine, by=ADMIN, limits=limits)) == {}
    await called(engine, desk.alice, *["down"] * 11)
    assert told(await review(engine, by=ADMIN, limits=limits)) == {}  # 11 of 23
    await called(engine, desk.alice, "down")
    (task,) = (await review(engine, by=ADMIN, limits=limits)).tasks
    assert (task.id, task.advice) == ("look@1.0.0:failing", "disable")
    assert task.text.startswith("12 of 24 calls in 7 days failed")
    clock.advance(8 * DAY_S)
    assert told(await review(engine, by=ADMIN, limits=limits)) == {}


async def test_owners_and_drift(open_desk: Any) -> None:
    look, pay = tools()

    def version(number: str, **properties: Any) -> sh.Tool:
        spec = replace(
            pay.spec, version=number, key=(), owner="", parameters={"type": "object", "properties": properties}
        )
        return sh.bind_tool(spec, lambda **_: "")

    versions = [version(f"1.{n}.0", **{f"a{n // 2}": {"type": "string"}}) for n in range(1, 8)]
    engine = await open_desk(look, pay, *versions)
    found = told(await review(engine, by=ADMIN, limits=ReviewLimits(owners=("billing",))))
    assert found["pay@1.0.0:owner"] == "gone is not among the owners there are; name another"
    assert found["pay@1.1.0:owner"] == "nobody answers for it; name an owner"
    assert found["pay@1.7.0:drifted"].startswith("4 of 8 versions changed its schemas")
    assert not any(id.startswith("look") for id in found)
    assert not any("drifted" in id for id in told(await review(engine, by=ADMIN, limits=ReviewLimits(drifts=5))))


@dataclass(frozen=True)
class Finding:
    tool: str
    severity: str
    rule: str


async def test_what_the_linter_calls_an_error_is_a_task(open_desk: Any) -> None:
    engine = await open_desk(*tools())

    def lint(specs: Any) -> list[Finding]:
        return [
            Finding(specs[0].id, "error", "instructs"),
            Finding(specs[0].id, "error", "instructs"),
            Finding(specs[1].id, "warning", "vague"),
        ]

    (task,) = (await review(engine, by=ADMIN, lint=lint)).tasks
    assert (task.id, task.advice) == ("look@1.0.0:security", "disable")
    assert "instructs;" in task.text


async def test_a_task_keeps_its_date_until_it_is_closed(open_desk: Any, tmp_path: Path) -> None:
    clock = FakeClock()
    engine = await open_desk(*tools(), clock=clock, settings=UNBROKEN)
    file, limits = tmp_path / "tasks.json", ReviewLimits(owners=("billing",), due_days=10)
    assert read_tasks(file) == []
    first = await review(engine, by=ADMIN, limits=limits, known=read_tasks(file))
    write_tasks(file, first.tasks)
    clock.advance(3 * DAY_S)
    second = await review(engine, by=ADMIN, limits=limits, known=read_tasks(file))
    (task,) = second.tasks
    assert (task.opened_us, task.due_us) == (first.at_us, first.at_us + int(10 * DAY_S * 1e6))
    third = await review(engine, by=ADMIN, known=read_tasks(file))
    assert (third.tasks, third.closed) == ((), second.tasks)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(sh.ConfigError, match=r"tasks\.json cannot be read"):
        read_tasks(file)
    with pytest.raises(sh.ConfigError, match="cannot be written"):
        write_tasks(tmp_path / "none" / "tasks.json", [])


async def test_what_is_advised_goes_through_the_control_plane(open_desk: Any, desk: Any) -> None:
    clock = FakeClock()
    engine = await open_desk(*tools(), clock=clock, settings=UNBROKEN)
    await called(engine, desk.alice, "a")
    clock.advance(91 * DAY_S)
    await called(engine, desk.alice, *["down"] * 20)
    found = await review(engine, by=ADMIN, limits=ReviewLimits(owners=("billing",)), published={"pay@1.0.0": 0})
    plane = Recorded()
    assert await apply_review(plane, found, (), by=ADMIN) == []
    done = await apply_review(plane, found, ("unused", "failing", "owner"), by=ADMIN)
    assert [(one.task, one.did) for one in done] == [
        ("look@1.0.0:failing", "disable"),
        ("pay@1.0.0:unused", "deprecate"),
    ]
    assert plane.asked == [("look", "1.0.0", "disabled"), ("pay", "1.0.0", "deprecated")]

    class Refuses(Recorded):
        async def disable(self, name: str, version: str, **options: Any) -> str:
            raise sh.NotAllowedError("ada may not publish look")

    (refused,) = await apply_review(Refuses(), found, ("failing",), by=ADMIN)
    assert (refused.did, refused.text) == ("refused", "ada may not publish look")


async def test_a_review_is_for_administrators(open_desk: Any, desk: Any) -> None:
    engine = await open_desk(*tools())
    with pytest.raises(sh.NotAllowedError, match="alice may not review tools"):
        await review(engine, by=desk.alice)


@pytest.mark.parametrize(
    "wrong", [{"unused_days": 0}, {"error_rate": 0}, {"error_rate": 1.5}, {"drifts": True}, {"owners": "billing"}]
)
def test_a_wrong_threshold_is_refused_by_name(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(sh.ConfigError, match=f"review.{name} must be"):
        ReviewLimits(**wrong)
    file = tmp_path / "surehand.toml"
    file.write_text("[review]\nunused = 1\n", encoding="utf-8")
    with pytest.raises(sh.ConfigError, match="review has no setting 'unused'; did you mean 'unused_days'"):
        sh.read_project(file)
