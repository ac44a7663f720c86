"""Tools about orders: two that read, and one that cancels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

import surehand as sh

from .shop import reading, writing

Status = Literal["open", "paid", "shipped", "cancelled"]
OrderId = Annotated[str, Field(pattern=r"^[A-Z]-[0-9]{5}$", description="Such as A-10421.")]
Tenant = Annotated[str, sh.Injected("tenant")]
"""Filled in by Surehand from the authenticated caller. No model sees it or can write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One order in a list."""

    order_id: str
    customer: str
    placed_on: str
    status: Status
    total_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of an order."""

    title: str
    quantity: int
    unit_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund:
    """A refund that was paid."""

    refund_no: int
    amount_cents: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Found):
    """An order with its lines, and what was paid back."""

    lines: list[Line]
    refunds: list[Refund]
    refundable_cents: int


def no_such_order(order_id: str) -> sh.BusinessError:
    """The same words whether it never existed or is another tenant's."""
    return sh.BusinessError(f"There is no order {order_id}. Search for it with search_orders.")


@sh.tool(
    version="1.0.0", risk="low", read_only=True, permissions=["orders:read"], owner="shop-orders", tags=["orders"],
    display="Searching {status} orders of {customer}", timeout_s=5,
)  # fmt: skip
def search_orders(
    customer: Annotated[str, Field(min_length=2, max_length=80)],
    status: Status | None = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 10,
    *,
    tenant: Tenant,
) -> list[Found]:
    """Finds orders by a part of the customer's name, newest first.

    Use it when the customer gives no order number. For one order with its lines use get_order. Changes nothing, and
    never shows an address or an e-mail address.

    Args:
        customer: Part of the customer's name.
        status: Only orders in this state; leave it out for all.
        limit: At most this many.
    """
    with reading() as shop:
        rows = shop.execute(
            "SELECT o.order_id, c.name AS customer, o.placed_on, o.status, o.total_cents FROM orders o"
            " JOIN customers c ON c.tenant = o.tenant AND c.customer_id = o.customer_id"
            " WHERE o.tenant = :tenant AND c.name LIKE '%' || :name || '%' ESCAPE '\\'"
            " AND o.status = coalesce(:status, o.status)"
            " ORDER BY o.placed_on DESC, o.order_id LIMIT :limit",
            {"tenant": tenant, "name": _literally(customer), "status": status, "limit": limit},
        )
        return [Found(**dict(row)) for row in rows]


@sh.tool(
    version="1.0.0", risk="low", read_only=True, permissions=["orders:read"], owner="shop-orders", tags=["orders"],
    display="Looking at order {order_id}", timeout_s=5,
)  # fmt: skip
def get_order(order_id: OrderId, *, tenant: Tenant) -> Order:
    """Shows one order: its lines, its state, refunds paid so far and the amount that can still be refunded.

    Use it before a refund or a cancellation. To find an order number use search_orders instead. Changes nothing. Lists
    at most what one order holds, and never an address or how it was paid.
    """
    with reading() as shop:
        head = shop.execute(
            "SELECT o.order_id, c.name AS customer, o.placed_on, o.status, o.total_cents FROM orders o"
            " JOIN customers c ON c.tenant = o.tenant AND c.customer_id = o.customer_id"
            " WHERE o.tenant = ? AND o.order_id = ?",
            (tenant, order_id),
        ).fetchone()
        if head is None:
            raise no_such_order(order_id)
        lines = shop.execute(
            "SELECT title, quantity, unit_cents FROM order_lines WHERE tenant = ? AND order_id = ? ORDER BY line_no",
            (tenant, order_id),
        )
        refunds = [
            Refund(**dict(row))
            for row in shop.execute(
                "SELECT refund_no, amount_cents, reason FROM refunds WHERE tenant = ? AND order_id = ? ORDER BY id",
                (tenant, order_id),
            )
        ]
        left = head["total_cents"] - sum(one.amount_cents for one in refunds)
        return Order(
            **dict(head),
            lines=[Line(**dict(row)) for row in lines],
            refunds=refunds,
            refundable_cents=left if head["status"] in ("paid", "shipped") else 0,
        )


# The next version, on trial. It takes more than 1.0.0 does; nobody gets it until `surehand tools canary` says who.
@sh.tool(
    name="get_order", version="1.1.0", stage="canary", risk="low", read_only=True, permissions=["orders:read"],
    owner="shop-orders", tags=["orders"], display="Looking at order {order_id}", timeout_s=5,
)  # fmt: skip
def get_order_by_any_case(
    order_id: Annotated[str, Field(pattern=r"^[A-Za-z]-[0-9]{5}$", description="Such as A-10421 or a-10421.")],
    *,
    tenant: Tenant,
) -> Order:
    """Shows one order: its lines, its state, refunds paid so far and the amount that can still be refunded.

    Use it before a refund or a cancellation. To find an order number use search_orders instead. Changes nothing. Lists
    at most what one order holds, and never an address or how it was paid.
    """
    return get_order.handler(order_id.upper(), tenant=tenant)


def may_cancel(arguments: dict[str, Any]) -> None:
    """Only what was not sent can be cancelled. A cancelled order passes: the ledger answers for the repeat."""
    with reading() as shop:
        row = shop.execute(
            "SELECT status FROM orders WHERE tenant = ? AND order_id = ?", (arguments["tenant"], arguments["order_id"])
        ).fetchone()
    if row is None:
        raise no_such_order(arguments["order_id"])
    if row["status"] == "shipped":
        raise sh.BusinessError(f"Order {arguments['order_id']} was shipped; it can be refunded, not cancelled.")


def was_cancelled(arguments: dict[str, Any], key: str) -> sh.Done | sh.NotDone:
    """Asked after a crash: whether the cancellation with this key reached the database."""
    order_id = arguments["order_id"]
    with reading() as shop:
        row = shop.execute(
            "SELECT 1 FROM orders WHERE tenant = ? AND order_id = ? AND cancel_key = ?",
            (arguments["tenant"], order_id, key),
        ).fetchone()
    return sh.NotDone() if row is None else sh.Done(f"Order {order_id} is cancelled.")


@sh.tool(
    version="1.0.0", risk="high", permissions=["orders:cancel"], owner="shop-orders", tags=["orders"],
    key=["order_id"], check=may_cancel, status_check=was_cancelled,
    display="Cancelling order {order_id}: {reason}", timeout_s=5,
)  # fmt: skip
def cancel_order(
    order_id: OrderId,
    reason: Annotated[str, Field(min_length=3, max_length=200)],
    *,
    tenant: Tenant,
    key: Annotated[str, sh.Injected("idempotency_key")],
) -> str:
    """Cancels an order that was not shipped. It cannot be reopened; the customer has to order again.

    Use it only when the customer asked for it. It pays nothing back: use refund_order for that, before cancelling.

    Args:
        reason: Why, in a few words; the customer may read it.
    """
    with writing() as shop:
        changed = shop.execute(
            "UPDATE orders SET status = 'cancelled', cancel_key = ?"
            " WHERE tenant = ? AND order_id = ? AND status IN ('open', 'paid')",
            (key, tenant, order_id),
        )
        if changed.rowcount == 0:
            raise sh.BusinessError(f"Order {order_id} can no longer be cancelled.")
    return f"Order {order_id} is cancelled."


def _literally(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
