"""Faults that standing answers really had. Each test has the id of its case in its name."""

from __future__ import annotations

from typing import Any

import pytest

import surehand as sh
from tests.desk import Desk

ASK = '@id("ask") @approvers("finance") forbid (principal, action == Action::"call/t1", resource);'


def t1(desk: Desk, *, region: bool, version: str = "1.0.0") -> sh.Tool:
    """A tool whose source may add a required field to it; under the same version, that is refused."""
    parameters: dict[str, Any] = {"type": "object", "properties": {"no": {"type": "integer"}}, "required": ["no"]}
    if region:
        parameters["properties"]["region"] = {"type": "string"}
        parameters["required"] = ["no", "region"]

    def handler(context: sh.CallContext, text: str) -> str:
        desk.done.append(text)
        return "ran"

    return sh.raw_tool(
        sh.ToolSpec(name="t1", version=version, description="Does it.", key=("no",), parameters=parameters), handler
    )


async def test_C68_a_standing_yes_for_the_old_tool_is_none_for_the_new(desk: Desk, open_desk: Any) -> None:
    old: sh.Engine = await open_desk(t1(desk, region=False), policies=ASK)
    always = sh.Grantee(caller="alice", tool="t1", policies=("ask",))
    given = await old.grants.give(by=desk.fiona, to=always, uses=9, expires_s=3600, where={})
    first = await old.call(sh.ToolCall(id="c1", name="t1", arguments={"no": 1}), desk.alice)
    assert first.status == "ok"
    await old.close()
    with pytest.raises(sh.RegistryError, match="published before with another contract"):
        await open_desk(t1(desk, region=True), policies=ASK)
    new: sh.Engine = await open_desk(t1(desk, region=True, version="2.0.0"), policies=ASK)
    second = await new.call(sh.ToolCall(id="c2", name="t1", arguments={"no": 2, "region": "x"}), desk.alice)
    assert second.status == "pending"
    assert (await new.grants.get(given.grant_id, by=desk.fiona)).status == "void"
    assert len(desk.done) == 1
