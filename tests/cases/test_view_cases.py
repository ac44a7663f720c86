"""Cases of the collection that are about what a model is shown. Each test names its case."""

from __future__ import annotations

from typing import Any

import pytest

import surehand as sh
from tests.desk import Desk


def read(source: str, name: str = "read") -> sh.Tool:
    async def handler(context: Any, json: str) -> str:
        return source

    return sh.raw_tool(sh.ToolSpec(name=name, description="Reads.", read_only=True, source=source), handler)


@pytest.mark.parametrize("name", ["read", "Read", "READ"])
async def test_C38_two_tools_of_one_name_never_shadow_each_other(name: str, desk: Desk, open_desk: Any) -> None:
    """The last one wins nothing: it is refused, and the first one goes on to answer."""
    engine: sh.Engine = await open_desk(read("first"))
    with pytest.raises(sh.RegistryError):
        engine.registry.register(read("second", name))
    result = await engine.call(sh.ToolCall(id="c", name="read"), desk.alice)
    assert result.content == "first"
    assert (await engine.view(desk.alice)).names == ("read",)
