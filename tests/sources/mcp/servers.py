"""Real MCP servers for the tests of the client: by the SDK's server, or raw where a server misbehaves."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import textwrap
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn

import surehand as sh
from surehand.ports import SystemClock
from surehand.sources import Keeper, Pins, SourceSettings, make_source

ALICE = sh.Caller(id="alice", tenant="acme", roles=["auditor"], scopes=["shop:use"])

RAW = """
import json, os, sys, time
FOLDER = os.path.dirname(os.path.abspath(__file__))
def note(what):
    with open(os.path.join(FOLDER, "seen.jsonl"), "a") as file:
        file.write(json.dumps(what) + "\\n")
def send(message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})
def error(request, code, message):
    send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})
def tool(name, **more):
    return {"name": name, "description": name + "s.", "inputSchema": {"type": "object"}, **more}
TOOLS = []
def listed(request):
    answer(request, {"tools": TOOLS})
def called(request):
    answer(request, {"content": [{"type": "text", "text": "done"}]})
def other(message):
    pass
def begin():
    pass
%s
begin()
for line in sys.stdin:
    message = json.loads(line)
    note(message)
    method = message.get("method")
    if method == "initialize":
        answer(message, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                         "serverInfo": {"name": "raw", "version": "1"}})
    elif method == "tools/list":
        listed(message)
    elif method == "tools/call":
        called(message)
    elif "id" in message and method:
        error(message, -32601, "there is no " + method)
    else:
        other(message)
"""


class Raw:
    """A server that is a script of a test's own: what it does differently, and what it was sent."""

    def __init__(self, folder: Path, body: str) -> None:
        folder.mkdir(exist_ok=True)
        self.file = folder / "server.py"
        self.file.write_text(RAW % textwrap.dedent(body), encoding="utf-8")
        self._seen = folder / "seen.jsonl"

    @property
    def settings(self) -> SourceSettings:
        return command(self.file)

    def seen(self, method: str) -> list[dict[str, Any]]:
        """What it was sent under a method, in order, by all processes of it."""
        if not self._seen.exists():
            return []
        lines = [json.loads(line) for line in self._seen.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if line.get("method") == method]


def command(file: Path, *arguments: str, **more: Any) -> SourceSettings:
    """Settings for a server that is a Python file."""
    more.setdefault("approve", "always")
    return SourceSettings(kind="mcp", command=(sys.executable, str(file), *arguments), **more)


@asynccontextmanager
async def served(app: Any) -> AsyncGenerator[str]:
    """Serves an ASGI application on the loopback; gives where."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1, lifespan="on"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


@asynccontextmanager
async def kept(
    folder: Path, *, pins: Pins | None = None, tools: Sequence[sh.Tool] = (), **sources: SourceSettings
) -> AsyncGenerator[sh.Engine]:
    """An engine whose keeper keeps these sources."""
    engine = sh.open_engine(store="sqlite://", tools=tools)
    services = engine.services
    keeper = Keeper(
        [make_source(name, settings, folder) for name, settings in sources.items()],
        engine.registry,
        pins or Pins(),
        mark=services.mark_absent,
        problem=lambda where, text: services.emit("engine.problem", where=where, problem=text),
        clock=SystemClock(),
        waits_s=(0.05,),
    )
    services.sources = lambda: keeper.statuses
    services.attendants.append(keeper)
    async with engine:
        yield engine


async def names(engine: sh.Engine, caller: sh.Caller = ALICE) -> list[str]:
    """The names of the view."""
    return [one.name for one in (await engine.view(caller)).tools]


async def call(engine: sh.Engine, name: str, key: str = "k1", **arguments: Any) -> sh.ToolResult:
    """A call that needs nobody's yes, or a confirmed one."""
    result = await engine.call(sh.ToolCall(id="c1", name=name, arguments=arguments), ALICE, idempotency_key=key)
    if result.status == "pending" and result.approval_id is not None:
        await engine.approvals.approve(result.approval_id, by=ALICE)
        return await engine.resume(result.call_id, by=ALICE)
    return result


def code(result: sh.ToolResult) -> str | None:
    """Of its error, if it has one."""
    return None if result.error is None else result.error.code
