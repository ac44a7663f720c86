"""MCP servers that a project file names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import surehand as sh
from tests.sources.mcp.servers import ALICE, Raw, call, names

PROJECT = """
store = "sqlite://"

[sources.shop]
kind = "mcp"
command = [{python}, "raw/server.py"]
read_only = ["where"]

[sources.there]
kind = "mcp"
command = [{python}, "server.py"]
folder = "raw"
approve = "always"
"""


async def test_a_program_runs_in_the_folder_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    raw = Raw(
        folder / "raw",
        """
        TOOLS = [tool("where")]
        def called(request):
            answer(request, {"content": [{"type": "text", "text": os.getcwd()}]})
        """,
    )
    (folder / "surehand.toml").write_text(PROJECT.replace("{python}", f'"{sys.executable}"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    async with sh.open_project(folder / "surehand.toml") as engine:
        assert await names(engine) == ["mcp__there_where"]
        shop, there = await engine.limits.sources(by=ALICE)
        assert (shop.state, len(shop.waiting), there.state) == ("ready", 1, "ready")
        name, version = shop.waiting[0].split("@")
        assert (await call(engine, "mcp__there_where")).content == str(raw.file.parent)
    (folder / "surehand.pins.toml").write_text(f'[tools]\n"{name}" = "{version}"\n', encoding="utf-8")
    async with sh.open_project(folder / "surehand.toml") as engine:
        assert await names(engine) == ["mcp__shop_where", "mcp__there_where"]
        assert (await call(engine, "mcp__shop_where")).content == str(folder)
