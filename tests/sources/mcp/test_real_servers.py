"""The reference servers, by the Node of a wheel; what is missing is installed at the first use."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from surehand.sources import SourceSettings
from tests import npm
from tests.desk import until
from tests.sources.mcp.servers import call, code, kept, names

FOLDER = Path(__file__).parent / "node"
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def node() -> Path:
    """Node, with the servers installed."""
    try:
        npm.install(FOLDER)
        return npm.node()
    except npm.NpmUnavailableError as error:
        reason = str(error)
    if os.environ.get("SUREHAND_REQUIRE_WIRE") == "1":
        pytest.fail(f"SUREHAND_REQUIRE_WIRE=1, but {reason}", pytrace=False)
    pytest.skip(f"no reference servers: {reason}")


def program(node: Path, server: str, *arguments: str) -> SourceSettings:
    script = FOLDER / "node_modules" / "@modelcontextprotocol" / f"server-{server}" / "dist" / "index.js"
    return SourceSettings(kind="mcp", approve="always", command=(str(node), str(script), *arguments))


@pytest.fixture
async def everything(node: Path, request: pytest.FixtureRequest) -> AsyncGenerator[SourceSettings]:
    """One server by stdio, or by HTTP."""
    if request.param == "stdio":
        yield program(node, "everything")
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = program(node, "everything", "streamableHttp").command
    process = await asyncio.create_subprocess_exec(
        *run, env={"PORT": str(port)}, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield SourceSettings(kind="mcp", approve="always", url=f"http://127.0.0.1:{port}/mcp", private=True)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("everything", ["stdio", "http"], indirect=True)
async def test_everything(tmp_path: Path, everything: SourceSettings) -> None:
    async with kept(tmp_path, all=everything) as engine:
        for _ in range(10):  # the server by HTTP may need longer to start
            if engine.services.sources()[0].state == "ready":
                break
            await asyncio.sleep(0.5)
        assert {"mcp__all_echo", "mcp__all_get-sum", "mcp__all_get-tiny-image"} <= set(await names(engine))
        (note,) = engine.services.sources()[0].notes
        assert "it can only be called as a task" in note
        said: list[str] = []
        engine.on_event(lambda event: said.append(event.data["text"]) if event.kind == "call.progress" else None)

        echoed = await call(engine, "mcp__all_echo", "k1", message="hi")
        assert echoed.content == "Echo: hi"
        image = await call(engine, "mcp__all_get-tiny-image", "k2")
        assert [one.media_type for one in image.artifacts] == ["image/png"]
        told = await call(engine, "mcp__all_get-structured-content", "k3", location="New York")
        assert isinstance(told.structured, dict)
        assert told.structured.keys() == {"temperature", "conditions", "humidity"}
        links = await call(engine, "mcp__all_get-resource-links", "k4", count=2)
        assert links.content.count("[resource ") == 2
        long = await call(engine, "mcp__all_trigger-long-running-operation", "k5", duration=0.3, steps=3)
        assert long.status == "ok"
        await until(lambda: said == ["1 of 3", "2 of 3", "3 of 3"])
        wrong = await call(engine, "mcp__all_get-sum", "k6", a="x", b=1)
        assert code(wrong) == "TOOL_ARGUMENT_INVALID"


async def test_files_and_memory(tmp_path: Path, node: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "a.txt").write_text("hello", encoding="utf-8")
    files, memory = program(node, "filesystem", str(shared)), program(node, "memory")
    async with kept(tmp_path, files=files, memory=memory) as engine:
        inside = await call(engine, "mcp__files_read_text_file", "k1", path=str(shared / "a.txt"))
        assert (inside.content, inside.structured) == ("hello", {"content": "hello"})
        outside = await call(engine, "mcp__files_read_text_file", "k2", path=str(tmp_path / "b.txt"))
        assert (code(outside), "outside allowed directories" in outside.content) == ("TOOL_BUSINESS_ERROR", True)
        noted = [{"name": "Ann", "entityType": "person", "observations": ["tall"]}]
        await call(engine, "mcp__memory_create_entities", "k3", entities=noted)
        found = await call(engine, "mcp__memory_search_nodes", "k4", query="Ann")
        assert "tall" in found.content


def test_the_lock_names_versions_and_hashes_only() -> None:
    wanted = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    packages = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert packages.pop("")["devDependencies"] == wanted
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert all("integrity" in package and "resolved" not in package for package in packages.values())
