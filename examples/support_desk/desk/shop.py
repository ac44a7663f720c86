"""The shop's database. It is the shop's own: Surehand keeps its ledger and audit elsewhere and never reads this.

`refunds` has no unique constraint on purpose. Like a payment provider it pays whatever arrives, so a refund that
Surehand let through twice would be two rows here. The demo and its tests count them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
"""The project folder: this package lives in it, and so does all that the tools read and write."""
DATABASE = PROJECT / "shop.db"
OUTBOX = PROJECT / "outbox"

SCHEMA = """
CREATE TABLE customers (
    tenant TEXT NOT NULL, customer_id TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL, city TEXT NOT NULL,
    PRIMARY KEY (tenant, customer_id)
);
CREATE TABLE orders (
    tenant TEXT NOT NULL, order_id TEXT NOT NULL, customer_id TEXT NOT NULL, placed_on TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'paid', 'shipped', 'cancelled')),
    total_cents INTEGER NOT NULL, cancel_key TEXT,
    PRIMARY KEY (tenant, order_id),
    FOREIGN KEY (tenant, customer_id) REFERENCES customers
);
CREATE INDEX orders_by_customer ON orders (tenant, customer_id);
CREATE TABLE order_lines (
    tenant TEXT NOT NULL, order_id TEXT NOT NULL, line_no INTEGER NOT NULL,
    title TEXT NOT NULL, quantity INTEGER NOT NULL, unit_cents INTEGER NOT NULL,
    PRIMARY KEY (tenant, order_id, line_no),
    FOREIGN KEY (tenant, order_id) REFERENCES orders
);
CREATE TABLE refunds (
    id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, order_id TEXT NOT NULL, refund_no INTEGER NOT NULL,
    amount_cents INTEGER NOT NULL, reason TEXT NOT NULL, agent TEXT NOT NULL, idempotency_key TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (tenant, order_id) REFERENCES orders
);
CREATE INDEX refunds_by_order ON refunds (tenant, order_id);
CREATE INDEX refunds_by_key ON refunds (tenant, idempotency_key);
"""


@contextmanager
def reading(database: Path = DATABASE) -> Generator[sqlite3.Connection]:
    """A connection that cannot write."""
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
    connection.row_factory = sqlite3.Row
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def writing(database: Path = DATABASE) -> Generator[sqlite3.Connection]:
    """One transaction that keeps other writers out from its start: what it reads stays true until it commits."""
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=rw", uri=True, timeout=5, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")
    finally:
        connection.close()  # without a COMMIT this rolls back


def refunds_of(database: Path) -> list[tuple[str, str, int, int, str]]:
    """Every refund that was paid, of all tenants, in the order in which they were paid: for the demo's last look."""
    with reading(database) as connection:
        rows = connection.execute(
            "SELECT tenant, order_id, refund_no, amount_cents, reason FROM refunds WHERE tenant IN ('acme', 'globex')"
            " ORDER BY id"
        )
        return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]
