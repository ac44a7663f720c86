"""A real HTTP server on this machine: keeps what it is asked, answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import surehand as sh
from surehand.sources import SourceSettings
from surehand.sources.openapi import OpenAPISource
from surehand.spec import Tool

ANN = sh.Caller(id="ann", tenant="acme", roles=["auditor", "approver"])


@dataclass(frozen=True)
class Asked:
    """One request, as it came over the wire."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key == name)


def answer(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """The bytes of an answer; `content_type` becomes `content-type`."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(data)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def answer_json(value: Any, status: str = "200 OK", **headers: str) -> bytes:
    return answer(json.dumps(value), status, content_type="application/json", **headers)


@dataclass
class Api:
    """What it is asked, and what it answers: the bytes, or `None` to hang up."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])
    answers: Callable[[Asked], bytes | None] = lambda _: answer_json({"ok": True})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, target, _ = (await reader.readline()).decode().split()
            headers: list[tuple[str, str]] = []
            while line := (await reader.readline()).decode().strip():
                name, _, value = line.partition(": ")
                headers.append((name.lower(), value))
            size = int(dict(headers).get("content-length", "0"))
            asked = Asked(method, target, headers, await reader.readexactly(size))
            self.asked.append(asked)
            said = self.answers(asked)
            if said is not None:
                writer.write(said)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(answers: Callable[[Asked], bytes | None] | None = None) -> AsyncGenerator[Api]:
    api = Api() if answers is None else Api(answers=answers)
    server = await asyncio.start_server(api.serve, "127.0.0.1", 0)
    api.port = server.sockets[0].getsockname()[1]
    try:
        yield api
    finally:
        server.close()


def described(folder: Path, paths: Any, **more: Any) -> str:
    """The file of a description."""
    file = folder / "api.json"
    file.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths, **more}))
    return str(file)


@asynccontextmanager
async def source_of(document: str, **more: Any) -> AsyncGenerator[tuple[OpenAPISource, dict[str, Tool]]]:
    """An open source, and its tools by name."""
    given: dict[str, Any] = {"kind": "openapi", "document": document, "private": True, **more}
    settings = SourceSettings(**given)
    source = OpenAPISource("shop", settings, Path.cwd())
    await source.open(lambda: None)
    try:
        yield source, {tool.spec.name: tool for tool in await source.tools()}
    finally:
        await source.close()


@asynccontextmanager
async def engine_of(document: str, *, policies: str = "", **more: Any) -> AsyncGenerator[sh.Engine]:
    """An engine with one source, whose definitions are taken as they are."""
    given: dict[str, Any] = {"document": document, "private": True, "approve": "always", **more}
    settings = SourceSettings(kind="openapi", **given)
    engine = sh.open_engine(
        store="sqlite://",
        tools=[],
        policies=[sh.PolicySource("test.cedar", policies)] if policies else None,
        settings=sh.Settings(sources={"shop": settings}),
    )
    async with engine:
        yield engine


def ask(name: str, **arguments: Any) -> sh.ToolCall:
    return sh.ToolCall(id="c1", name=name, arguments=arguments)


NOBODY_ASKED = """
@id("surehand.medium") forbid (principal, action, resource) when { false };
@id("surehand.high") forbid (principal, action, resource) when { false };
"""


async def called(engine: sh.Engine, name: str, **arguments: Any) -> sh.ToolResult:
    """One call, each another effect, that the caller confirms if they are asked."""
    key = json.dumps([name, arguments])
    result = await engine.call(ask(name, **arguments), ANN, idempotency_key=key)
    if result.status != "pending":
        return result
    assert result.approval_id is not None
    await engine.approvals.approve(result.approval_id, by=ANN)
    return await engine.resume(result.call_id, by=ANN)
