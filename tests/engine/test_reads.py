"""Reads that are given again, and tools that are down: breakers, views, and what stands in."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

import surehand as sh
from surehand.testing import FakeClock
from tests.desk import Desk, until

BREAKER = sh.Limits(breaker_failures=2, breaker_open_s=30)
ADMIN = sh.Caller(id="root", tenant="acme", roles=["admin"])
AUDITOR = sh.Caller(id="ada", tenant="acme", roles=["auditor"])


def call(name: str, **arguments: Any) -> sh.ToolCall:
    return sh.ToolCall(id="c1", name=name, arguments=arguments)


def code(result: sh.ToolResult) -> str:
    return "" if result.error is None else result.error.code


def counted(desk: Desk, **fields: Any) -> sh.Tool:
    """A read that says how often it was run."""

    given: Any = {"cache_ttl_s": 60, **fields}

    @sh.tool(read_only=True, **given)
    async def count(of: str = "") -> str:
        """Counts."""
        desk.done.append(of)
        return f"run {len(desk.done)}"

    return count


def flaky(desk: Desk, *ends: Any, **fields: Any) -> sh.Tool:
    """A tool that ends as it is told, then well."""
    rest = list(ends)

    given: Any = {"read_only": True, **fields}

    @sh.tool(**given)
    async def look(of: str = "") -> str:
        """Looks."""
        desk.done.append(of)
        end = rest.pop(0) if rest else "seen"
        if isinstance(end, BaseException):
            raise end
        return end

    return look


async def test_what_was_read_through_a_tool_that_is_off_now_is_not_given_again(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, cache_ttl_s=60, calls=["count"])
    async def report(*, tools: Annotated[sh.Tools, sh.Injected("tools")]) -> str:
        """Tells what `count` says."""
        return (await tools.call("count")).content

    engine: sh.Engine = await open_desk(report, counted(desk, cache_ttl_s=0))
    results = [await engine.call(call("report"), desk.alice) for _ in range(2)]
    assert [(one.content, one.cached) for one in results] == [("run 1", False), ("run 1", True)]
    await engine.control.kill(tool="count", by=ADMIN, reason="wrong numbers")
    result = await engine.call(call("report"), desk.alice)
    assert (result.cached, "run 1" in result.content, len(desk.done)) == (False, False, 1)


async def test_whoever_changes_what_they_were_given_changes_no_other(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, cache_ttl_s=60)
    async def rows() -> dict[str, list[int]]:
        """Gives rows."""
        desk.done.append("rows")
        return {"rows": [1, 2]}

    class Careless(sh.Interceptor):
        def after(self, call: sh.Proposed, result: sh.ToolResult) -> None:
            result.structured["rows"].append(3)

    engine: sh.Engine = await open_desk(rows, interceptors=[Careless()])
    for _ in range(3):
        result = await engine.call(call("rows"), desk.alice)
        assert result.structured == {"rows": [1, 2]}
        result.structured["rows"].clear()
    assert desk.done == ["rows"]


async def test_a_read_is_given_again_while_it_is_fresh(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    engine: sh.Engine = await open_desk(counted(desk), clock=clock)
    heard: list[sh.Event] = []
    engine.on_event(heard.append)
    first = await engine.call(call("count", of="x"), desk.alice)
    again = await engine.call(sh.ToolCall(id="c2", name="count", arguments={"of": "x"}), desk.alice)
    assert (again.content, again.cached, again.stale, again.tool_call_id) == ("run 1", True, False, "c2")
    assert (first.cached, again.call_id != first.call_id, again.replayed) == (False, True, False)
    assert [e.data["cached"] for e in heard if e.kind == "call.finished"] == [False, True]
    story = await engine.audit.story(again.call_id, by=desk.alice)
    assert (story.decision, story.facts["cached"], story.status) == ("allow", True, "ok")
    assert "an earlier result was given again" in [step.text for step in story.steps]
    clock.advance(61)
    assert (await engine.call(call("count", of="x"), desk.alice)).content == "run 2"


@pytest.mark.parametrize(
    "other",
    [
        {"caller": sh.Caller(id="bert", tenant="acme", roles=["support"], scopes=["orders:read", "pay"])},
        {"caller": sh.Caller(id="alice", tenant="evil", roles=["support"], scopes=["orders:read", "pay"])},
        {"caller": sh.Caller(id="alice", tenant="acme", roles=["boss"], scopes=["orders:read", "pay"])},
        {"call": call("count", of="y")},
        {"call": call("count")},
        {"replace": True},
        {"policies": '@id("x") forbid (principal, action == Action::"call/count", resource) when { false };'},
    ],
    ids=["caller", "tenant", "roles", "arguments", "default", "version", "policies"],
)
async def test_whatever_moved_is_read_anew(desk: Desk, open_desk: Any, other: dict[str, Any]) -> None:
    engine: sh.Engine = await open_desk(counted(desk))
    await engine.call(call("count", of="x"), desk.alice)
    if other.get("replace"):
        engine.registry.register(counted(desk, version="2.0.0"))
    if "policies" in other:
        source = sh.PolicySource("p.cedar", other["policies"])
        await engine.control.publish_policies([source], by=ADMIN)
    result = await engine.call(other.get("call", call("count", of="x")), other.get("caller", desk.alice))
    assert (result.content, result.cached) == ("run 2", False)


async def test_policy_and_hooks_judge_every_hit(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(counted(desk))
    seen: list[str] = []
    no = False

    @engine.hook("tool.pre")
    def before(proposed: Any) -> Any:
        seen.append("before")
        return sh.Block("not now") if no else None

    @engine.hook("tool.post")
    def after(proposed: Any, result: Any) -> Any:
        seen.append("after")
        return sh.Rewrite(f"{result.content}, looked at {seen.count('after')} times")

    results = [await engine.call(call("count"), desk.alice) for _ in range(2)]
    assert [one.content for one in results] == ["run 1, looked at 1 times", "run 1, looked at 2 times"]
    no = True
    assert code(await engine.call(call("count"), desk.alice)) == "HOOK_BLOCKED"


async def test_what_is_not_kept(desk: Desk, open_desk: Any) -> None:
    small = sh.Settings(limits=sh.Limits(cache_entries=2, cache_bytes=2000))
    engine: sh.Engine = await open_desk(
        counted(desk), flaky(desk, sh.BusinessError("no"), cache_ttl_s=60), settings=small
    )
    for of in ("a", "b", "c", "c", "a"):
        await engine.call(call("count", of=of), desk.alice)
    assert desk.done == ["a", "b", "c", "a"]  # two at most: the oldest is gone
    assert len(engine.services.cache) == 2
    assert code(await engine.call(call("look"), desk.alice)) == "TOOL_BUSINESS_ERROR"
    assert (await engine.call(call("look"), desk.alice)).content == "seen"
    uncached: sh.Engine = await open_desk(counted(desk, cache_ttl_s=0))
    for _ in range(2):
        assert not (await uncached.call(call("count"), desk.alice)).cached


async def test_a_cached_result_holds_no_more_than_the_result(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, cache_ttl_s=60)
    async def peek(password: sh.Secret) -> str:
        """Peeks."""
        return f"it is {password.reveal()}"

    engine: sh.Engine = await open_desk(peek)
    results = [await engine.call(call("peek", password="hunter2-is-long"), desk.alice) for _ in range(2)]
    assert [one.cached for one in results] == [False, True]
    assert "hunter2" not in repr((results, engine.services.cache._kept))


async def test_what_fails_again_and_again_is_left_alone_and_probed(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    down = sh.Unavailable("down")
    tool = flaky(desk, down, sh.BusinessError("no"), down, ValueError("bug"), down, "well")
    engine: sh.Engine = await open_desk(tool, settings=sh.Settings(limits=BREAKER), clock=clock)
    heard: list[sh.Event] = []
    engine.on_event(heard.append)
    for _ in range(4):  # a business error speaks of no ill health, so only the last two count
        assert (await engine.view(desk.alice)).names == ("look",)
        await engine.call(call("look"), desk.alice)
    refused = await engine.call(call("look"), desk.alice)
    assert (code(refused), len(desk.done)) == ("TOOL_UNAVAILABLE", 4)
    assert refused.error is not None
    assert (refused.error.details["retry_after_s"], refused.error.retryable) == (30, True)
    view = await engine.view(desk.alice)
    assert (view.names, view.hidden["look"].reason) == ((), "unavailable")
    evil = sh.Caller(id="x", tenant="evil")
    assert (await engine.view(evil)).names == ("look",)
    clock.advance(30)
    assert (await engine.view(desk.alice)).names == ("look",)
    await engine.call(call("look"), desk.alice)  # the probe fails
    assert code(await engine.call(call("look"), desk.alice)) == "TOOL_UNAVAILABLE"
    clock.advance(30)
    assert (await engine.call(call("look"), desk.alice)).content == "well"
    assert (await engine.call(call("look"), desk.alice)).content == "seen"
    assert [e.data["state"] for e in heard if e.kind == "tool.health"] == ["open", "open", "closed"]

    async def noted() -> bool:
        return [(one.subject, one.state) for one in await engine.limits.health(by=AUDITOR)] == [
            ("tool look@1.0.0", "closed")
        ]

    await until(noted)
    kinds = [row.kind for row in await engine.audit.list(by=AUDITOR)]
    assert kinds.count("tool.health") == 3
    with pytest.raises(sh.NotAllowedError):
        await engine.limits.health(by=desk.alice)


async def test_only_one_probes_and_an_effect_that_is_refused_is_nowhere(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    begun, go = asyncio.Event(), asyncio.Event()

    @sh.tool(key=["no"], upstream="bank")
    async def pay(no: int) -> str:
        """Pays."""
        desk.done.append(no)
        if no < 3:
            raise sh.Unavailable("down")
        begun.set()
        await go.wait()
        return "paid"

    @sh.tool(key=["no"], upstream="bank")
    async def refund(no: int) -> str:
        """Pays back."""
        return "refunded"

    engine: sh.Engine = await open_desk(pay, refund, settings=sh.Settings(limits=BREAKER), clock=clock)
    for no in (1, 2):
        await engine.call(call("pay", no=no), desk.alice)
    refused = [await engine.call(call(name, no=9), desk.alice) for name in ("pay", "refund")]
    assert [code(one) for one in refused] == ["TOOL_UNAVAILABLE"] * 2  # they share an upstream
    assert [await engine.services.store.get_call("acme", one.call_id) for one in refused] == [None, None]
    clock.advance(30)
    probe = asyncio.create_task(engine.call(call("pay", no=3), desk.alice))
    await begun.wait()
    assert code(await engine.call(call("pay", no=4), desk.alice)) == "TOOL_UNAVAILABLE"
    go.set()
    assert (await probe).status == "ok"
    assert (await engine.call(call("refund", no=4), desk.alice)).status == "ok"
    assert desk.done == [1, 2, 3]


async def test_an_open_breaker_ends_retries_and_keeps_a_yes(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()

    @sh.tool(key=["no"], risk="high", retry=sh.Retry(kind="simple", attempts=50, wait_s=0))
    async def pay(no: int) -> str:
        """Pays."""
        desk.done.append(no)
        raise sh.Unavailable("down")

    engine: sh.Engine = await open_desk(pay, settings=sh.Settings(limits=BREAKER), clock=clock)
    asked = [await engine.call(call("pay", no=no), desk.alice) for no in (1, 2)]
    for one in asked:
        assert one.approval_id is not None
        await engine.approvals.approve(one.approval_id, by=desk.fiona)
    assert code(await engine.resume(asked[0].call_id, by=desk.alice)) == "TOOL_UNAVAILABLE"
    assert desk.done == [1, 1]  # of fifty attempts
    held_up = await engine.resume(asked[1].call_id, by=desk.alice)
    assert (held_up.status, code(held_up), desk.done) == ("pending", "TOOL_UNAVAILABLE", [1, 1])
    record = await engine.services.store.get_call("acme", asked[1].call_id)
    assert record is not None
    assert record.status == "ready"


async def test_a_tool_that_is_declared_stands_in(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True, permissions=["orders:read"])
    async def basic(of: str = "") -> str:
        """Looks with less."""
        return f"basic {of}"

    down = [sh.Unavailable("down")] * 3
    tool = flaky(desk, *down, fallback="basic")
    engine: sh.Engine = await open_desk(tool, basic, settings=sh.Settings(limits=BREAKER))
    results = [await engine.call(call("look", of="x"), desk.alice) for _ in range(3)]
    for result in results:  # after a failure, and while the breaker is open
        assert (result.status, result.name, result.fallback_for) == ("ok", "basic", "look@1.0.0")
        assert result.content == "[`look` is unavailable; `basic` answered instead]\nbasic x"
    assert len(desk.done) == 2
    assert "look" in (await engine.view(desk.alice)).names
    story = await engine.audit.story(results[-1].call_id, by=desk.alice)
    assert (story.name, story.decision, story.facts["fallback_for"]) == ("basic", "allow", "look@1.0.0")
    first = await engine.audit.story(story.facts["fallback_of"], by=desk.alice)
    assert (first.name, first.error_code) == ("look", "TOOL_UNAVAILABLE")
    poor = sh.Caller(id="poor", tenant="acme")
    denied = await engine.call(call("look", of="x"), poor)  # the fallback has its own policy
    assert (denied.name, code(denied), denied.fallback_for) == ("look", "TOOL_UNAVAILABLE", None)


async def test_an_earlier_result_stands_in_and_says_so(desk: Desk, open_desk: Any) -> None:
    clock = FakeClock()
    down = [sh.Unavailable("down")] * 9
    engine: sh.Engine = await open_desk(flaky(desk, "seen", *down, fallback="cache"), clock=clock)
    assert (await engine.call(call("look"), desk.alice)).content == "seen"
    clock.advance(600)
    old = await engine.call(call("look"), desk.alice)
    assert (old.status, old.cached, old.stale) == ("ok", True, True)
    assert old.content == "[`look` is unavailable; this is what it said earlier]\nseen"
    assert (await engine.audit.story(old.call_id, by=desk.alice)).facts["stale"] is True
    assert code(await engine.call(call("look", of="other"), desk.alice)) == "TOOL_UNAVAILABLE"
    clock.advance(3600)
    assert code(await engine.call(call("look"), desk.alice)) == "TOOL_UNAVAILABLE"


async def test_a_fallback_that_cannot_stand_in_is_refused(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["of"])
    async def write(of: str = "") -> str:
        """Writes."""
        return ""

    @sh.tool(read_only=True)
    async def number(of: int = 0) -> str:
        """Looks at numbers."""
        return ""

    @sh.tool(read_only=True)
    async def needs(more: str, of: str = "") -> str:
        """Needs more."""
        return ""

    for name, said in [
        ("none", "is no tool there is"),
        ("write", "is not read-only"),
        ("number", "does not take the argument 'of'"),
        ("needs", "requires more"),
    ]:
        with pytest.raises(sh.ConfigError, match=said):
            await open_desk(flaky(desk, fallback=name), write, number, needs)
    with pytest.raises(sh.SpecError, match="nothing stands in for an effect"):
        flaky(desk, read_only=False, fallback="cache")
    with pytest.raises(sh.SpecError, match="names the tool itself"):
        flaky(desk, fallback="look")
