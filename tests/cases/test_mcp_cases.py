"""Faults that clients of MCP servers really had. Each test has the id of its case in its name.

By HTTP, and by the SDK's own server: `tests/sources/mcp/test_http.py`.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from tests.desk import until
from tests.sources.mcp.servers import ALICE, Raw, call, code, command, kept, names

DB_DOWN = [{"type": "text", "text": "db down"}]


ROWS = {"type": "object", "properties": {"rows": {"type": "integer"}}, "required": ["rows"]}


@pytest.mark.parametrize(
    ("result", "status", "wanted", "shown"),
    [
        ({"isError": True, "content": DB_DOWN}, "error", "TOOL_BUSINESS_ERROR", "db down"),
        (
            {"isError": True, "content": DB_DOWN, "structuredContent": {"code": 7}},
            "error",
            "TOOL_BUSINESS_ERROR",
            "db down",
        ),
        ({"isError": False, "content": [], "structuredContent": {"rows": "x"}}, "ok", "TOOL_OUTPUT_INVALID", "$.rows"),
        ({"content": DB_DOWN, "structuredContent": {"rows": 3}}, "ok", None, "db down"),
    ],
)
async def test_C33_an_error_result_is_shown_and_never_held_against_the_output_schema(
    tmp_path: Path, result: dict[str, Any], status: str, wanted: str | None, shown: str
) -> None:
    raw = Raw(
        tmp_path / "raw",
        f"""
        TOOLS = [tool("count", outputSchema=json.loads({json.dumps(ROWS)!r}))]
        def called(request):
            answer(request, json.loads({json.dumps(result)!r}))
        """,
    )
    async with kept(tmp_path, db=raw.settings) as engine:
        got = await call(engine, "mcp__db_count")
        assert (got.status, code(got)) == (status, wanted)
        assert got.is_error is (wanted is not None)
        assert shown in got.content
        if status == "error":
            assert "schema" not in got.content
            assert got.error is not None
            assert got.error.details == ({"structured": {"code": 7}} if "structuredContent" in result else {})


LOSES = """
TOOLS = [tool("charge"), tool("get", annotations={"readOnlyHint": True}), tool("typo")]
def called(request):
    name = request["params"]["name"]
    if name == "typo":
        return error(request, -32602, "no such account")
    earlier = [json.loads(line) for line in open(os.path.join(FOLDER, "seen.jsonl"))]
    times = sum(one.get("method") == "tools/call" and one["params"]["name"] == name for one in earlier)
    if name == "charge" or times == 1:
        os._exit(3)
    answer(request, {"content": [{"type": "text", "text": "got it"}]})
"""


async def test_C34_a_lost_answer_is_unknown_and_only_a_read_is_asked_for_again(tmp_path: Path) -> None:
    raw = Raw(tmp_path / "raw", LOSES)
    read = command(raw.file, read_only=("get",))
    async with kept(tmp_path, shop=read) as engine:

        def asked(name: str) -> int:
            return sum(one["params"]["name"] == name for one in raw.seen("tools/call"))

        charged = await call(engine, "mcp__shop_charge")
        assert (charged.status, code(charged), asked("charge")) == ("unknown", "TOOL_OUTCOME_UNKNOWN", 1)
        assert "Do not call it again" in charged.content
        got = await call(engine, "mcp__shop_get")  # by a new session, and by another one
        assert (got.status, got.content, asked("get")) == ("ok", "got it", 2)
        sessions = len(raw.seen("initialize"))
        wrong = await call(engine, "mcp__shop_typo")
        assert (wrong.status, code(wrong), asked("typo")) == ("error", "TOOL_BUSINESS_ERROR", 1)
        assert "no such account" in wrong.content
        await asyncio.sleep(0.3)  # longer than changes are gathered
        assert len(raw.seen("initialize")) == sessions
        assert asked("charge") == 1


PAGES = """
PAGES = {None: (["t1", "t2"], "p2"), "p2": (["t3"], "p3"), "p3": (["t4"], None)}
LOOP = %r
def listed(request):
    cursor = (request.get("params") or {}).get("cursor")
    found, after = (["t1"], "p2") if LOOP else PAGES[cursor]
    answer(request, {"tools": [tool(name) for name in found], **({"nextCursor": after} if after else {})})
