"""The tool that moves money: once for each refund number of an order, whoever asks how often."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

import surehand as sh

from .orders import OrderId, Refund, Tenant, no_such_order
from .shop import reading, writing


def may_refund(arguments: dict[str, Any]) -> None:
    """The business rules, before policy is asked and again before an approved refund runs."""
    with reading() as shop:
        _require(shop, **{name: arguments[name] for name in ("tenant", "order_id", "refund_no", "amount_cents")})


def _require(shop: sqlite3.Connection, *, tenant: str, order_id: str, refund_no: int, amount_cents: int) -> None:
    order = shop.execute(
        "SELECT status, total_cents FROM orders WHERE tenant = ? AND order_id = ?", (tenant, order_id)
    ).fetchone()
    if order is None:
        raise no_such_order(order_id)
    if order["status"] not in ("paid", "shipped"):
        raise sh.BusinessError(f"Order {order_id} is {order['status']}, not paid; there is nothing to refund.")
    # Other refunds only: a repeat of this one must reach the ledger, which answers it with the first result.
    (paid,) = shop.execute(
        "SELECT coalesce(sum(amount_cents), 0) FROM refunds WHERE tenant = ? AND order_id = ? AND refund_no <> ?",
        (tenant, order_id, refund_no),
    ).fetchone()
    left = order["total_cents"] - paid
    if amount_cents > left:
        raise sh.BusinessError(
            f"Only {left} cents of order {order_id} are left to refund, not {amount_cents}.",
            details={"refundable_cents": left},
        )


def was_refunded(arguments: dict[str, Any], key: str) -> sh.Done | sh.NotDone:
    """Asked after a crash: whether the refund with this idempotency key is in the shop's books."""
    with reading() as shop:
        row = shop.execute(
            "SELECT refund_no, amount_cents, reason FROM refunds"
            " WHERE tenant = ? AND order_id = ? AND idempotency_key = ?",
            (arguments["tenant"], arguments["order_id"], key),
        ).fetchone()
    return sh.NotDone() if row is None else sh.Done(Refund(**dict(row)))


@sh.tool(
    version="1.0.0", risk="medium", permissions=["refunds:write"], owner="shop-payments", tags=["money"],
    key=["order_id", "refund_no"], check=may_refund, status_check=was_refunded,
    display="Refunding {amount_cents} cents of order {order_id} (refund {refund_no}): {reason}", timeout_s=10,
)  # fmt: skip
def refund_order(
    order_id: OrderId,
    refund_no: Annotated[int, Field(ge=1, le=99)],
    amount_cents: Annotated[int, Field(ge=1, le=10_000_000)],
    reason: Annotated[str, Field(min_length=3, max_length=200)],
    *,
    tenant: Tenant,
    agent: Annotated[str, sh.Injected("agent")],
    key: Annotated[str, sh.Injected("idempotency_key")],
) -> Refund:
    """Pays money of a paid or shipped order back to the customer, in whole or in part. Cannot be taken back.

    Use it when goods are missing, damaged or returned. Look at the order first: get_order says what is left to
    refund. Above 100.00 finance is asked, and the refund comes later. Not for cancelling: use cancel_order.

    Args:
        refund_no: Which refund of this order: 1 for the first, 2 for another one. The same number is the same
            refund and is never paid twice.
        amount_cents: In cents: 2500 is 25.00.
        reason: Why, in a few words; the customer may read it.
    """
    with writing() as shop:
        # Again under the lock: two refunds of one order may have passed the check at the same time.
        _require(shop, tenant=tenant, order_id=order_id, refund_no=refund_no, amount_cents=amount_cents)
        shop.execute(
            "INSERT INTO refunds (tenant, order_id, refund_no, amount_cents, reason, agent,"
            " idempotency_key, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (tenant, order_id, refund_no, amount_cents, reason, agent, key, datetime.now(UTC).isoformat()),
        )
    return Refund(refund_no=refund_no, amount_cents=amount_cents, reason=reason)
