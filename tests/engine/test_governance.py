"""The ten rules on the path of `engine.call`, where no other file has them yet."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Annotated, Any

import apsw
import pytest

import surehand as sh
from surehand.ports import Claim, Move
from surehand.storage import SqlStore, open_store
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until


async def test_a_hidden_tool_and_a_missing_one_look_alike(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    nobody = sh.Caller(id="nina", tenant="acme")
    view = await engine.view(nobody)
    assert (view.names, list(view.hidden)) == ((), ["pay"])
    assert "pay" in view.hidden["pay"].why
    hidden = await engine.call(pay_call(), nobody)
    missing = await engine.call(sh.ToolCall(id="c1", name="pax", arguments={}), nobody)
    assert hidden.content.replace("`pay`", "") == missing.content.replace("`pax`", "")
    assert (hidden.error and hidden.error.code) == (missing.error and missing.error.code) == "TOOL_NOT_FOUND"


async def test_an_ask_is_listed_and_marked(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk, risk="high"))
    (entry,) = (await engine.view(desk.alice)).tools
    assert [ask.group for ask in entry.asks] == ["approver"]


async def test_versions_are_pinned_by_name(desk: Desk, open_desk: Any) -> None:
    old, new = pay_tool(desk), pay_tool(desk, version="2.0.0", permissions=["pay", "pay:new"])
    engine: sh.Engine = await open_desk(old, new)
    current = await engine.call(pay_call(1), desk.alice)
    assert current.error is not None  # the current version needs a permission that alice lacks
    pinned = await engine.call(sh.ToolCall(id="c", name="pay@1.0.0", arguments=pay_call(2).arguments), desk.alice)
    assert (pinned.status, pinned.version) == ("ok", "1.0.0")


async def test_a_changed_registry_is_seen_at_once(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    engine.registry.register(pay_tool(desk, name="pay_twice"))
    assert (await engine.view(desk.alice)).names == ("pay", "pay_twice")
    assert engine.registry.list_allowed(desk.alice).names == ("pay", "pay_twice")
    engine.registry.disable("pay")
    assert (await engine.view(desk.alice)).names == ("pay_twice",)
    assert (await engine.view(desk.alice)).hidden["pay"].reason == "disabled"


async def test_a_tool_that_policies_do_not_fit_is_held_back(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)

    @sh.tool(name="pay", version="2.0.0", permissions=["pay"])
    async def pay_words(to: str, amount: str) -> str:
        """Pays an amount in words."""
        return "paid"

    engine.registry.replace(pay_words)
    (entry,) = (await engine.view(desk.alice)).tools
    assert entry.version == "1.0.0"


class Hook(sh.Interceptor):
    """Notes what it saw, and does what it is told."""

    def __init__(self, name: str, log: list[Any], before: Any = None, after: Any = None) -> None:
        self.name, self._log, self._before, self._after = name, log, before, after

    async def before(self, call: sh.Proposed) -> Any:
        self._log.append(f"before {self.name}")
        return await _do(self._before, call)

    async def after(self, call: sh.Proposed, result: sh.ToolResult) -> Any:
        self._log.append(f"after {self.name}")
        return await _do(self._after, call)


async def _do(what: Any, call: sh.Proposed) -> Any:
    if isinstance(what, Exception):
        raise what
    if what == "hang":
        await asyncio.sleep(60)
    if callable(what):
        return what(call)
    return what


def spoil(call: sh.Proposed) -> None:
    call.arguments["amount"] = 1
    call.arguments["to"] = "mallory"


@pytest.mark.parametrize(
    ("before", "after", "code", "log"),
    [
        pytest.param(None, None, None, "before a, before b, after b, after a", id="pass"),
        pytest.param(sh.Block("no"), None, "HOOK_BLOCKED", "before a, before b, after b, after a", id="block"),
        pytest.param(ValueError("x"), None, "HOOK_BLOCKED", "before a, before b, after a", id="raises"),
        pytest.param("hang", None, "HOOK_BLOCKED", "before a, before b, after a", id="hangs"),
        pytest.param("yes", None, "HOOK_BLOCKED", "before a, before b, after a", id="not-a-verdict"),
        pytest.param(spoil, None, None, "before a, before b, after b, after a", id="own-copy"),
        pytest.param(
            None, sh.Withhold("x"), "TOOL_OUTPUT_INVALID", "before a, before b, after b, after a", id="withhold"
        ),
        pytest.param(
            None, ValueError("x"), "TOOL_OUTPUT_INVALID", "before a, before b, after b, after a", id="after-raises"
        ),
        pytest.param(None, "hang", "TOOL_OUTPUT_INVALID", "before a, before b, after b, after a", id="after-hangs"),
        pytest.param(None, sh.Rewrite("short"), None, "before a, before b, after b, after a", id="rewrite"),
    ],
)
async def test_interceptors_in_order_and_in_reverse(
    desk: Desk, open_desk: Any, before: Any, after: Any, code: str | None, log: str
) -> None:
    seen: list[Any] = []
    hooks = [Hook("a", seen), Hook("b", seen, before, after)]
    limits = sh.Settings(limits=sh.Limits(hook_timeout_s=0.05))
    engine: sh.Engine = await open_desk(pay_tool(desk), interceptors=hooks, settings=limits)
    result = await engine.call(pay_call(), desk.alice)
    assert (result.error.code if result.error else None) == code
    assert ", ".join(seen) == log
    ran = before is None or before is spoil
    assert desk.done == ([("pay", "bob", 1, 500)] if ran else [])
    if code == "TOOL_OUTPUT_INVALID":
        assert (result.status, "bob" in result.content) == ("ok", False)
        replayed = await engine.call(pay_call(), desk.alice)
        assert (replayed.content, len(desk.done)) == (result.content, 1)
    if isinstance(after, sh.Rewrite):
        assert result.content == "short"


async def test_modified_arguments_are_validated_and_authorized(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    changes: dict[str, Any] = {}

    @engine.hook("tool.pre")
    def change(call: sh.Proposed) -> sh.Modify:
        return sh.Modify({**call.arguments, **changes})

    changes["amount"] = 50_000
    assert (await engine.call(pay_call(1), desk.alice)).status == "pending"
    changes["amount"] = "lots"
    assert (await engine.call(pay_call(2), desk.alice)).status == "error"
    changes["tenant_id"] = "t2"
    assert (await engine.call(pay_call(3), desk.alice)).status == "error"
    assert desk.done == []


async def test_a_secret_under_a_wrong_name_is_not_recorded(desk: Desk, open_desk: Any) -> None:
    @sh.tool(key=["no"])
    async def login(no: int, password: sh.Secret) -> str:
        """Logs in."""
        return "in"

    engine: sh.Engine = await open_desk(login)
    arguments = {"no": 1, "passcode": "zebra horse 99"}
    result = await engine.call(sh.ToolCall(id="c1", name="login", arguments=arguments), desk.alice)
    assert result.error is not None
    assert result.error.code == "TOOL_ARGUMENT_INVALID"
    story = await engine.audit.story(result.call_id, by=desk.alice)
    assert story.facts["arguments"] == {"no": 1, "passcode": "[redacted]"}
    assert "zebra" not in f"{result} {story}"


async def test_a_secret_that_a_hook_put_right_is_not_shown_as_it_was_written(desk: Desk, open_desk: Any) -> None:
    @sh.tool(permissions=["pay"], requires_approval=True, key=["no"])
    async def login(no: int, password: sh.Secret) -> str:
        """Logs in. Never says with what."""
        return f"{no}: {password.reveal()}"

    engine: sh.Engine = await open_desk(login)

    @engine.hook("tool.pre")
    def put_right(call: sh.Proposed) -> sh.Modify:
        written = dict(call.arguments)
        return sh.Modify({"no": written["no"], "password": written["pasword"].strip().upper()})

    asked = await engine.call(
        sh.ToolCall(id="c", name="login", arguments={"no": 1, "pasword": " hunter2-and-more"}), desk.alice
    )
    assert asked.approval_id is not None
    seen = await engine.approvals.get(asked.approval_id, by=desk.fiona)
    assert seen.written == {"no": 1, "pasword": "[redacted]"}
    rows = await engine.services.store.list_audit("acme")
    assert "hunter2" not in repr((seen, rows)).lower()


async def test_a_hook_cannot_change_the_contract(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    tried: list[bool] = []

    @engine.hook("tool.pre")
    def widen(call: sh.Proposed) -> None:
        for change in (
            lambda: call.spec.parameters["properties"].update(password={"type": "string"}),
            lambda: call.spec.parameters["required"].clear(),
            lambda: call.spec.injected.update(to="caller.id"),  # pyright: ignore[reportAttributeAccessIssue]
        ):
            with pytest.raises(TypeError, match="a contract cannot be changed"):
                change()
            tried.append(True)

    assert (await engine.call(pay_call(), desk.alice)).status == "ok"
    assert len(tried) == 3
    (seen,) = (await engine.view(desk.alice)).tools
    with pytest.raises(TypeError, match="a contract cannot be changed"):
        seen.spec.parameters["required"].append("more")


async def test_secrets_have_no_way_out(desk: Desk, open_desk: Any) -> None:
    secret = "hunter2-and-more"

    @sh.tool(requires_approval=True, key=["no"])
    async def login(no: int, password: Annotated[str, _write_only()]) -> dict[str, str]:
        """Logs in."""
        desk.done.append(password)
        return {"url": f"https://u:{secret}@host/", "note": "in"}

    engine: sh.Engine = await open_desk(login)
    events: list[sh.Event] = []
    engine.on_event(events.append)
    waiting = await engine.call(sh.ToolCall(id="c1", name="login", arguments={"no": 1, "password": secret}), desk.alice)
    assert waiting.approval_id is not None
    shown = await engine.approvals.get(waiting.approval_id, by=desk.fiona)
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert desk.done == [secret]
    rows = await engine.services.store.list_audit(desk.alice.tenant)
    await engine.close()
    assert secret not in str([shown, result, events])
    assert not any(secret.encode() in row.body for row in rows)
    on_disk = b"".join(file.read_bytes() for file in desk.folder.iterdir())
    assert secret.encode() not in on_disk


def _write_only() -> Any:
    from pydantic import Field

    return Field(json_schema_extra={"writeOnly": True})


class FailingStore(SqlStore):
    """The real store, of which some writes fail."""

    failing: frozenset[str] = frozenset()

    def claim(self, claim: Claim) -> Awaitable[Any]:
        return self._or_fail("claim", super().claim(claim) if "claim" not in self.failing else None)

    def move(self, move: Move) -> Awaitable[bool]:
        return self._or_fail("move", super().move(move) if "move" not in self.failing else None)

    def record(self, rows: Any) -> Awaitable[None]:
        return self._or_fail("record", super().record(rows) if "record" not in self.failing else None)

    async def _or_fail(self, name: str, work: Awaitable[Any] | None) -> Any:
        if work is None:
            raise sh.StoreError(f"{name} failed")
        return await work


async def test_without_a_record_there_is_no_effect(desk: Desk, open_desk: Any) -> None:
    store = FailingStore(open_store(desk.url)._driver)
    engine: sh.Engine = await open_desk(pay_tool(desk), store=store, settings=_keys(desk))
    store.failing = frozenset({"claim"})
    result = await engine.call(pay_call(), desk.alice)
    assert (result.error and result.error.code, desk.done) == ("TOOL_UNAVAILABLE", [])
    store.failing = frozenset()
    assert (await engine.call(pay_call(), desk.alice)).status == "ok"


async def test_an_outcome_that_cannot_be_stored_is_settled_when_the_store_is_back(desk: Desk, open_desk: Any) -> None:
    store = FailingStore(open_store(desk.url)._driver)
    settings = _keys(desk, lease_s=0.15)
    engine: sh.Engine = await open_desk(pay_tool(desk), store=store, settings=settings)
    store.failing = frozenset({"move"})
    result = await engine.call(pay_call(), desk.alice)
    assert (result.status, len(desk.done)) == ("unknown", 1)
    store.failing = frozenset()

    async def settled() -> bool:
        return (await engine.resume(result.call_id, by=desk.alice)).status == "ok"

    await until(settled)
    again = await engine.call(pay_call(), desk.alice)
    assert (again.status, again.content, len(desk.done)) == ("ok", "paid 500 to bob", 1)


async def test_a_read_that_cannot_be_recorded_is_not_given(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def read() -> str:
        """Reads."""
        return "secret"

    store = FailingStore(open_store(desk.url)._driver)
    settings = sh.Settings(keys=str(desk.folder / "keys"), read_only_records="before")
    engine: sh.Engine = await open_desk(read, store=store, settings=settings)
    store.failing = frozenset({"record"})
    result = await engine.call(sh.ToolCall(id="c1", name="read"), desk.alice)
    assert (result.error and result.error.code, "secret" in result.content) == ("TOOL_UNAVAILABLE", False)


async def test_large_results_become_artifacts(desk: Desk, open_desk: Any) -> None:
    @sh.tool(read_only=True)
    async def dump() -> str:
        """Dumps much."""
        return "a" * 30_000 + "z" * 30_000

    @sh.tool(read_only=True)
    async def picture() -> sh.Output:
        """Draws."""
        return sh.Output(text="a picture", attachments=(sh.Attachment(body=b"\x89PNG", media_type="image/png"),))

    engine: sh.Engine = await open_desk(dump, picture)
    text = await engine.call(sh.ToolCall(id="c1", name="dump"), desk.alice)
    assert len(text.content) < 21_000
    assert text.content.startswith("a")
    assert text.content.endswith("z")
    (artifact,) = text.artifacts
    assert artifact.id in text.content
    _, body = await engine.artifacts.get(artifact.id, by=desk.alice)
    assert (len(body), artifact.size_bytes) == (60_000, 60_000)
    for other in (desk.mallory, desk.fiona):
        with pytest.raises(sh.NotFoundError):
            await engine.artifacts.get(artifact.id, by=other)
    image = await engine.call(sh.ToolCall(id="c2", name="picture"), desk.alice)
    assert "image/png" in image.content
    assert (await engine.artifacts.get(image.artifacts[0].id, by=desk.alice))[1] == b"\x89PNG"


@pytest.mark.parametrize(
    ("returned", "code", "content"),
    [
        pytest.param({"total": 3}, None, '{"total":3}', id="as-promised"),
        pytest.param({"total": "three"}, "TOOL_OUTPUT_INVALID", None, id="wrong-type"),
        pytest.param({}, "TOOL_OUTPUT_INVALID", None, id="missing"),
        pytest.param(object(), "TOOL_OUTPUT_INVALID", None, id="no-json"),
    ],
)
async def test_output_is_checked_and_the_effect_kept(
    desk: Desk, open_desk: Any, returned: Any, code: str | None, content: str | None
) -> None:
    spec = sh.ToolSpec(
        name="count",
        description="Counts.",
        output_schema={"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]},
    )

    async def count() -> Any:
        desk.done.append(1)
        return returned

    engine: sh.Engine = await open_desk(sh.bind_tool(spec, count))
    result = await engine.call(sh.ToolCall(id="c1", name="count"), desk.alice, idempotency_key="k")
    assert (result.status, result.error.code if result.error else None) == ("ok", code)
    assert content is None or result.content == content
    again = await engine.call(sh.ToolCall(id="c1", name="count"), desk.alice, idempotency_key="k")
    assert (again.replayed, again.content, desk.done) == (True, result.content, [1])


async def test_business_rules_are_checked_before_anything_happens(desk: Desk, open_desk: Any) -> None:
    def enough(arguments: dict[str, Any]) -> None:
        if arguments["amount"] > 100:
            raise sh.BusinessError("the account holds 100", details={"left": 100})

    engine: sh.Engine = await open_desk(pay_tool(desk, check=enough))
    result = await engine.call(pay_call(amount=500), desk.alice)
    assert (result.status, result.content) == ("error", "the account holds 100")
    assert result.error is not None
    assert result.error.details == {"left": 100}
    assert (await engine.call(pay_call(amount=50), desk.alice)).status == "ok"


async def test_what_the_audit_keeps_of_a_call(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    step = sh.RunStep(run_id="run7", turn=3, position=1)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice, run=step)
    assert waiting.approval_id is not None
    await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
    await engine.resume(waiting.call_id, by=desk.alice)
    rows = await engine.services.store.list_audit("acme", call_id=waiting.call_id)
    assert [row.kind for row in rows] == [
        "call.waiting", "approval.decided", "call.started", "call.settled", "call.finished",
    ]  # fmt: skip
    started = json.loads(rows[2].body)
    for field in (
        "tool_call_id", "contract_hash", "binding_hash", "args_hash", "view_digest", "policy_set", "key", "digest",
    ):  # fmt: skip
        assert started[field], field
    assert (started["run_id"], started["step_index"], started["position"]) == ("run7", 3, 1)
    assert (started["name"], started["version"], started["caller"]["id"]) == ("pay", "1.0.0", "alice")
    assert started["decision"]["policies"] == ["large"]
    finished = json.loads(rows[4].body)
    assert finished["status"] == "ok"
    assert finished["result_ref"]
    story = await engine.audit.story(waiting.call_id, by=desk.alice)
    assert (story.status, story.attempts, story.answers[0].approver) == ("ok", 1, "fiona")


@pytest.mark.parametrize("forged", ["status", "vote", "requester", "digest"])
async def test_a_yes_written_into_the_database_runs_nothing(desk: Desk, open_desk: Any, forged: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    waiting = await engine.call(pay_call(amount=50_000), desk.alice)
    other = await engine.call(pay_call(2, amount=99_000), desk.alice)
    assert other.approval_id is not None
    await engine.approvals.approve(other.approval_id, by=desk.fiona)
    call = f"call_id = '{waiting.call_id}'"
    yes = [
        f"update surehand_approvals set status = 'approved' where {call}",
        f"update surehand_calls set status = 'ready' where {call}",
    ]
    mine, theirs = f"'{waiting.approval_id}'", f"'{other.approval_id}'"
    forge = {
        "status": [],
        "vote": [f"update surehand_votes set approval_id = {mine} where approval_id = {theirs}"],
        "requester": [
            f"update surehand_votes set approval_id = {mine} where approval_id = {theirs}",
            f"update surehand_approvals set requester = 'x' where {call}",
        ],
        "digest": [
            f"update surehand_votes set approval_id = {mine} where approval_id = {theirs}",
            f"update surehand_approvals set digest = (select digest from surehand_approvals where "
            f"approval_id = {theirs}) where {call}",
        ],
    }
    _execute(desk, *yes, *forge[forged])
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert (result.error and result.error.code, desk.done) == ("APPROVAL_STALE", [])


@pytest.mark.parametrize("attack", ["edit", "delete", "swap", "cut"])
async def test_the_chain_shows_what_was_done_to_the_database(desk: Desk, open_desk: Any, attack: str) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    for no in range(3):
        await engine.call(pay_call(no), desk.alice)
    await engine.close()
    _tamper(desk, attack)
    again: sh.Engine = await open_desk(pay_tool(desk))
    (report,) = await again.audit.verify()
    assert not report.ok
    assert report.findings


def _tamper(desk: Desk, attack: str) -> None:
    statements = {
        "edit": "update surehand_audit set body = replace(body, 'alice', 'bobby') where seq = 2",
        "delete": "delete from surehand_audit where seq = 4",
        "swap": "update surehand_audit set seq = 1000 where seq = 2; update surehand_audit set seq = 2 where seq = 3; "
        "update surehand_audit set seq = 3 where seq = 1000",
        "cut": "delete from surehand_audit where seq > 5; delete from surehand_checkpoints where seq > 5; "
        "update surehand_audit_heads set seq = 5, chain = (select chain from surehand_audit where seq = 5)",
    }
    _execute(desk, *statements[attack].split("; "))


def _execute(desk: Desk, *statements: str) -> None:
    """What somebody does who can write the database."""
    db: Any = apsw.Connection(str(desk.folder / "surehand.db"))
    for statement in statements:
        before = db.total_changes()
        db.execute(statement)
        assert db.total_changes() > before, statement
    db.close()


def _keys(desk: Desk, **limits: Any) -> sh.Settings:
    return sh.Settings(keys=str(desk.folder / "keys"), limits=sh.Limits(**limits))
