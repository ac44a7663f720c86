"""MCP servers that are programs."""

from __future__ import annotations

from pathlib import Path

from tests.sources.mcp_servers import ALICE, Raw, call, kept, names


async def test_first(tmp_path: Path) -> None:
    raw = Raw(tmp_path / "raw", 'TOOLS = [tool("echo")]')
    async with kept(tmp_path, shop=raw.settings) as engine:
        print(engine.services.sources())
        assert await names(engine) == ["mcp__shop_echo"]
        result = await call(engine, "mcp__shop_echo")
        print(result)
        assert result.content == "done"
    assert ALICE
