"""The one work unit that everything here is measured by, and the tools and policies that do it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import surehand as sh
from surehand.policy import Policies

ARGUMENTS = json.dumps(
    {
        "region": "north",
        "start_date": "2026-01-01",
        "end_date": "2026-03-31",
        "currency": "EUR",
        "limit": 50,
        "note": "quarterly totals for the board, without returns and without internal orders",
    }
)
RESULT = {"region": "north", "rows": [{"day": n, "total_cents": 100 * n} for n in range(8)], "currency": "EUR"}
CALLER = sh.Caller(
    id="alice", tenant="acme", roles=["analyst"], scopes=["sales:read", "sales:write"], agent="bot", environment="bench"
)


async def handler(
    region: Literal["north", "south"], start_date: str, end_date: str, currency: str, limit: int, note: str
) -> dict[str, Any]:
    """Sales totals of one region."""
    return RESULT


async def floor() -> None:
    """What a call costs that nobody looks at."""
    json.dumps(await handler(**json.loads(ARGUMENTS)))


read_sales = sh.tool(name="read_sales", read_only=True, permissions=["sales:read"])(handler)
limited_sales = sh.tool(name="limited_sales", read_only=True, permissions=["sales:read"])(handler)
book_sales = sh.tool(name="book_sales", permissions=["sales:write"])(handler)

POLICIES = [
    sh.PolicySource(
        "bench.cedar",
        """
        @id("limit") @approvers("sales") @reason("more than 1000 rows need sales")
        forbid (principal, action == Action::"call/limited_sales", resource) when { context.arguments.limit > 1000 };
        @id("region") @reason("the west is closed")
        forbid (principal, action == Action::"call/limited_sales", resource)
        when { context.arguments.region == "west" };
        """,
    )
]


def many_policies(count: int) -> Policies:
    """Policies that are all about one tool and read one of its arguments; the built-in ones hold besides."""
    registry = sh.Registry()
    registry.register(limited_sales)
    text = "".join(
        f'@id("limit-{n}") forbid (principal, action == Action::"call/limited_sales", resource) '
        f"when {{ context.arguments.limit == {-1000 - n} }};"
        for n in range(count)
    )
    return Policies.load([sh.PolicySource("bench.cedar", text)], registry.catalog)


def caller_of_calls(engine: sh.Engine, name: str, arguments: Callable[[int], str]) -> Callable[[int], Any]:
    """Makes the n-th governed call of a tool."""

    async def call(n: int) -> None:
        result = await engine.call(
            sh.ToolCall(id="c", name=name, arguments=arguments(n)), CALLER, run=sh.RunStep(run_id="bench", turn=n)
        )
        assert result.status == "ok", result

    return call


def agent_steps(count: int) -> list[Any]:
    """A script: one turn of `count` calls, then text."""
    arguments = json.loads(ARGUMENTS)
    return [{"calls": [{"name": "read_sales", "arguments": arguments}] * count}, {"text": "Here are the totals."}]


def many_tools(count: int) -> list[sh.Tool]:
    """Tools that differ in their names only."""
    return [sh.tool(name=f"sales_{n}", read_only=True, permissions=["sales:read"])(handler) for n in range(count)]
