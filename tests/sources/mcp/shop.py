"""A server by the SDK, of both protocol eras: a program when it is run, an application when it is imported."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError


@dataclass
class Shop:
    """The server, and what it did."""

    server: MCPServer = field(default_factory=lambda: MCPServer("shop", version="1"))
    done: list[str] = field(default_factory=list[str])
    era: str = ""

    def __post_init__(self) -> None:
        @self.server.tool()
        async def count(of: str, to: int = 3) -> dict[str, int]:
            """Counts."""
            self.done.append(f"count {of}")
            return {of: to}

        @self.server.tool()
        async def refuse() -> dict[str, int]:
            """Fails."""
            raise ToolError("the shelf is empty")

        @self.server.tool()
        async def sleep(ctx: Context) -> str:
            """Sleeps."""
            await ctx.report_progress(1, 4, "asleep")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.done.append("woken")
                raise
            return "slept"

        @self.server.tool()
        async def grow(ctx: Context) -> str:
            """Gets another tool."""
            self.server.add_tool(self._more, name="more", description="More.")
            await ctx.notify_tools_changed()
            await ctx.session.send_tool_list_changed()
            return "grown"

    async def _more(self) -> str:
        return "more"

    def app(
        self, *, era: str = "both", token: str = "", drop: list[str] | None = None, instead: Any = None, **more: Any
    ) -> Any:
        """Its HTTP application.

        Args:
            era: `old` refuses the newer one, as servers do that do not know it.
            token: What must be in the header `x-token`.
            drop: Names of tools whose next call has its effect and is not answered; each is taken out.
            instead: Answers to calls, which never arrive then: status, content type, body; each is taken out.
            more: For the SDK.
        """
        inner = self.server.streamable_http_app(**more)

        async def serve(
            scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
        ) -> None:
            if scope["type"] != "http":
                return await inner(scope, receive, send)
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            version = headers.get("mcp-protocol-version", "")
            if token and headers.get("x-token") != token:
                return await _plain(send, 401)
            if era == "old" and version.startswith("2026"):
                return await _plain(send, 400)
            self.era = version or self.era
            body = await _body(receive)
            if instead and b'"tools/call"' in body:
                return await _plain(send, *instead.pop())
            answers = _once(body, receive)
            for name in [one for one in drop or [] if b'"tools/call"' in body and f'"{one}"'.encode() in body]:
                assert drop is not None
                drop.remove(name)

                async def nowhere(message: Any) -> None:
                    pass

                await inner(scope, answers, nowhere)
                await send(
                    {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
                )
                return await send({"type": "http.response.body", "body": b""})
            await inner(scope, answers, send)

        return serve


async def _body(receive: Callable[[], Awaitable[Any]]) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


def _once(body: bytes, receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    given = False

    async def again() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _plain(
    send: Callable[[Any], Awaitable[None]], status: int, kind: str = "text/plain", body: bytes = b""
) -> None:
    headers = [(b"location", b"https://elsewhere.test/mcp")] if 300 <= status < 400 else []
    if kind:
        headers.append((b"content-type", kind.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    Shop().server.run("stdio")
