"""Tools that the example policies are about. They do nothing: only their contracts matter here."""

from __future__ import annotations

from typing import Literal

import surehand as sh


@sh.tool(permissions=["office:use"], key=["order"])
async def refund(order: str, amount_cents: int) -> str:
    """Refunds part of an order. Takes effect once for each order."""
    return f"refunded {amount_cents} of {order}"


@sh.tool(permissions=["office:use"], read_only=True)
async def read_ledger(tenant: str, day: str) -> str:
    """Reads one day of a tenant's ledger."""
    return f"{tenant} on {day}: balanced"


@sh.tool(permissions=["office:use"], read_only=True)
async def search_orders(text: str, limit: int = 20, days: int | None = None) -> str:
    """Searches orders by their text, newest first."""
    return f"{limit} orders with {text} of {days or 'all'} days"


@sh.tool(permissions=["office:use"], read_only=True, tags=["export"])
async def export_people(columns: list[Literal["name", "city", "email", "birthday", "salary"]]) -> str:
    """Exports columns of all people as a file."""
    return ", ".join(columns)


@sh.tool(permissions=["office:use"], key=["run"], tags=["payroll"])
async def pay_salaries(run: str) -> str:
    """Pays the salaries of one payroll run. Takes effect once for each run."""
    return f"paid {run}"
