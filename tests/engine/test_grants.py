"""Standing answers: who may give which, what they lift, and when they stop."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import surehand as sh
from surehand.storage import open_store
from surehand.testing import FakeClock
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool

ASK_LEGAL = ASK_FINANCE.replace('"large"', '"legal"').replace('"finance"', '"legal"')
ASK_SELF = ASK_FINANCE.replace('"large"', '"sure"').replace('"finance"', '"self"')
SMALL = {"amount": {"at_most": 60_000}}


def person(id: str, *roles: str, tenant: str = "acme") -> sh.Caller:
    return sh.Caller(id=id, tenant=tenant, roles=roles)


def to_alice(*policies: str, tool: str = "pay") -> sh.Grantee:
    return sh.Grantee(caller="alice", tool=tool, policies=policies or ("large",))


async def give(engine: sh.Engine, by: sh.Caller, **given: Any) -> sh.GrantInfo:
    asked: Any = {"to": to_alice(), "uses": 2, "expires_s": 60, "where": SMALL, **given}
    return await engine.grants.give(by=by, **asked)


async def large(engine: sh.Engine, desk: Desk, no: int, amount: int = 50_000, **call: Any) -> sh.ToolResult:
    return await engine.call(pay_call(no, amount, **call), desk.alice)


async def test_a_grant_lets_calls_through_and_every_use_is_told(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    events: list[sh.Event] = []
    engine.on_event(events.append)
    granted = await give(engine, desk.fiona, reason="monthly rent")
    assert (granted.status, granted.giver, granted.uses, granted.used) == ("open", "fiona", 2, 0)
    results = [await large(engine, desk, no) for no in (1, 2, 3)]
    assert [one.status for one in results] == ["ok", "ok", "pending"]
    assert len(desk.done) == 2
    story = await engine.audit.story(results[0].call_id, by=desk.alice)
    assert [(one.grant_id, one.giver) for one in story.granted] == [(granted.grant_id, "fiona")]
    assert [step.text for step in story.steps if step.kind == "grant.used"] == [
        f"granted by fiona ({granted.grant_id})"
    ]
    assert story.decision == "ask"
    assert [event.kind for event in events if event.kind.startswith("grant.")] == ["grant.given"] + ["grant.used"] * 2
    seen = await engine.grants.get(granted.grant_id, by=desk.alice)
    assert (seen.status, seen.used, seen.reason) == ("used_up", 2, "monthly rent")
    again = await large(engine, desk, 1)
    assert (again.status, again.replayed) == ("ok", True)


async def test_racing_calls_never_use_a_grant_too_often(desk: Desk, open_desk: Any) -> None:
    engines = [await open_desk(pay_tool(desk), policies=ASK_FINANCE) for _ in range(2)]
    await give(engines[0], desk.fiona, uses=3)
    results = await asyncio.gather(*(large(engines[no % 2], desk, no) for no in range(8)))
    assert sorted(one.status for one in results) == ["ok"] * 3 + ["pending"] * 5
    assert len(desk.done) == 3


@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param({}, "ok", id="as-it-was-meant"),
        pytest.param({"where": {}}, "ok", id="any-arguments"),
        pytest.param({"where": {"amount": {"at_most": 49_999}}}, "pending", id="too-much"),
        pytest.param({"where": {"amount": {"at_least": 50_001}}}, "pending", id="too-little"),
        pytest.param({"where": {"to": {"equals": "bob"}, "no": {"one_of": [1, 2]}}}, "ok", id="these"),
        pytest.param({"where": {"to": {"equals": "eve"}}}, "pending", id="another"),
        pytest.param({"where": {"no": {"one_of": [True, "1"]}}}, "pending", id="true-is-not-one"),
        pytest.param({"to": sh.Grantee(caller="bob", tool="pay", policies=("large",))}, "pending", id="another-caller"),
        pytest.param(
            {"to": sh.Grantee(caller="alice", tool="pay", policies=("large",), agent="bot")}, "pending", id="agent"
        ),
        pytest.param(
            {"to": sh.Grantee(caller="alice", tool="pay", policies=("large",), environment="test")},
            "pending",
            id="environment",
        ),
    ],
)
async def test_what_a_grant_is_bound_to(desk: Desk, open_desk: Any, change: dict[str, Any], status: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await give(engine, desk.fiona, **change)
    assert (await large(engine, desk, 1)).status == status
    assert len(desk.done) == (status == "ok")


@pytest.mark.parametrize(
    ("who", "policies", "code"),
    [
        pytest.param(person("sam", "support"), ASK_FINANCE, "not_entitled", id="another-role"),
        pytest.param(person("alice", "finance"), ASK_FINANCE, "not_entitled", id="the-requester-for-a-role"),
        pytest.param(person("fiona", "finance"), ASK_SELF, "not_entitled", id="self-by-another"),
        pytest.param(person("alice"), ASK_SELF, None, id="self-by-the-requester"),
        pytest.param(
            person("fiona", "finance"),
            ASK_FINANCE
            + '@id("never") forbid (principal, action == Action::"approve", resource) when { resource.risk == "low" };',
            "not_entitled",
            id="policy-says-no",
        ),
    ],
)
async def test_who_may_give(desk: Desk, open_desk: Any, who: sh.Caller, policies: str, code: str | None) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=policies)
    to = to_alice("sure" if policies is ASK_SELF else "large")
    if code is None:
        await give(engine, who, to=to)
        assert (await large(engine, desk, 1)).status == "ok"
        return
    with pytest.raises(sh.ApprovalError) as refused:
        await give(engine, who, to=to)
    assert refused.value.code == code
    assert (await large(engine, desk, 1)).status == "pending"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({"uses": 0}, "uses must be a whole number above 0", id="no-use"),
        pytest.param({"uses": 10**9}, "at most 1000", id="too-many-uses"),
        pytest.param({"uses": True}, "uses must be", id="uses-is-no-number"),
        pytest.param({"expires_s": float("nan")}, "expires_s must be", id="never-expires"),
        pytest.param({"expires_s": 1e9}, "expires_s must be a number above 0", id="expires-too-late"),
        pytest.param(
            {"where": {"amuont": {"at_most": 1}}}, "no argument 'amuont'; there are amount, no, to", id="typo"
        ),
        pytest.param({"where": {"to.name": {"equals": "x"}}}, "no argument 'to.name'", id="member-of-a-string"),
        pytest.param({"where": {"amount": {"below": 1}}}, "there is no 'below'", id="comparison"),
        pytest.param({"where": {"amount": {}}}, "not empty", id="empty"),
        pytest.param({"where": {"amount": {"at_most": "1"}}}, "must be a number", id="at-most-a-string"),
        pytest.param({"where": None}, "{} stands for any arguments", id="nothing"),
        pytest.param({"where": {"to": {"equals": ["bob"]}}}, "name a member", id="list"),
        pytest.param({"to": to_alice("lagre")}, "no policy 'lagre'", id="policy"),
        pytest.param({"to": to_alice("surehand.scopes")}, "no policy 'surehand.scopes'", id="asks-nobody"),
        pytest.param({"to": None}, "from_approval=ID, or to=", id="for-nothing"),
        pytest.param({"from_approval": "apr_1"}, "from_approval=ID, or to=", id="for-two-things"),
        pytest.param({"to": to_alice(tool="pya")}, "there is no tool 'pya'", id="tool"),
    ],
)
async def test_what_cannot_be_given(desk: Desk, open_desk: Any, change: dict[str, Any], says: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    with pytest.raises(sh.ApprovalError, match=says.replace("(", r"\(").replace("{}", r"\{\}")):
        await give(engine, desk.fiona, **change)
    assert await engine.grants.list(by=desk.fiona) == []


async def test_what_cannot_be_taken_back_is_asked_each_time(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk, idempotency="irreversible"), policies=ASK_FINANCE)
    waiting = await large(engine, desk, 1)
    for given in ({"to": to_alice()}, {"to": None, "from_approval": waiting.approval_id}):
        with pytest.raises(sh.ApprovalError, match="cannot be taken back") as refused:
            await give(engine, desk.fiona, **given)
        assert refused.value.code == "not_grantable"


async def test_grants_of_several_people_lift_what_several_policies_ask(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE + ASK_LEGAL)
    lena = person("lena", "legal")
    first = await give(engine, desk.fiona, to=to_alice("large", "legal"))
    assert [need.group for need in first.needs] == ["finance"]
    assert (await large(engine, desk, 1)).status == "pending"
    assert (await engine.grants.get(first.grant_id, by=desk.fiona)).used == 0
    second = await give(engine, lena, to=to_alice("legal"))
    done = await large(engine, desk, 2)
    assert done.status == "ok"
    story = await engine.audit.story(done.call_id, by=desk.alice)
    assert {one.grant_id for one in story.granted} == {first.grant_id, second.grant_id}


async def test_approve_and_remember(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await large(engine, desk, 1)
    granted = await give(engine, desk.fiona, to=None, from_approval=waiting.approval_id)
    assert (granted.tool, granted.caller, granted.used) == ("pay", "alice", 0)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert (await large(engine, desk, 2)).status == "ok"
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    assert ([one.approver for one in story.answers], story.granted) == (["fiona"], ())
    refused = await large(engine, desk, 3, 70_000)
    assert refused.approval_id is not None
    await engine.approvals.reject(refused.approval_id, by=desk.fiona, reason="no")
    with pytest.raises(sh.ApprovalError, match="no yes to remember"):
        await give(engine, desk.fiona, to=None, from_approval=refused.approval_id)
    with pytest.raises(sh.ApprovalError) as foreign:
        await give(engine, desk.mallory, to=None, from_approval=waiting.approval_id)
    assert foreign.value.code == "not_found"


async def test_the_decision_on_exactly_this_call_beats_a_grant(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waits, refused = await large(engine, desk, 1), await large(engine, desk, 2)
    granted = await give(engine, desk.fiona, uses=9)
    assert refused.approval_id is not None
    await engine.approvals.reject(refused.approval_id, by=desk.fiona, reason="not this one")
    again = [await large(engine, desk, no) for no in (1, 2, 3)]
    assert [one.status for one in again] == ["pending", "pending", "ok"]
    assert again[0].approval_id == waits.approval_id
    assert again[1].approval_id != refused.approval_id
    assert (await engine.grants.get(granted.grant_id, by=desk.fiona)).used == 1


@pytest.mark.parametrize("what", ["revoked", "expired", "policy", "binding"])
async def test_a_grant_ends(desk: Desk, open_desk: Any, what: str) -> None:
    clock = FakeClock()
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, clock=clock)
    granted = await give(engine, desk.fiona)
    status = {"policy": "void", "binding": "void"}.get(what, what)
    if what == "revoked":
        await engine.grants.revoke(granted.grant_id, by=desk.fiona)
    elif what == "expired":
        clock.advance(60)
    else:
        await engine.close()
        policies = ASK_FINANCE.replace("10000", "20000") if what == "policy" else ASK_FINANCE
        changes: dict[str, Any] = {"binding": {"runner": "inline"}}
        engine = await open_desk(pay_tool(desk, **changes.get(what, {})), policies=policies, clock=clock)
    assert (await engine.grants.get(granted.grant_id, by=desk.fiona)).status == status
    assert (await large(engine, desk, 1)).status == "pending"
    assert desk.done == []


async def test_who_may_end_it(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    granted = await give(engine, desk.fiona)
    sam, ann = person("sam", "support"), person("ann", "auditor")
    for who, code in ((sam, "not_found"), (ann, "not_entitled"), (desk.mallory, "not_found")):
        with pytest.raises(sh.ApprovalError) as refused:
            await engine.grants.revoke(granted.grant_id, by=who)
        assert refused.value.code == code
    assert [len(await engine.grants.list(by=who)) for who in (desk.fiona, desk.alice, ann, sam)] == [1, 1, 1, 0]
    ended = await engine.grants.revoke(granted.grant_id, by=person("finn", "finance"))
    assert (ended.status, ended.revoked_by) == ("revoked", "finn")
    with pytest.raises(sh.ApprovalError, match="revoked already"):
        await engine.grants.revoke(granted.grant_id, by=desk.fiona)
    kinds = [row.kind for row in await engine.audit.list(by=ann)]
    assert kinds == ["grant.revoked", "grant.given"]


class Directory:
    """Who people are today."""

    def __init__(self) -> None:
        self.known: dict[str, sh.Caller | None] = {}

    async def refresh(self, stored: sh.Caller, by: sh.Caller) -> sh.Caller | None:
        found = self.known.get(stored.id, stored)
        if isinstance(found, sh.Caller) and found.id == "fault":
            raise RuntimeError("the directory is away")
        return found


@pytest.mark.parametrize(
    ("now", "status"),
    [
        pytest.param(person("fiona", "finance"), "ok", id="still-there"),
        pytest.param(person("fiona", "support"), "pending", id="has-lost-the-role"),
        pytest.param(None, "pending", id="has-left"),
        pytest.param(person("other", "finance"), "pending", id="is-somebody-else"),
        pytest.param(person("fault"), "pending", id="nobody-knows"),
    ],
)
async def test_the_giver_is_looked_up_at_each_use(
    desk: Desk, open_desk: Any, now: sh.Caller | None, status: str
) -> None:
    directory = Directory()
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, resolver=directory)
    await give(engine, desk.fiona)
    directory.known["fiona"] = now
    assert (await large(engine, desk, 1)).status == status


async def test_policy_is_asked_about_the_giver_at_each_use(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    await give(engine, desk.fiona)
    await engine.close()
    no_more = (
        '@id("no-more") forbid (principal, action == Action::"approve", resource) when { resource.risk == "low" };'
    )
    engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE + no_more)
    assert (await large(engine, desk, 1)).status == "pending"


async def test_a_damaged_grant_hides_no_other(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    damaged, kept = await give(engine, desk.fiona), await give(engine, desk.fiona)
    outside = open_store(desk.url)
    await outside.open()
    change = f"UPDATE surehand_grants SET terms = x'00' WHERE grant_id = '{damaged.grant_id}'"
    await outside._writer.submit(lambda tx: getattr(tx, "connection").execute(change))  # noqa: B009
    await outside.close()
    assert [one.grant_id for one in await engine.grants.list(by=desk.fiona)] == [kept.grant_id]
    assert (await large(engine, desk, 1)).status == "ok"


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param({"uses": 99}, id="more-uses"),
        pytest.param({"expires_us": 2**60}, id="longer"),
        pytest.param({"caller": "alice"}, id="for-somebody-else"),
        pytest.param({"seal": "0" * 64}, id="made-up"),
    ],
)
async def test_a_grant_written_into_the_database_lifts_nothing(
    desk: Desk, open_desk: Any, forged: dict[str, Any]
) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    to = sh.Grantee(caller="bob" if "caller" in forged else "alice", tool="pay", policies=("large",))
    granted = await give(engine, desk.fiona, to=to)
    store = engine.services.store
    stored = await store.get_grant("acme", granted.grant_id)
    assert stored is not None
    await engine.grants.revoke(granted.grant_id, by=desk.fiona)
    outside = open_store(desk.url)
    await outside.open()
    copy = msgspec.structs.replace(stored, grant_id="grt_forged" if "seal" in forged else stored.grant_id, **forged)
    if copy.grant_id == stored.grant_id:
        await outside._writer.submit(
            lambda tx: getattr(tx, "connection").execute("DELETE FROM surehand_grants")  # noqa: B009
        )
    rows = await outside.list_audit("acme")
    assert await outside.add_grant(copy, most=9, audit=msgspec.structs.replace(rows[0], row_id="forged"))
    await outside.close()
    assert (await large(engine, desk, 1)).status == "pending"
    assert desk.done == []


async def test_the_number_of_grants_is_bounded(desk: Desk, open_desk: Any) -> None:
    limits = sh.Limits(open_grants=1)
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=sh.Settings(limits=limits))
    await give(engine, desk.fiona)
    with pytest.raises(sh.ApprovalError, match="revoke some"):
        await give(engine, desk.fiona)
    waiting = await large(engine, desk, 1, 90_000)
    assert waiting.approval_id is not None
    with pytest.raises(sh.ApprovalError, match="revoke some"):
        await give(engine, desk.fiona, to=None, from_approval=waiting.approval_id)
    assert (await engine.approvals.get(waiting.approval_id, by=desk.fiona)).status == "open"


async def test_a_grant_whose_yes_came_too_late_is_none(desk: Desk, open_desk: Any) -> None:
    """Of a grant and a no to its question at once, both never hold."""
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    for no in range(8):
        waiting = await large(engine, desk, no, 50_000 + no)
        assert waiting.approval_id is not None
        given, refused = await asyncio.gather(
            give(engine, desk.fiona, to=None, from_approval=waiting.approval_id, where={"no": {"equals": no}}),
            engine.approvals.reject(waiting.approval_id, by=person("frank", "finance")),
            return_exceptions=True,
        )
        assert isinstance(given, sh.ApprovalError) is not isinstance(refused, sh.ApprovalError)
        newest = await engine.grants.list(by=desk.fiona)
        assert ("open" in [one.status for one in newest if str(no) in str(one.where)]) is (given == newest[:1][0])


async def test_a_grant_for_what_a_hook_asks(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    ask = [sh.AskPerson("legal", "a second look")]

    @engine.hook("tool.pre")
    def second_look(call: sh.Proposed) -> sh.AskPerson:
        return ask[-1]

    lena = person("lena", "legal")
    waiting = await large(engine, desk, 1)
    await give(engine, lena, to=None, from_approval=waiting.approval_id)
    assert (await large(engine, desk, 2)).status == "ok"
    ask.append(sh.AskPerson("legal", "another look"))
    assert (await large(engine, desk, 3)).status == "pending"
