"""Tools about customers: an e-mail to one, and an export of all."""

from __future__ import annotations

import csv
import io
from email.message import EmailMessage
from typing import Annotated

from pydantic import Field

import surehand as sh

from .orders import OrderId, Tenant, no_such_order
from .shop import OUTBOX, reading


@sh.tool(
    version="1.0.0", risk="low", idempotency="single_effect", permissions=["mail:send"], owner="shop-service",
    tags=["mail"], display="Writing to the customer of order {order_id}: {subject}", timeout_s=10,
)  # fmt: skip
def send_email(
    order_id: OrderId,
    subject: Annotated[str, Field(min_length=3, max_length=120, pattern=r"^[^\r\n]+$")],
    body: Annotated[str, Field(min_length=10, max_length=5000)],
    *,
    tenant: Tenant,
    agent: Annotated[str, sh.Injected("agent")],
    key: Annotated[str, sh.Injected("idempotency_key")],
) -> str:
    """Sends an e-mail to the customer of an order. The address comes from the order; no other can be written to.

    Use it once, at the end, to tell the customer what was done. Never for anything that was not done yet. A sent
    e-mail cannot be called back.

    Args:
        body: Plain text, without a signature; the shop adds its own.
    """
    with reading() as shop:
        customer = shop.execute(
            "SELECT c.name, c.email FROM orders o"
            " JOIN customers c ON c.tenant = o.tenant AND c.customer_id = o.customer_id"
            " WHERE o.tenant = ? AND o.order_id = ?",
            (tenant, order_id),
        ).fetchone()
    if customer is None:
        raise no_such_order(order_id)
    message = EmailMessage()
    message["From"] = f"support@{tenant}.example"
    message["To"] = f"{customer['name']} <{customer['email']}>"
    message["Subject"] = subject
    message["Message-ID"] = f"<{key[:32]}@{tenant}.example>"
    message["X-Agent"] = agent
    message.set_content(f"{body}\n\nYour {tenant} support desk")
    OUTBOX.mkdir(exist_ok=True)
    # A new file or an error: a mail server would not know either that it had this one before.
    with (OUTBOX / f"{order_id}-{key[:12]}.eml").open("xb") as file:
        file.write(bytes(message))
    return f"Sent to {customer['name']}."


@sh.tool(
    version="1.0.0", risk="high", read_only=True, permissions=["customers:export"], owner="shop-service",
    tags=["personal-data"], display="Exporting all customers of {city}", timeout_s=20,
)  # fmt: skip
def export_customers(
    city: Annotated[str, Field(min_length=2, max_length=40)] | None = None, *, tenant: Tenant
) -> sh.Output:
    """Exports names and e-mail addresses of all customers, or of one city, as a CSV file.

    Only for the data protection officer's requests. To help one customer use search_orders instead. Changes nothing.
    """
    with reading() as shop:
        rows = shop.execute(
            "SELECT customer_id, name, email, city FROM customers WHERE tenant = ? AND city = coalesce(?, city)"
            " ORDER BY customer_id",
            (tenant, city),
        ).fetchall()
    text = io.StringIO()
    csv.writer(text).writerows([("customer_id", "name", "email", "city"), *(tuple(row) for row in rows)])
    file = sh.Attachment(body=text.getvalue().encode(), media_type="text/csv")
    return sh.Output(text=f"{len(rows)} customers exported.", attachments=(file,))
