"""The control plane: one state for all engines of a database, that holds at once for every effect."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
import sys
from typing import Any

import pytest

import surehand as sh
from surehand.registry import MOVES
from tests.desk import Desk, pay_call, pay_tool, until

OLGA = sh.Caller(id="olga", tenant="acme", roles=["admin", "auditor"])
OTTO = sh.Caller(id="otto", tenant="acme", roles=["admin", "security"])
FOUR_EYES = """
@id("two-publish") @approvers("security") @reason("a second person looks at what is published")
forbid (principal, action == Action::"publish", resource);
@id("two-administer") @approvers("security") @reason("a second person looks at policies")
forbid (principal, action == Action::"admin", resource);
"""
NOBODY_PAYS = '@id("nobody-pays") forbid (principal, action == Action::"call/pay", resource);'
LARGE_ASKS = """
@id("large") @approvers("finance") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.amount > 10000 };
"""


def look_tool(desk: Desk, version: str = "1.0.0", *, fails: bool = False, **fields: Any) -> sh.Tool:
    """A read that says which version it is."""

    @sh.tool(version=version, read_only=True, permissions=["orders:read"], **fields)
    async def look(order: str) -> str:
        """Looks an order up. Never changes it."""
        desk.done.append(version)
        if fails:
            raise RuntimeError("broken")
        return version

    return look


def look_call(id: str = "l1") -> sh.ToolCall:
    return sh.ToolCall(id=id, name="look", arguments={"order": "o1"})


@pytest.fixture(params=["sqlite", "postgres"])
def any_store(request: pytest.FixtureRequest, desk: Desk) -> str:
    """The URL of a database that several engines share."""
    return desk.url if request.param == "sqlite" else request.getfixturevalue("postgres_url")


SLOW = sh.Settings(limits=sh.Limits(control_poll_s=60))
"""An engine that as good as never looks by itself."""


@pytest.mark.timeout(30)
async def test_a_kill_holds_at_once_for_effects_and_soon_for_reads(desk: Desk, open_desk: Any, any_store: str) -> None:
    tools = (pay_tool(desk), look_tool(desk))
    keys: Any = {"keys": str(desk.folder / "k.keys"), "anchor": str(desk.folder / "a.anchor")}
    here: sh.Engine = await open_desk(*tools, store=any_store, settings=sh.Settings(**keys))
    slow = sh.Settings(**keys, limits=sh.Limits(control_poll_s=60))
    there: sh.Engine = await open_desk(*tools, store=any_store, settings=slow)
    assert (await there.call(pay_call(1), desk.alice)).status == "ok"
    assert (await there.call(look_call(), desk.alice)).status == "ok"
    done = len(desk.done)
    await here.control.kill(everything=True, by=OLGA, reason="the ledger of order o1 looks wrong")
    refused = await there.call(pay_call(2), desk.alice)
    assert refused.error is not None
    assert (refused.status, refused.error.code, refused.error.retryable) == ("error", "TOOL_UNAVAILABLE", False)
    assert "Do not call it again" in refused.content
    assert "ledger" not in refused.content
    assert (await there.call(look_call(), desk.alice)).status == "error"  # the refused effect made it look
    assert len(desk.done) == done
    view = await there.view(desk.alice)
    assert view.tools == ()
    assert view.hidden["pay"].why == "everything is switched off: the ledger of order o1 looks wrong"
    await here.control.revive(everything=True, by=OLGA)
    follower: sh.Engine = await open_desk(*tools, store=any_store, settings=sh.Settings(**keys))
    assert (await follower.call(look_call(), desk.alice)).status == "ok"
    await here.control.kill(tool="look", by=OLGA, reason="wrong")

    async def off() -> bool:
        return (await follower.call(look_call(), desk.alice)).status == "error"

    await until(off)
    assert (await follower.call(pay_call(3), desk.alice)).status == "ok"


@pytest.mark.timeout(60)
async def test_a_kill_holds_at_once_in_another_process(desk: Desk, open_desk: Any) -> None:
    here: sh.Engine = await open_desk(pay_tool(desk))
    driver = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.engine.control_driver", str(desk.folder), stdin=-1, stdout=-1
    )
    assert driver.stdin is not None
    assert driver.stdout is not None

    async def answer(no: str) -> str:
        assert driver.stdin is not None
        assert driver.stdout is not None
        driver.stdin.write(f"{no}\n".encode())
        return (await driver.stdout.readline()).decode().strip()

    assert (await driver.stdout.readline()).strip() == b"open"
    assert await answer("1") == "ok None 1"
    await here.control.kill(tool="pay", by=OLGA, reason="stop")
    assert await answer("2") == "error TOOL_UNAVAILABLE 1"
    await here.control.revive(tool="pay", by=OLGA)
    driver.stdin.close()
    await driver.wait()


@pytest.mark.parametrize(
    ("switch", "off"),
    [
        ({"tool": "pay"}, {"alice", "bot", "evil"}),
        ({"tool": "pay", "tenant": "acme"}, {"alice", "bot"}),
        ({"agent": "desk-bot"}, {"bot"}),
        ({"agent": "desk-bot", "tenant": "evil"}, set()),
        ({"tenant": "evil"}, {"evil"}),
        ({"everything": True}, {"alice", "bot", "evil"}),
    ],
)
async def test_a_kill_is_of_whom_it_names(desk: Desk, open_desk: Any, switch: Any, off: set[str]) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    bot = sh.Caller(id="alice", tenant="acme", scopes=["pay"], agent="desk-bot")
    callers = {"alice": desk.alice, "bot": bot, "evil": desk.mallory}
    await engine.control.kill(**switch, by=OLGA, reason="test")
    hidden = {name for name, caller in callers.items() if not (await engine.view(caller)).tools}
    refused = {name for name, caller in callers.items() if (await engine.call(pay_call(), caller)).is_error}
    assert hidden == refused == off
    await engine.control.revive(**switch, by=OLGA)
    assert all([(await engine.view(caller)).tools for caller in callers.values()])
    with pytest.raises(sh.NotFoundError, match="not switched off"):
        await engine.control.revive(**switch, by=OLGA)


async def test_a_slip_is_no_switch(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(sh.NotFoundError, match="did you mean 'pay'"):
        await engine.control.kill(tool="pya", by=OLGA, reason="test")
    wrongs: list[Any] = [{}, {"tool": "pay", "agent": "a"}, {"everything": True, "tenant": "acme"}]
    for wrong in wrongs:
        with pytest.raises(sh.ConfigError, match="name one tool"):
            await engine.control.kill(**wrong, by=OLGA, reason="test")
    with pytest.raises(sh.ConfigError, match="reason is empty"):
        await engine.control.kill(tool="pay", by=OLGA, reason=" ")
    with pytest.raises(sh.NotAllowedError, match="alice may not kill tool/pay"):
        await engine.control.kill(tool="pay", by=desk.alice, reason="mine")


async def test_an_approved_call_waits_out_a_kill(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=LARGE_ASKS)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    await engine.control.kill(tool="pay", by=OLGA, reason="test")
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "error"
    assert desk.done == []
    await engine.control.revive(tool="pay", by=OLGA)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"


async def test_a_start_that_was_overtaken_is_decided_anew(desk: Desk, open_desk: Any) -> None:
    """The approved call was judged by policies that another engine has replaced meanwhile."""
    here: sh.Engine = await open_desk(pay_tool(desk), policies=LARGE_ASKS)
    there: sh.Engine = await open_desk(pay_tool(desk), policies=LARGE_ASKS, settings=SLOW)
    waiting = await there.call(pay_call(amount=50_000), desk.alice)
    assert waiting.approval_id is not None
    await there.approvals.approve(waiting.approval_id, by=desk.fiona)
    await here.control.publish_policies([sh.PolicySource("p.cedar", NOBODY_PAYS)], by=OLGA)
    result = await there.resume(waiting.call_id, by=desk.alice)
    assert result.error is not None
    assert (result.status, result.error.code, desk.done) == ("error", "TOOL_NOT_FOUND", [])


async def test_a_version_is_never_overwritten(desk: Desk, open_desk: Any) -> None:
    first: sh.Engine = await open_desk(pay_tool(desk))
    await first.close()
    with pytest.raises(sh.RegistryError, match=r"pay@1\.0\.0 was published before with another contract") as refused:
        await open_desk(pay_tool(desk, owner="somebody else"))
    assert refused.value.code == "duplicate"
    again: sh.Engine = await open_desk(look_tool(desk))
    again.registry.register(pay_tool(desk, owner="somebody else"))
    result = await again.call(pay_call(), desk.alice)
    assert (result.error and result.error.code, desk.done) == ("TOOL_NOT_FOUND", [])


async def test_a_draft_changes_until_a_call_refers_to_it(desk: Desk, open_desk: Any) -> None:
    def draft(**fields: Any) -> sh.Tool:
        return pay_tool(desk, stage="draft", **fields)

    for owner in ("", "a", "b"):
        engine: sh.Engine = await open_desk(draft(owner=owner))
        if owner != "b":
            await engine.close()
    call = sh.ToolCall(id="c", name="pay", version="1.0.0", arguments={"to": "bob", "no": 1, "amount": 5})
    assert (await engine.call(call, desk.alice)).status == "ok"
    with pytest.raises(sh.RegistryError, match="calls refer to it"):
        await open_desk(draft(owner="c"))


async def test_what_is_off_stays_off_after_a_restart(desk: Desk, open_desk: Any) -> None:
    """Whichever way it was switched off; a binding that moved is told in the audit."""
    first: sh.Engine = await open_desk(pay_tool(desk), look_tool(desk), look_tool(desk, "2.0.0"))
    first.registry.unregister("pay")
    first.registry.disable("look", "1.0.0")
    first.registry.alias("find", "look")
    await first.view(desk.alice)
    await first.control.disable("look", "2.0.0", by=OLGA, reason="wrong numbers")
    await first.close()
    second: sh.Engine = await open_desk(pay_tool(desk), look_tool(desk), look_tool(desk, "2.0.0"))
    view = await second.view(desk.alice)
    assert (view.tools, {name: one.reason for name, one in view.hidden.items()}) == (
        (),
        {"pay": "removed", "look": "disabled"},
    )
    assert second.registry.catalog.aliases == {"find": "look"}
    changes = {(one.action, one.target, one.now) for one in await second.control.history(by=OLGA)}
    assert {
        ("remove", "pay@1.0.0", "removed"),
        ("disable", "look@1.0.0", "disabled"),
        ("disable", "look@2.0.0", "disabled"),
        ("alias", "find", "look"),
        ("publish", "pay@1.0.0", "active"),
    } <= changes


async def test_a_binding_that_moved_is_audited(desk: Desk, open_desk: Any) -> None:
    first: sh.Engine = await open_desk(pay_tool(desk))
    await first.close()
    spec = pay_tool(desk).spec

    async def elsewhere(to: str, no: int, amount: int) -> str:
        return "moved"

    moved = sh.bind_tool(dataclasses.replace(spec, target="other:place"), elsewhere)
    second: sh.Engine = await open_desk(moved)
    rows = await second.services.store.list_audit("")
    assert [row.kind for row in rows] == ["control.changed"]
    assert b'"action":"bind"' in rows[0].body
    assert [report.ok for report in await second.audit.verify()] == [True]
    assert (await second.call(pay_call(), desk.alice)).content == "moved"


@pytest.mark.parametrize("at", MOVES)
async def test_a_version_moves_as_the_table_says(desk: Desk, open_desk: Any, at: Any) -> None:
    start: Any = "active" if at in ("deprecated", "disabled") else at
    engine: sh.Engine = await open_desk(look_tool(desk, stage=start), look_tool(desk, "0.9"))
    if at != start:
        await engine.control.promote("look", "1.0.0", to=at, by=OLGA)
    for to in MOVES:
        if to in MOVES[at]:
            continue
        with pytest.raises(sh.RegistryError) as refused:
            await engine.control.promote("look", "1.0.0", to=to, by=OLGA)
        assert refused.value.code == "not_permitted"
    with pytest.raises(sh.NotAllowedError):
        await engine.control.promote("look", "1.0.0", to=MOVES[at][0], by=desk.alice)
    await engine.control.promote("look", "1.0.0", to=MOVES[at][0], by=OLGA, reason="tried", rollback="0.9")
    assert engine.registry.get("look", "1.0.0").spec.stage == MOVES[at][0]
    newest = (await engine.control.history("look", by=OLGA))[0]
    assert (newest.action, newest.was, newest.now, newest.by) == ("promote", at, MOVES[at][0], "acme/olga")


async def test_a_deprecated_version_says_so(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(look_tool(desk))
    with pytest.raises(sh.RegistryError, match="YYYY-MM-DD"):
        await engine.control.deprecate("look", "1.0.0", until="soon", by=OLGA)
    await engine.control.deprecate("look", "1.0.0", use="find@2", until="2031-01-31", by=OLGA)
    words = "deprecated; use find@2; it is there until 2031-01-31"
    view = await engine.view(desk.alice)
    assert [entry.notice for entry in view.tools] == [words]
    result = await engine.call(look_call(), desk.alice)
    assert (result.status, result.notice) == ("ok", words)


async def test_a_canary_is_for_those_it_names_and_for_a_share(desk: Desk, open_desk: Any) -> None:
    """The same for each view and call of a run, and outside of runs for each caller."""
    engine: sh.Engine = await open_desk(look_tool(desk), look_tool(desk, "2.0.0", stage="canary"))

    async def version(caller: sh.Caller, run_id: str = "") -> str:
        view = await engine.view(caller, run_id=run_id)
        run = sh.RunStep(run_id=run_id, turn=0) if run_id else None
        result = await engine.call(look_call(), caller, run=run)
        assert [entry.version for entry in view.tools] == [result.version]
        return result.version or ""

    assert await version(desk.alice) == "1.0.0"
    await engine.control.canary("look", "2.0.0", roles=["support"], by=OLGA)
    assert (await version(desk.alice), await version(desk.mallory)) == ("2.0.0", "1.0.0")
    await engine.control.canary("look", "2.0.0", callers=["evil/alice"], by=OLGA)
    assert (await version(desk.alice), await version(desk.mallory)) == ("1.0.0", "2.0.0")
    await engine.control.canary("look", "2.0.0", percent=30, by=OLGA)
    runs = {f"run{n}": await version(desk.alice, f"run{n}") for n in range(40)}
    assert 0 < list(runs.values()).count("2.0.0") < 30
    assert {run: await version(desk.alice, run) for run in runs} == runs
    await engine.control.canary("look", "2.0.0", percent=60, by=OLGA)
    assert all([await version(desk.alice, run) == "2.0.0" for run, got in runs.items() if got == "2.0.0"])
    pinned = await engine.view(desk.alice, pins={"look": "2.0.0"}, run_id="x")
    await engine.control.canary("look", "2.0.0", percent=0, by=OLGA)
    assert (await engine.view(desk.alice, pins={"look": "2.0.0"}, run_id="x")).digest == pinned.digest
    with pytest.raises(sh.RegistryError, match="promote it to 'canary' first"):
        await engine.control.canary("look", "1.0.0", percent=5, by=OLGA)
    with pytest.raises(sh.RegistryError, match="from 0 to 100"):
        await engine.control.canary("look", "2.0.0", percent=101, by=OLGA)


async def test_a_canary_that_fails_is_halted_everywhere(desk: Desk, open_desk: Any) -> None:
    limits = sh.Limits(canary_calls=8, canary_error_share=0.5, control_poll_s=0.02)
    tools = (look_tool(desk), look_tool(desk, "2.0.0", fails=True, stage="canary"))
    here: sh.Engine = await open_desk(*tools, settings=sh.Settings(limits=limits))
    there: sh.Engine = await open_desk(*tools, settings=sh.Settings(limits=limits))
    await here.control.canary("look", "2.0.0", percent=100, by=OLGA)
    for n in range(4):
        assert (await here.call(look_call(f"c{n}"), desk.alice)).version == "2.0.0"

    async def halted() -> bool:
        return (await here.control.history("look", by=OLGA))[0].action == "halt"

    await until(halted)
    await until(lambda: there.registry.get("look", "2.0.0").spec.stage == "test")
    assert [(await one.call(look_call(), desk.mallory)).version for one in (here, there)] == ["1.0.0", "1.0.0"]
    newest = (await here.control.history("look", by=OLGA))[0]
    assert (newest.action, newest.was, newest.now, newest.by) == ("halt", "canary", "test", "surehand")
    assert newest.reason == "4 of its last 4 calls failed"
    assert [row.kind for row in await here.services.store.list_audit("")] == ["control.changed"]


async def test_an_alias_is_of_all_and_shadows_nothing(desk: Desk, open_desk: Any) -> None:
    here: sh.Engine = await open_desk(pay_tool(desk), look_tool(desk))
    await here.control.alias("find", "look", by=OLGA)
    for taken in ("pay", "Pay", "find", "look.undo", "Pay-undo", "search_tools", "search.tools"):
        with pytest.raises(sh.RegistryError) as refused:
            await here.control.alias(taken, "look", by=OLGA)
        assert refused.value.code == "alias_taken"
    there: sh.Engine = await open_desk(pay_tool(desk), look_tool(desk))
    found = sh.ToolCall(id="c", name="find", arguments={"order": "o"})
    assert (await there.call(found, desk.alice)).name == "look"

    @sh.tool(read_only=True)
    async def find(order: str) -> str:
        """Another tool, which has the name that was an alias."""
        return "its own"

    problems: list[Any] = []
    third = sh.open_engine(store=desk.url, tools=[look_tool(desk), find])
    third.on_event(lambda event: problems.append(event.data.get("problem")))
    async with third:
        assert (await third.call(found, desk.alice)).content == "its own"
    assert "the alias 'find' is left out: it is, or looks like, the tool 'find'" in problems


async def test_published_policies_hold_for_all_instead_of_the_files(desk: Desk, open_desk: Any) -> None:
    here: sh.Engine = await open_desk(pay_tool(desk))
    there: sh.Engine = await open_desk(pay_tool(desk), settings=SLOW)
    files = here.policies.digest
    assert await here.control.policy_versions(by=OLGA) == []
    await here.control.publish_policies([sh.PolicySource("p.cedar", NOBODY_PAYS)], by=OLGA, reason="stop")
    published = here.policies.digest
    # The other engine decided by its own files, was refused by the ledger, and decided anew.
    result = await there.call(pay_call(), desk.alice)
    assert (result.error and result.error.code, there.policies.digest) == ("TOOL_NOT_FOUND", published)
    third: sh.Engine = await open_desk(pay_tool(desk), policies=LARGE_ASKS)
    assert third.policies.digest == published
    await third.control.publish_policies([sh.PolicySource("p.cedar", LARGE_ASKS)], by=OLGA)
    await there.services.reload()
    assert (await there.call(pay_call(amount=50_000), desk.alice)).status == "pending"
    versions = await here.control.policy_versions(by=OLGA)
    assert [(one.digest == published, one.in_force, one.by) for one in versions] == [
        (False, True, "acme/olga"),
        (True, False, "acme/olga"),
    ]
    await here.control.rollback_policies(published[:12], by=OLGA)
    assert here.policies.digest == published
    with pytest.raises(sh.RegistryError, match="holds already"):
        await here.control.rollback_policies(published, by=OLGA)
    with pytest.raises(sh.NotFoundError, match="begins with 'xyz'"):
        await here.control.rollback_policies("xyz", by=OLGA)
    await here.control.rollback_policies("project", by=OLGA)
    assert here.policies.digest == files
    assert (await here.call(pay_call(9), desk.alice)).status == "ok"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('@id("a") forbid (principal, action == Action::"call/pya", resource);', "pay"),
        ('@id("surehand.admin") permit (principal in Role::"nobody", action == Action::"admin", resource);', "olga"),
    ],
    ids=["does-not-fit", "locks-its-publisher-out"],
)
async def test_policies_that_should_not_hold_are_not_published(
    desk: Desk, open_desk: Any, text: str, problem: str
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    before = engine.policies.digest
    with pytest.raises(sh.PolicyError, match=problem):
        await engine.control.publish_policies([sh.PolicySource("p.cedar", text)], by=OLGA)
    with pytest.raises(sh.NotAllowedError):
        await engine.control.publish_policies([sh.PolicySource("p.cedar", NOBODY_PAYS)], by=desk.alice)
    assert engine.policies.digest == before


async def test_the_projects_own_policies_do_not_lock_out_who_takes_them_back(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    await engine.control.publish_policies([sh.PolicySource("p.cedar", LARGE_ASKS)], by=OLGA)
    await engine.close()
    engine = await open_desk(pay_tool(desk), policies=NOBODY_PAYS.replace("call/pay", "admin"))
    published = engine.policies.digest
    with pytest.raises(sh.PolicyError, match="olga could not publish"):
        await engine.control.rollback_policies("project", by=OLGA)
    assert engine.policies.digest == published


async def test_what_is_published_for_one_tenant_holds_for_that_tenant_only(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=FOUR_EYES)
    meant = [sh.PolicySource("four-eyes", FOUR_EYES), sh.PolicySource("theirs", NOBODY_PAYS, tenant="evil")]
    asked = await engine.control.publish_policies(meant, by=OLGA)
    await engine.control.confirm(asked.change_id, by=OTTO)
    await engine.close()
    engine = await open_desk(pay_tool(desk))
    assert (await engine.call(pay_call(1), desk.alice)).status == "ok"
    assert (await engine.call(pay_call(2), desk.mallory)).is_error
    (version,) = await engine.control.policy_versions(by=OLGA)
    assert version.sources == tuple(meant)
    assert version.digest == engine.policies.digest
    back = await engine.control.rollback_policies("project", by=OLGA)
    await engine.control.confirm(back.change_id, by=OTTO)
    assert (await engine.call(pay_call(3), desk.mallory)).status == "ok"
    again = await engine.control.rollback_policies(version.digest, by=OLGA)
    assert again.status == "done"
    assert (await engine.call(pay_call(4), desk.alice)).status == "ok"
    assert (await engine.call(pay_call(5), desk.mallory)).is_error


async def test_a_second_person_confirms_what_policy_asks_about(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(look_tool(desk, stage="test"), pay_tool(desk), policies=FOUR_EYES)
    asked = await engine.control.promote("look", "1.0.0", to="canary", by=OLGA, reason="ready")
    assert (asked.status, [need.group for need in asked.needs]) == ("pending", ["security"])
    assert engine.registry.get("look", "1.0.0").spec.stage == "test"
    assert [one.change_id for one in await engine.control.pending(by=OTTO)] == [asked.change_id]
    assert await engine.control.pending(by=desk.alice) == []
    for who, code in ((OLGA, "not_entitled"), (desk.fiona, "not_entitled"), (desk.mallory, "not_found")):
        with pytest.raises(sh.ApprovalError) as refused:
            await engine.control.confirm(asked.change_id, by=who)
        assert refused.value.code == code
    done = await engine.control.confirm(asked.change_id, by=OTTO)
    assert (done.status, engine.registry.get("look", "1.0.0").spec.stage) == ("done", "canary")
    newest = (await engine.control.history("look", by=OLGA))[0]
    assert (newest.by, newest.confirmed_by) == ("acme/olga", ("otto",))
    with pytest.raises(sh.ApprovalError) as refused:
        await engine.control.confirm(asked.change_id, by=OTTO)
    assert refused.value.code == "already_decided"
    kinds = {row.kind for row in await engine.services.store.list_audit("acme")}
    assert {"control.asked", "control.decided", "control.changed"} == kinds
    # What only takes away does not wait.
    assert (await engine.control.kill(tool="pay", by=OLGA, reason="now")).status == "done"
    assert (await engine.control.disable("look", "1.0.0", by=OLGA, reason="now")).status == "done"
    assert (await engine.control.revive(tool="pay", by=OLGA)).status == "pending"


async def test_a_confirmed_change_starts_from_what_was_seen(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(look_tool(desk, stage="test"), policies=FOUR_EYES)
    promoted = await engine.control.promote("look", "1.0.0", to="canary", by=OLGA)
    asked = await engine.control.publish_policies([sh.PolicySource("p", LARGE_LOOK)], by=OLGA)
    rejected = await engine.control.reject(asked.change_id, by=OTTO, reason="too broad")
    assert rejected.status == "rejected"
    await engine.control.disable("look", "1.0.0", by=OLGA, reason="broken")
    with pytest.raises(sh.ApprovalError) as refused:
        await engine.control.confirm(promoted.change_id, by=OTTO)
    assert refused.value.code == "mismatch"
    assert engine.registry.list_versions("look")[0].stage == "disabled"
    assert await engine.control.pending(by=OTTO) == []


@dataclasses.dataclass
class Directory:
    """Says who people are now."""

    gone: set[str] = dataclasses.field(default_factory=set[str])
    roles: dict[str, list[str]] = dataclasses.field(default_factory=dict[str, list[str]])

    async def refresh(self, stored: sh.Caller, by: sh.Caller) -> sh.Caller | None:
        if stored.id in self.gone:
            return None
        return sh.Caller(id=stored.id, tenant=stored.tenant, roles=self.roles.get(stored.id, stored.roles))


@pytest.mark.parametrize("case", ["killed-again", "bound-elsewhere", "requester-gone", "requester-demoted"])
async def test_a_yes_is_for_what_was_asked_and_for_who_asked(desk: Desk, open_desk: Any, case: str) -> None:
    people = Directory()
    engine: sh.Engine = await open_desk(look_tool(desk, stage="test"), policies=FOUR_EYES, resolver=people)
    if case == "killed-again":
        await engine.control.kill(tool="look", by=OLGA, reason="off")
        asked = await engine.control.revive(tool="look", by=OLGA)
        await engine.control.kill(tool="look", by=OTTO, reason="off")  # the same words about another incident
    else:
        asked = await engine.control.promote("look", "1.0.0", to="canary", by=OLGA)
    if case == "bound-elsewhere":
        await engine.close()
        tool = look_tool(desk, stage="test")
        moved = dataclasses.replace(tool, spec=dataclasses.replace(tool.spec, target="elsewhere:look"))
        engine = await open_desk(moved, policies=FOUR_EYES)
    elif case == "requester-gone":
        people.gone.add("olga")
    elif case == "requester-demoted":
        people.roles["olga"] = ["auditor"]
    with pytest.raises(sh.ApprovalError) as refused:
        await engine.control.confirm(asked.change_id, by=OTTO)
    assert refused.value.code == "mismatch"
    assert engine.registry.list_versions("look")[0].stage == "test"
    assert len(await engine.control.kills(by=OLGA)) == (case == "killed-again")


async def test_a_version_that_was_halted_meanwhile_is_asked_about_again(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(look_tool(desk, stage="test"), policies=FOUR_EYES)
    asked = await engine.control.promote("look", "1.0.0", to="canary", by=OLGA)
    await engine.control.disable("look", "1.0.0", by=OTTO, reason="it leaks")
    oda, ole = (sh.Caller(id=name, tenant="other", roles=["admin", "security"]) for name in ("oda", "ole"))
    back = await engine.control.promote("look", "1.0.0", to="test", by=oda)
    await engine.control.confirm(back.change_id, by=ole)
    with pytest.raises(sh.ApprovalError, match="has changed"):  # it is at test again, for another reason
        await engine.control.confirm(asked.change_id, by=OTTO)


LARGE_LOOK = '@id("x") forbid (principal, action == Action::"call/look", resource);'


async def test_rows_that_somebody_changed_stop_effects(desk: Desk, open_desk: Any) -> None:
    """A kill that is deleted from the database, or moved to another tool, does not bring the effect back."""
    engine: sh.Engine = await open_desk(pay_tool(desk), look_tool(desk))
    await engine.control.kill(tool="pay", by=OLGA, reason="stop")
    await engine.close()
    with sqlite3.connect(desk.folder / "surehand.db") as database:
        database.execute("DELETE FROM surehand_control WHERE kind = 'kill'")
    with pytest.raises(sh.StoreError, match="somebody changed the database"):
        await open_desk(pay_tool(desk), look_tool(desk))
    with sqlite3.connect(desk.folder / "surehand.db") as database:
        database.execute("UPDATE surehand_control_head SET revision = 1")
        database.execute("UPDATE surehand_control SET name = 'look@2.0.0' WHERE name = 'look@1.0.0'")
    with pytest.raises(sh.StoreError):
        await open_desk(pay_tool(desk), look_tool(desk))


async def test_many_changes_at_once_are_all_made(desk: Desk, open_desk: Any) -> None:
    here: sh.Engine = await open_desk(pay_tool(desk))
    there: sh.Engine = await open_desk(pay_tool(desk))
    await asyncio.gather(
        *((here, there)[n % 2].control.kill(agent=f"bot{n}", by=OLGA, reason="test") for n in range(8))
    )
    await until(lambda: len(here.services.world.kills.reasons) == len(there.services.world.kills.reasons) == 8)
    assert len(await here.control.kills(by=OLGA)) == 8
