"""A person changes the arguments of a waiting call: the same call, another question."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import surehand as sh
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool

FINANCE = ("finance", "approver")
NEVER_EVE = """
@id("never-eve") @reason("eve is not paid") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.to == "eve" };
"""


def member(id: str, *roles: str, tenant: str = "acme") -> sh.Caller:
    return sh.Caller(id=id, tenant=tenant, roles=roles or FINANCE)


def args(to: str = "bob", no: int = 1, amount: int = 40_000) -> dict[str, Any]:
    return {"to": to, "no": no, "amount": amount}


async def asked(
    desk: Desk, open_desk: Any, policies: str = ASK_FINANCE, **tool: Any
) -> tuple[sh.Engine, sh.ToolResult]:
    engine: sh.Engine = await open_desk(pay_tool(desk, **tool), policies=policies)
    return engine, await engine.call(pay_call(amount=50_000), desk.alice)


def four_eyes(engine: sh.Engine) -> None:
    @engine.hook("tool.pre")
    def two(call: sh.Proposed) -> sh.AskPerson:
        return sh.AskPerson("finance", "four eyes", quorum=2)


async def code_of(work: Any) -> str:
    with pytest.raises(sh.ApprovalError) as refused:
        await work
    return refused.value.code


async def test_the_editors_yes_counts_and_the_model_is_told(desk: Desk, open_desk: Any) -> None:
    engine, waiting = await asked(desk, open_desk)
    old: Any = waiting.approval_id
    made = await engine.approvals.edit(old, args(), by=desk.fiona, reason="too much")
    assert (made.status, made.revision, made.edited_by, made.arguments) == ("approved", 2, "fiona", args())
    assert made.written == args(amount=50_000)
    assert (made.call_id, made.approval_id != old) == (waiting.call_id, True)
    assert (await engine.approvals.get(old, by=desk.fiona)).status == "edited"
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert (result.status, result.edited_by, result.call_id) == ("ok", "fiona", waiting.call_id)
    assert (
        result.content == "A person changed the arguments of this call: amount from 50000 to 40000.\npaid 40000 to bob"
    )
    assert desk.done == [("pay", "bob", 1, 40_000)]
    assert (await engine.resume(waiting.call_id, by=desk.alice)).content == result.content
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    (edited,) = (step.text for step in story.steps if step.kind == "approval.edited")
    assert edited.startswith("fiona changed amount: too much")
    rows = {row.kind: row.body for row in await engine.services.store.list_audit("acme", call_id=waiting.call_id)}
    assert b'"before":{' in rows["approval.edited"]


async def test_earlier_yeses_are_void_and_a_quorum_goes_on(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    four_eyes(engine)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    old: Any = waiting.approval_id
    await engine.approvals.approve(old, by=member("frank"))
    made = await engine.approvals.edit(old, changes={"amount": 40_000}, by=desk.fiona)
    assert (made.status, made.approved_by, made.progress[0].have) == ("open", ("fiona",), 1)
    assert await code_of(engine.approvals.approve(old, by=member("fred"))) == "already_decided"
    assert (await engine.resume(waiting.call_id, by=desk.alice)).approval_id == made.approval_id
    assert await code_of(engine.approvals.approve(made.approval_id, by=desk.fiona)) == "already_decided"
    done = await engine.approvals.approve(made.approval_id, by=member("frank"))
    assert done.status == "approved"
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [("pay", "bob", 1, 40_000)]


async def test_where_policy_asks_nobody_about_the_new_arguments_the_editors_yes_is_enough(
    desk: Desk, open_desk: Any
) -> None:
    engine, waiting = await asked(desk, open_desk)
    made = await engine.approvals.edit(waiting.approval_id or "", changes={"amount": 900}, by=desk.fiona)
    assert made.status == "approved"
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [("pay", "bob", 1, 900)]


async def test_an_editor_whom_the_new_question_does_not_ask_has_no_yes_in_it(desk: Desk, open_desk: Any) -> None:
    legal = ASK_FINANCE.replace("large", "to-law").replace("finance", "legal").replace("amount > 10000", 'to == "law"')
    engine, waiting = await asked(desk, open_desk, ASK_FINANCE + legal)
    made = await engine.approvals.edit(waiting.approval_id or "", args("law", amount=900), by=desk.fiona)
    assert (made.status, made.approved_by, [need.group for need in made.needs]) == ("open", (), ["legal"])
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "pending"
    await engine.approvals.approve(made.approval_id, by=member("lena", "legal"))
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"


REFUSED = [
    pytest.param({"arguments": args("eve")}, "denied", "eve is not paid", id="a-deny-goes-to-the-editor"),
    pytest.param({"arguments": {"to": "bob"}}, "invalid", "required", id="not-valid"),
    pytest.param({"changes": {"amount": "much"}}, "invalid", "amount", id="of-the-wrong-type"),
    pytest.param({"changes": {"amount": 50_000}}, "invalid", "would run already", id="nothing-changes"),
    pytest.param({"changes": {"tenant_id": "evil"}}, "invalid", "tenant_id", id="injected"),
    pytest.param({"changes": {"to": "[redacted]"}}, "invalid", "stands for a secret", id="a-redacted-value"),
    pytest.param({"changes": {"to": "zed"}}, "invalid", "no such account", id="the-tools-own-check"),
    pytest.param({"changes": {"amount": 1}, "arguments": args()}, "invalid", "pass arguments, or changes", id="both"),
    pytest.param({}, "invalid", "pass arguments, or changes", id="neither"),
    pytest.param({"changes": {"amount": 1}, "by": "alice"}, "not_entitled", "", id="the-requester"),
    pytest.param({"changes": {"amount": 1}, "by": "frank"}, "not_entitled", "", id="another-role"),
    pytest.param({"changes": {"amount": 1}, "by": "mallory"}, "not_found", "", id="another-tenant"),
    pytest.param({"changes": {"amount": 1}, "digest": "x"}, "mismatch", "", id="another-version-than-seen"),
]


@pytest.mark.parametrize(("given", "code", "words"), REFUSED)
async def test_what_is_refused_leaves_the_original_as_it_was(
    desk: Desk, open_desk: Any, given: dict[str, Any], code: str, words: str
) -> None:
    from typing import Annotated

    def check(arguments: dict[str, Any]) -> None:
        if arguments["to"] == "zed":
            raise sh.BusinessError("no such account")

    @sh.tool(permissions=["pay"], key=["to", "no"], check=check)
    async def pay(to: str, no: int, amount: int, *, tenant_id: Annotated[str, sh.Injected("tenant")]) -> str:
        """Pays an amount in cents."""
        desk.done.append((to, no, amount, tenant_id))
        return "paid"

    engine: sh.Engine = await open_desk(pay, policies=ASK_FINANCE + NEVER_EVE)
    people = {"fiona": desk.fiona, "alice": member("alice"), "frank": member("frank", "x"), "mallory": desk.mallory}
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    before = await engine.approvals.get(waiting.approval_id or "", by=desk.fiona)
    given = dict(given)
    by = people[given.pop("by", "fiona")]
    with pytest.raises(sh.ApprovalError) as refused:
        await engine.approvals.edit(before.approval_id, given.pop("arguments", None), by=by, **given)
    assert refused.value.code == code
    assert words in str(refused.value)
    assert await engine.approvals.get(before.approval_id, by=desk.fiona) == before
    await engine.approvals.approve(before.approval_id, by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [("bob", 1, 50_000, "acme")]


@pytest.mark.parametrize("changes", ["amount", ["amount"], 7])
async def test_an_edit_that_is_no_object_is_refused(desk: Desk, open_desk: Any, changes: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk, risk="high"))
    waiting = await engine.call(pay_call(), desk.alice)
    with pytest.raises(sh.ApprovalError, match="are objects of name and value"):
        await engine.approvals.edit(waiting.approval_id or "", changes=changes, by=desk.fiona)


async def test_the_key_of_another_call_is_a_conflict_for_the_editor(desk: Desk, open_desk: Any) -> None:
    engine, waiting = await asked(desk, open_desk)
    other = await engine.call(pay_call(no=2, amount=700), desk.alice)
    assert other.status == "ok"
    asking: Any = waiting.approval_id
    with pytest.raises(sh.ApprovalError, match=other.call_id) as refused:
        await engine.approvals.edit(asking, args(no=2), by=desk.fiona)
    assert refused.value.code == "conflict"
    assert (await engine.approvals.get(asking, by=desk.fiona)).status == "open"


async def test_the_new_key_is_held_and_the_old_one_is_free(desk: Desk, open_desk: Any) -> None:
    engine, waiting = await asked(desk, open_desk)
    await engine.approvals.edit(waiting.approval_id or "", args(no=7), by=desk.fiona)
    again = await engine.call(pay_call(no=7, amount=40_000, id="c2"), desk.alice)
    assert (again.status, again.call_id) == ("pending", waiting.call_id)
    other = await engine.call(pay_call(no=7, amount=1, id="c3"), desk.alice)
    assert other.error is not None
    assert other.error.code == "IDEMPOTENCY_CONFLICT"
    assert (await engine.call(pay_call(no=1, amount=300, id="c4"), desk.alice)).status == "ok"
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    assert desk.done == [("pay", "bob", 1, 300), ("pay", "bob", 7, 40_000)]
    # back and forth: a key that a call had before is its own again
    third = await engine.call(pay_call(no=20, amount=50_000), desk.alice)
    four_eyes(engine)
    for no in (21, 20, 21):
        current = (await engine.resume(third.call_id, by=desk.alice)).approval_id
        made = await engine.approvals.edit(current or "", args(no=no), by=desk.fiona)
    assert (made.revision, made.status) == (4, "open")


async def test_the_models_call_made_again_is_still_this_call(desk: Desk, open_desk: Any) -> None:
    """A run whose process died makes its call again, as the model wrote it."""
    engine, _ = await asked(desk, open_desk)
    step = sh.RunStep(run_id="r1", turn=0)
    waiting = await engine.call(pay_call(no=5, amount=50_000), desk.alice, run=step)
    await engine.approvals.edit(waiting.approval_id or "", args(no=6), by=desk.fiona)
    again = await engine.call(pay_call(no=5, amount=50_000), desk.alice, run=step)
    assert (again.status, again.call_id) == ("pending", waiting.call_id)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    last = await engine.call(pay_call(no=5, amount=50_000), desk.alice, run=step)
    assert (last.call_id, last.replayed, last.status) == (waiting.call_id, True, "ok")
    assert desk.done == [("pay", "bob", 6, 40_000)]
    elsewhere = await engine.call(pay_call(no=5, amount=60), desk.alice, run=sh.RunStep(run_id="r2", turn=0))
    assert elsewhere.call_id != waiting.call_id


async def test_an_application_that_sends_its_key_again_finds_the_call(desk: Desk, open_desk: Any) -> None:
    engine, _ = await asked(desk, open_desk, key=[])
    waiting = await engine.call(pay_call(amount=50_000), desk.alice, idempotency_key="order-1")
    await engine.approvals.edit(waiting.approval_id or "", args(), by=desk.fiona)
    assert (await engine.resume(waiting.call_id, by=desk.alice)).status == "ok"
    again = await engine.call(pay_call(amount=50_000), desk.alice, idempotency_key="order-1")
    assert (again.replayed, again.edited_by) == (True, "fiona")
    assert len(desk.done) == 1


async def test_policy_as_of_the_resume_holds_for_edited_arguments(desk: Desk, open_desk: Any) -> None:
    engine, waiting = await asked(desk, open_desk)
    await engine.approvals.edit(waiting.approval_id or "", args("eve"), by=desk.fiona)
    await engine.close()
    stricter: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE + NEVER_EVE)
    result = await stricter.resume(waiting.call_id, by=desk.alice)
    assert (result.status, desk.done) == ("denied", [])


async def test_secrets_of_an_edit_reach_nobody(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["user"], risk="high")
    async def rotate(user: str, password: sh.Secret) -> str:
        """Sets a password."""
        desk.done.append((user, password.reveal()))
        return "rotated"

    engine: sh.Engine = await open_desk(rotate)
    call = sh.ToolCall(id="c1", name="rotate", arguments={"user": "bob", "password": "first-hunter2-secret"})
    waiting = await engine.call(call, desk.alice)
    made = await engine.approvals.edit(
        waiting.approval_id or "", changes={"password": "other-hunter3-secret"}, by=desk.fiona, reason="weak"
    )
    kept = (
        await engine.approvals.edit(made.approval_id, changes={"user": "bo"}, by=desk.fiona)
        if made.status == "open"
        else made
    )
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert result.status == "ok"
    assert desk.done == [("bob", "other-hunter3-secret")]
    rows = await engine.services.store.list_audit("acme", call_id=waiting.call_id)
    said = repr((made, kept, result, [row.body for row in rows]))
    assert "hunter" not in said
    assert "changed the arguments" in result.content


@pytest.mark.parametrize("other", ["edit", "approve", "reject", "withdraw", "answer"])
async def test_of_an_edit_and_another_answer_at_once_one_counts(desk: Desk, open_desk: Any, other: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    second: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    frank = member("frank")
    for no in range(8):
        waiting = await engine.call(pay_call(no, amount=50_000), desk.alice)
        asking: Any = waiting.approval_id
        against = {
            "edit": lambda a=asking: second.approvals.edit(a, changes={"amount": 30_000}, by=frank),
            "approve": lambda a=asking: second.approvals.approve(a, by=frank),
            "reject": lambda a=asking: second.approvals.reject(a, by=frank),
            "withdraw": lambda a=asking: second.approvals.withdraw(a, by=desk.alice),
            "answer": lambda a=asking: second.approvals.answer(a, "done by hand", by=frank),
        }[other]
        both = [engine.approvals.edit(asking, changes={"amount": 40_000}, by=desk.fiona), against()]
        ended = await asyncio.gather(*(both if no % 2 else reversed(both)), return_exceptions=True)
        lost = [one for one in ended if isinstance(one, sh.ApprovalError)]
        assert [one.code for one in lost] == ["already_decided"], ended
        result = await engine.resume(waiting.call_id, by=desk.alice)
        ran = [amount for _, _, n, amount in desk.done if n == no]
        (won,) = (one for one in ended if not isinstance(one, BaseException))
        amount = won.arguments["amount"] if won.status == "approved" else None
        assert ran == ([] if amount is None else [amount])
        assert result.status == ("ok" if ran else "denied" if other == "reject" else "cancelled")