"""


@pytest.mark.parametrize(
    ("loop", "found", "requests", "notes"),
    [(False, ["t1", "t2", "t3", "t4"], 3, 0), (True, ["t1"], 2, 1)],
)
async def test_C35_all_pages_are_read_and_a_circle_ends(
    tmp_path: Path, loop: bool, found: list[str], requests: int, notes: int
) -> None:
    raw = Raw(tmp_path / "raw", PAGES % loop)
    async with kept(tmp_path, shop=raw.settings) as engine:
        assert await names(engine) == [f"mcp__shop_{name}" for name in found]
        assert len(raw.seen("tools/list")) == requests
        assert len(engine.services.sources()[0].notes) == notes


NOISE = """
TOOLS = [tool("echo")]
def shout():
    sys.stderr.write("x" * 256 * 1024 + "\\n"); sys.stderr.flush()
def begin():
    shout()
def called(request):
    if request["params"]["arguments"].get("die"):
        sys.stderr.write("the key " + os.environ["SHOP_KEY"] + " has run out\\n"); sys.stderr.flush()
        os._exit(7)
    shout()
    sys.stdout.write("debug: not a message\\n\\n[1]\\n{\\"jsonrpc\\": \\n\\xff\\n")
    answer(request, {"content": [{"type": "text", "text": str(sorted(os.environ))}]})
"""


async def test_C37_stderr_is_drained_and_its_end_is_shown_when_the_server_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "sk-abc-123456")
    monkeypatch.setenv("OTHER_SECRET", "s3cret")
    raw = Raw(tmp_path / "raw", NOISE)
    raw.file.write_text(
        raw.file.read_text(encoding="utf-8").replace(
            '{"type": "object"}', '{"type": "object", "properties": {"die": {}}}'
        )
    )
    began = time.monotonic()
    async with kept(tmp_path, shop=command(raw.file, environment=("SHOP_KEY",))) as engine:
        told: list[str] = []
        engine.on_event(lambda event: told.append(str(event.data.get("problem", ""))))
        result = await call(engine, "mcp__shop_echo")
        assert time.monotonic() - began < 5
        assert "'SHOP_KEY'" in result.content
        assert "OTHER_SECRET" not in result.content
        died = await call(engine, "mcp__shop_echo", key="k2", die=True)
        assert died.status == "unknown"
        await until(lambda: any("exit code 7" in one for one in told))
        (why,) = {one for one in told if "exit code 7" in one and "source" not in one}
        assert why.endswith("the key *** has run out")
        assert len(why) < 3000
        assert "sk-abc" not in str(told)
        await until(lambda: engine.services.sources()[0].state == "ready")


async def test_C38_two_servers_with_one_tool_are_two_tools(tmp_path: Path) -> None:
    @sh.tool(name="mail_a_send", read_only=True)
    async def own() -> str:
        """Sends by the project's own means."""
        return "own"

    raws = {name: Raw(tmp_path / name, 'TOOLS = [tool("send")]') for name in ("mail_a", "mail_b")}
    policy = '@id("no-b") forbid (principal, action == Action::"call/mcp__mail_b_send", resource);'
    async with kept(tmp_path, tools=[own], mail_a=raws["mail_a"].settings, mail_b=raws["mail_b"].settings) as engine:
        assert await names(engine) == ["mail_a_send", "mcp__mail_a_send", "mcp__mail_b_send"]
        assert (await call(engine, "mcp__mail_a_send")).status == "ok"
        ((sent,), others) = (raws[name].seen("tools/call") for name in ("mail_a", "mail_b"))
        assert (sent["params"]["name"], others) == ("send", [])
        draft = [sh.PolicySource("no-b.cedar", policy)]
        await engine.control.publish_policies(draft, by=sh.Caller(id="root", tenant="acme", roles=["admin"]))
        assert await names(engine) == ["mail_a_send", "mcp__mail_a_send"]


