"""What agents, scenes, environments and states of a run narrow: in the view, and for every call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

import surehand as sh
from surehand.testing import ScriptedModel
from surehand.types import RunState
from surehand.view import REASONS, HiddenReason
from tests.agent.raw import drive
from tests.desk import Desk, pay_call, pay_tool


@sh.tool(read_only=True, tags=["orders"])
async def find(what: str) -> str:
    """Finds an order. Changes nothing."""
    return f"found {what}"


@sh.tool(read_only=True, stage="test")
async def trial(what: str) -> str:
    """Tries something. Changes nothing."""
    return what


def settings(**kinds: Any) -> sh.Settings:
    return sh.Settings(filters=sh.Filters(**kinds))


def test_each_reason_says_what_would_change_it() -> None:
    assert set(REASONS) == set(get_args(HiddenReason))
    assert all(REASONS.values())


def all_of(reason: str) -> dict[str, str]:
    return dict.fromkeys(("find", "pay", "trial"), reason)


BOT = {"agent": "bot"}
PLANNING = {"planning": sh.ToolFilter(read_only=True)}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "no filter": ({}, BOT, {}),
    "an agent's tools": ({"agents": {"bot": sh.ToolFilter(tools=("find",))}}, BOT, {"pay": "agent", "trial": "agent"}),
    "an agent's tags": ({"agents": {"bot": sh.ToolFilter(tags=("orders",))}}, BOT, {"pay": "agent", "trial": "agent"}),
    "tools or tags": ({"agents": {"bot": sh.ToolFilter(tags=("orders",), tools=("pay",))}}, BOT, {"trial": "agent"}),
    "an empty list": ({"agents": {"bot": sh.ToolFilter(tools=())}}, BOT, all_of("agent")),
    "an agent's highest risk": ({"agents": {"bot": sh.ToolFilter(risk="low")}}, BOT, {"pay": "agent"}),
    "another agent": ({"agents": {"bot": sh.ToolFilter(tools=())}}, {"agent": "other"}, {}),
    "an agent that is not listed": (
        {"agents": {"bot": sh.ToolFilter()}, "agents_default": "deny"},
        {"agent": "other"},
        all_of("agent"),
    ),
    "no agent is none that is not listed": ({"agents_default": "deny"}, {}, {}),
    "a scene": (
        {"scenes": {"desk": sh.ToolFilter(tools=("pay",))}}, {"scene": "desk"}, {"find": "scene", "trial": "scene"},
    ),
    "a scene that is not declared": ({}, {"scene": "desk"}, all_of("scene")),
    "reads while planning": ({"run_states": PLANNING}, {"run_state": "planning"}, {"pay": "run_state"}),
    "not while acting": ({"run_states": PLANNING}, {"run_state": "acting"}, {}),
    "stages of an environment": (
        {"environments": {"live": sh.ToolFilter(stages=("active",))}}, {"environment": "live"}, {"trial": "stage"},
    ),
    "an environment": (
        {"environments": {"lab": sh.ToolFilter(tags=("orders",), tools=("trial",))}},
        {"environment": "lab"},
        {"pay": "environment"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_what_is_hidden_cannot_be_called_and_looks_like_what_is_not_there(
    case: str, desk: Desk, open_desk: Any
) -> None:
    kinds, caller_fields, hidden = CASES[case]
    engine: sh.Engine = await open_desk(pay_tool(desk, risk="medium"), find, trial, settings=settings(**kinds))
    caller = replace(desk.alice, **caller_fields)
    view = await engine.view(caller)
    assert {name: one.reason for name, one in view.hidden.items()} == hidden
    assert set(view.names) == {"find", "pay", "trial"} - set(hidden)
    for name in ("find", "pay", "trial"):
        arguments = {"to": "bob", "no": 1, "amount": 5} if name == "pay" else {"what": "x"}
        for written in (name, f"{name}@1.0.0"):
            result = await engine.call(sh.ToolCall(id="c", name=written, arguments=arguments), caller)
            missing = await engine.call(sh.ToolCall(id="c", name=f"x{written}", arguments=arguments), caller)
            if name not in hidden:
                assert result.status in ("ok", "pending")
            else:
                assert result.error is not None
                assert missing.error is not None
                assert result.error.code == "TOOL_NOT_FOUND"
                said = missing.error.message.replace(f"x{written}", written)
                assert result.error.message.partition(" Did you mean")[0] == said.partition(" Did you mean")[0]
    assert desk.done == []


async def test_a_filter_never_grants(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(
        pay_tool(desk), settings=settings(agents={"bot": sh.ToolFilter(tools=("pay",), risk="high")})
    )
    view = await engine.view(sh.Caller(id="x", tenant="acme", agent="bot"))
    assert view.hidden["pay"].reason == "permission"
    assert view.hidden["pay"].policies == ()


async def test_an_approved_call_is_checked_again_in_its_scene(desk: Desk, open_desk: Any) -> None:
    scenes = {"desk": sh.ToolFilter(tools=("pay",)), "other": sh.ToolFilter(tools=("find",))}
    engine: sh.Engine = await open_desk(pay_tool(desk, risk="medium"), find, settings=settings(scenes=scenes))
    caller = desk.alice.in_scene("desk")
    asked = await engine.call(pay_call(), caller)
    assert asked.status == "pending"
    await engine.approvals.approve(asked.approval_id or "", by=desk.alice)
    engine.services.world.filters = sh.Filters(scenes={"desk": sh.ToolFilter(tools=("find",))})
    result = await engine.resume(asked.call_id, by=desk.alice)
    assert (result.status, result.error and result.error.code) == ("error", "TOOL_NOT_FOUND")
    assert desk.done == []


async def test_an_agent_reads_no_result_of_a_tool_that_it_may_not_know(desk: Desk, open_desk: Any) -> None:
    agents = {"bot": sh.ToolFilter(tools=("find",))}
    engine: sh.Engine = await open_desk(pay_tool(desk), find, settings=settings(agents=agents))
    paid = await engine.call(pay_call(), replace(desk.alice, agent="boss"))
    assert "paid 500" in (await engine.resume(paid.call_id, by=replace(desk.alice, agent="boss"))).content
    assert "paid 500" not in (await engine.resume(paid.call_id, by=replace(desk.alice, agent="bot"))).content


async def test_a_run_keeps_its_scene(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(
        pay_tool(desk, risk="high"), find, settings=settings(scenes={"desk": sh.ToolFilter(tools=("pay",))})
    )
    steps: list[Any] = [
        {"expect": {"tools": ["pay"]}, "calls": [{"name": "pay", "arguments": {"to": "bob", "no": 1, "amount": 5}}]},
        {"expect": {"tools": ["pay"]}, "calls": [{"name": "find", "arguments": {"what": "x"}}]},
        {"expect": {"results": ["There is no tool `find` here."]}, "text": "Done."},
    ]
    waiting = await drive(
        engine, ScriptedModel(steps), desk.alice, run_id="r1", messages=["go"], scene="desk", wait=False
    )
    assert waiting[-1].data["state"] == "waiting_human"
    await engine.approvals.approve(waiting[-1].data["approvals"][0], by=desk.fiona)
    rest = await drive(engine, ScriptedModel(steps, catch_up=True), desk.alice, run_id="r1")
    assert rest[-1].data["reason"] == "completed"
    with pytest.raises(sh.ConfigError, match="there is no scene 'dsk'; did you mean 'desk'"):
        await drive(engine, ScriptedModel([]), desk.alice, messages=["go"], scene="dsk")
    with pytest.raises(sh.ConfigError, match="there is no scene 'dsk'"):
        await engine.view(desk.alice, scene="dsk")


def test_a_run_state_is_one_of_a_closed_set() -> None:
    for state in get_args(RunState):
        assert sh.Caller(id="a", tenant="t", run_state=state).run_state == state
    wrong: Any = "planing"
    with pytest.raises(sh.ConfigError, match="run_state must be one of planning, acting, waiting_human, finishing"):
        sh.Caller(id="a", tenant="t", run_state=wrong)


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (sh.Filters(agents={"bot": sh.ToolFilter(tools=("fnd",))}), "agents.bot: no tool is named 'fnd'; did you mean"),
        (
            sh.Filters(scenes={"s": sh.ToolFilter(tags=("order",))}),
            "scenes.s: no tool has the tag 'order'; did you mean",
        ),
    ],
)
def test_a_name_that_no_tool_has_is_refused(filters: sh.Filters, said: str) -> None:
    with pytest.raises(sh.ConfigError) as error:
        sh.open_engine(store="sqlite://", tools=[find], settings=sh.Settings(filters=filters))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agents]\ndefault = 'no'", "agents.default must be 'allow' or 'deny', not 'no'"),
        ("[agents.bot]\ntool = []", "agents.bot: there is no setting 'tool'; did you mean 'tools'?"),
        ("[agents.bot]\ntools = 'find'", "agents.bot: tools must be a list of strings, not 'find'"),
        ("[agents.bot]\nrisk = 'big'", "agents.bot: risk must be one of low, medium, high, not 'big'"),
        ("[environments.x]\nstages = ['live']", "environments.x: stages holds 'live'"),
        ("[run_states.thinking]\ntools = []", "run_states.thinking: there is no such state"),
        ("scenes = 1", "scenes must be a table, not 1"),
    ],
)
def test_a_table_that_is_wrong_is_refused(text: str, said: str, tmp_path: Any) -> None:
    file = tmp_path / "surehand.toml"
    file.write_text(text)
    with pytest.raises(sh.ConfigError) as error:
        sh.read_project(file)
    assert said in str(error.value)


def test_a_project_file_declares_them(tmp_path: Any) -> None:
    file = tmp_path / "surehand.toml"
    file.write_text(
        "always = ['find']\n[agents]\ndefault = 'deny'\n[agents.bot]\ntools = ['find']\nrisk = 'medium'\n"
        "[scenes.desk]\ntags = ['orders']\n[run_states.planning]\nread_only = true\n"
        "[environments.production]\nstages = ['active']\n"
    )
    read, _ = sh.read_project(file)
    assert read.always == ("find",)
    assert read.filters == sh.Filters(
        agents={"bot": sh.ToolFilter(tools=("find",), risk="medium")},
        agents_default="deny",
        scenes={"desk": sh.ToolFilter(tags=("orders",))},
        run_states={"planning": sh.ToolFilter(read_only=True)},
        environments={"production": sh.ToolFilter(stages=("active",))},
    )
