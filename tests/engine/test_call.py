"""One governed call, as an application makes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import surehand as sh
from tests.desk import ASK_FINANCE, Desk, pay_tool


def order_tool(desk: Desk) -> sh.Tool:
    @sh.tool(read_only=True, permissions=["orders:read"], display="Looking up order {order_id}")
    async def get_order(
        order_id: int, part: Literal["all", "lines"] = "all", *, tenant_id: Annotated[str, sh.Injected("tenant")]
    ) -> dict[str, Any]:
        """Reads one order. Never changes anything.

        Args:
            order_id: The number on the invoice.
            part: What to return.
        """
        desk.done.append(("get", tenant_id, order_id, part))
        return {"order_id": order_id, "tenant": tenant_id, "part": part}

    return get_order


async def test_a_read_is_decided_run_and_recorded(desk: Desk, open_desk: Any) -> None:
    engine = await open_desk(order_tool(desk))
    view = await engine.view(desk.alice)
    assert [tool.name for tool in view.tools] == ["get_order"]
    assert "tenant_id" not in str(view.tools[0].spec.parameters)
    result = await engine.call(sh.ToolCall(id="c1", name="get_order", arguments='{"order_id": 7}'), desk.alice)
    assert (result.status, result.is_error, result.tool_call_id) == ("ok", False, "c1")
    assert result.structured == {"order_id": 7, "tenant": "acme", "part": "all"}
    assert result.display == "Looking up order 7"
    await engine.audit.seal()
    story = await engine.audit.story(result.call_id, by=desk.alice)
    assert story.name == "get_order"
    assert [report.ok for report in await engine.audit.verify()] == [True]


async def test_an_effect_happens_once_and_replays(desk: Desk, open_desk: Any) -> None:
    engine = await open_desk(pay_tool(desk))
    arguments = '{"to": "bob", "no": 1, "amount": 500}'
    first = await engine.call(sh.ToolCall(id="c1", name="pay", arguments=arguments), desk.alice)
    again = await engine.call(sh.ToolCall(id="c9", name="pay", arguments=arguments), desk.alice)
    other = await engine.call(
        sh.ToolCall(id="c2", name="pay", arguments='{"to": "bob", "no": 2, "amount": 1}'), desk.alice
    )
    clash = await engine.call(
        sh.ToolCall(id="c3", name="pay", arguments='{"to": "bob", "no": 1, "amount": 9}'), desk.alice
    )
    assert [first.status, again.status, other.status] == ["ok", "ok", "ok"]
    assert (again.replayed, again.content, again.tool_call_id) == (True, first.content, "c9")
    assert again.call_id == first.call_id
    assert clash.error is not None
    assert clash.error.code == "IDEMPOTENCY_CONFLICT"
    assert desk.done == [("pay", "bob", 1, 500), ("pay", "bob", 2, 1)]


async def test_a_large_payment_waits_for_finance(desk: Desk, open_desk: Any) -> None:
    engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    call = sh.ToolCall(id="c1", name="pay", arguments='{"to": "bob", "no": 1, "amount": 50000}')
    waiting = await engine.call(call, desk.alice)
    assert (waiting.status, desk.done) == ("pending", [])
    assert waiting.approval_id is not None
    same = await engine.call(call, desk.alice)
    assert (same.status, same.approval_id) == ("pending", waiting.approval_id)
    still = await engine.resume(waiting.call_id, by=desk.alice)
    assert still.status == "pending"
    shown = await engine.approvals.get(waiting.approval_id, by=desk.fiona)
    assert shown.arguments == {"to": "bob", "no": 1, "amount": 50000}
    decided = await engine.approvals.approve(waiting.approval_id, by=desk.fiona, digest=shown.digest)
    assert decided.status == "approved"
    result = await engine.resume(waiting.call_id, by=desk.alice)
    assert (result.status, result.content, desk.done) == ("ok", "paid 50000 to bob", [("pay", "bob", 1, 50000)])
    repeated = await engine.resume(waiting.call_id, by=desk.alice)
    assert (repeated.status, repeated.content, len(desk.done)) == ("ok", "paid 50000 to bob", 1)
    await engine.audit.seal()
    assert [report.ok for report in await engine.audit.verify("acme")] == [True]