async def test_C67_null_is_left_out_where_the_schema_refuses_it(tmp_path: Path) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "after": {"type": "string"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "opt": {"type": "object"},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["q"],
    }
    raw = Raw(tmp_path / "raw", f"TOOLS = [dict(tool('find'), inputSchema=json.loads({json.dumps(schema)!r}))]")
    async with kept(tmp_path, shop=raw.settings) as engine:
        (entry,) = (await engine.view(ALICE)).tools
        assert json.dumps(entry.spec.parameters) == json.dumps(schema)
        result = await call(engine, "mcp__shop_find", q="x", after=None, note=None, opt={"k": None})
        assert result.status == "ok"
        (sent,) = raw.seen("tools/call")
        assert sent["params"]["arguments"] == {"q": "x", "note": None, "opt": {"k": None}}
        refused = await call(engine, "mcp__shop_find", key="k2", q=None)
        assert code(refused) == "TOOL_ARGUMENT_INVALID"
        assert len(raw.seen("tools/call")) == 1


CHANGES = """
STATE = os.path.join(FOLDER, "changed")
def listed(request):
    if os.path.exists(STATE):
        schema = {"type": "object", "properties": {"to": {}}, "required": ["to"]}
        return answer(request, {"tools": [dict(tool("t1"), inputSchema=schema), tool("t3")]})
    answer(request, {"tools": [tool("t1"), tool("t2")]})
def called(request):
    open(STATE, "w").close()
    for _ in range(10):
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    time.sleep(0.5)
    answer(request, {"content": [{"type": "text", "text": "ended normally"}]})
"""


async def test_C68_a_changed_list_is_read_again_in_the_midst_of_a_call(tmp_path: Path) -> None:
    raw = Raw(tmp_path / "raw", CHANGES)
    async with kept(tmp_path, shop=raw.settings) as engine:
        before = {entry.name: entry.spec.version for entry in (await engine.view(ALICE)).tools}
        assert list(before) == ["mcp__shop_t1", "mcp__shop_t2"]
        running = await call(engine, "mcp__shop_t1")
        assert running.content == "ended normally"
        await until(lambda: any("t3" in one for one in engine.services.sources()[0].offered))
        after = {entry.name: entry.spec.version for entry in (await engine.view(ALICE)).tools}
        assert list(after) == ["mcp__shop_t1", "mcp__shop_t3"]
        assert after["mcp__shop_t1"] != before["mcp__shop_t1"]
        assert len(raw.seen("tools/list")) <= 3  # the first, and at most two for the burst
        gone = await call(engine, "mcp__shop_t2", key="k2")
        assert code(gone) == "TOOL_UNAVAILABLE"
        assert "does not offer it now" in gone.content
        assert len(raw.seen("tools/call")) == 1


SLEEPS = """
TOOLS = [tool("sleep")]
def called(request):
    send({"jsonrpc": "2.0", "method": "notifications/progress",
          "params": {"progressToken": request["params"]["_meta"]["progressToken"],
                     "progress": 1, "total": 4, "message": "asleep"}})
    WAITING.append(request)
WAITING = []
def other(message):
    if message.get("method") == "notifications/cancelled":
        answer(WAITING[0], {"content": [{"type": "text", "text": "too late"}]})
        TOOLS[:] = [tool("awake")]
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
"""


@pytest.mark.parametrize("ends", ["timeout", "cancel"])
async def test_C65_a_call_that_is_given_up_is_cancelled_at_the_server_once(tmp_path: Path, ends: str) -> None:
    raw = Raw(tmp_path / "raw", SLEEPS)
    settings = command(raw.file, read_only=("*",), timeout_s=0.4 if ends == "timeout" else 30.0)
    async with kept(tmp_path, shop=settings) as engine:
        said: list[str] = []
        engine.on_event(lambda event: said.append(event.data["text"]) if event.kind == "call.progress" else None)
        task = asyncio.create_task(call(engine, "mcp__shop_sleep"))
        await until(lambda: raw.seen("tools/call"))
        if ends == "timeout":
            assert code(await task) == "TOOL_TIMEOUT"
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await until(lambda: raw.seen("notifications/cancelled"))
        assert said == ["asleep (1 of 4)"]
        # The late answer is dropped, and the session goes on.
        await until(lambda: any("awake" in one for one in engine.services.sources()[0].offered))
        (sent,) = raw.seen("tools/call")
        (cancelled,) = raw.seen("notifications/cancelled")
        assert cancelled["params"]["requestId"] == sent["id"]
        assert len(raw.seen("initialize")) == 1
