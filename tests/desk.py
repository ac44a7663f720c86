"""An engine on a real SQLite file, tools that note what they did, and people."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import surehand as sh


@dataclass
class Desk:
    """What the tools did, and who may ask them."""

    folder: Path
    done: list[Any] = field(default_factory=list[Any])
    alice: sh.Caller = field(
        default_factory=lambda: sh.Caller(id="alice", tenant="acme", roles=["support"], scopes=["orders:read", "pay"])
    )
    fiona: sh.Caller = field(
        default_factory=lambda: sh.Caller(id="fiona", tenant="acme", roles=["finance", "approver"])
    )
    mallory: sh.Caller = field(
        default_factory=lambda: sh.Caller(id="alice", tenant="evil", roles=["finance"], scopes=["orders:read", "pay"])
    )

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'surehand.db'}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
async def open_desk(desk: Desk) -> AsyncGenerator[Callable[..., Any]]:
    """Opens engines on the desk's database and closes them after the test."""
    opened: list[sh.Engine] = []

    async def open_one(*tools: sh.Tool, policies: str = "", **options: Any) -> sh.Engine:
        sources = [sh.PolicySource("test.cedar", policies)] if policies else None
        engine = sh.open_engine(store=options.pop("store", desk.url), policies=sources, tools=tools, **options)
        await engine.__aenter__()
        opened.append(engine)
        return engine

    yield open_one
    for engine in opened:
        await engine.close()


def pay_tool(desk: Desk, **fields: Any) -> sh.Tool:
    """A payment that says what it did; one effect for each `to` and `no`."""

    given: Any = {"permissions": ["pay"], "key": ["to", "no"], **fields}

    @sh.tool(**given)
    async def pay(to: str, no: int, amount: int) -> str:
        """Pays an amount in cents. The same `no` to the same person is the same payment."""
        desk.done.append(("pay", to, no, amount))
        return f"paid {amount} to {to}"

    return pay


def pay_call(no: int = 1, amount: int = 500, *, id: str = "c1", to: str = "bob") -> sh.ToolCall:
    """A model's call of it."""
    return sh.ToolCall(id=id, name="pay", arguments={"to": to, "no": no, "amount": amount})


ASK_FINANCE = """
@id("large") @approvers("finance") @reason("payments over 100.00 need finance")
forbid (principal, action == Action::"call/pay", resource) when { context.arguments.amount > 10000 };
"""


async def until(holds: Callable[[], Any]) -> None:
    """Waits for something that happens by itself; fails if it has not within three seconds."""
    for _ in range(300):
        answer = holds()
        if (await answer) if inspect.isawaitable(answer) else answer:
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not happen within three seconds")
