"""Fills the shop's database: the same some thousand orders each time, and the few that the demo's story is about."""

from __future__ import annotations

import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from .shop import SCHEMA

SIZES = {"acme": ("A", 700, 3000), "globex": ("G", 300, 1200)}
"""Tenant -> prefix of its ids, customers, orders."""
FIRST = ("Ada", "Bo", "Carla", "Dev", "Elin", "Femi", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Maya")
LAST = ("Adeyemi", "Berg", "Costa", "Dahl", "Engel", "Garcia", "Haas", "Ito", "Jansen", "Kowal", "Meyer", "Okafor")
CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Essen", "Faro", "Gent", "Hamburg", "Izmir", "Jena", "Krakow", "Lyon")
GOODS = [
    ("Desk lamp", 4_990), ("Office chair", 18_900), ("Kettle", 3_450), ("Bookshelf", 12_900), ("Headphones", 8_990),
    ("Coffee grinder", 5_990), ("Rug 160x230", 14_900), ("Monitor arm", 7_990), ("Notebook, 3 pcs", 1_290),
]  # fmt: skip


class Order(NamedTuple):
    """An order of the story."""

    tenant: str
    order_id: str
    customer: tuple[str, str, str]
    """Id, name, e-mail address."""
    status: str
    lines: list[tuple[str, int, int]]
    """Title, quantity, unit price in cents."""


MARA = ("AC9001", "Mara Lindqvist", "mara.lindqvist@example.com")
OTTO = ("AC9002", "Otto Brandt", "otto.brandt@example.com")
STORY = [
    Order("acme", "A-10421", MARA, "paid", [("Desk lamp", 1, 4_990), ("Headphones", 1, 8_990)]),
    Order("acme", "A-10388", MARA, "paid", [("Office chair", 2, 18_900)]),
    Order("acme", "A-10455", MARA, "paid", [("Kettle", 1, 3_450)]),
    Order("acme", "A-10460", MARA, "open", [("Notebook, 3 pcs", 2, 1_290)]),
    Order("acme", "A-10470", OTTO, "paid", [("Rug 160x230", 2, 14_900)]),
    Order("globex", "G-20017", ("GC9001", "Nils Lindqvist", "nils@example.net"), "paid", [("Rug 160x230", 1, 14_900)]),
]
STORY_DAY = date(2026, 11, 20)


def build(database: Path, *, seed: int = 2026) -> None:
    """Makes the database. The same seed gives the same rows on every machine.

    Raises:
        FileExistsError: There is a file of that name.
    """
    if database.exists():
        raise FileExistsError(database)
    connection = sqlite3.connect(database)
    try:
        with connection:
            connection.executescript(SCHEMA)
            for tenant, (prefix, customers, orders) in SIZES.items():
                _fill(connection, random.Random(f"{seed}/{tenant}"), tenant, prefix, customers, orders)
            for order in STORY:
                _add(connection, order)
    finally:
        connection.close()


def _fill(
    connection: sqlite3.Connection, chance: random.Random, tenant: str, prefix: str, customers: int, orders: int
) -> None:
    people: list[tuple[str, ...]] = []
    for number in range(1, customers + 1):
        name = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        email = f"{name.lower().replace(' ', '.')}{number}@example.org"
        people.append((tenant, f"{prefix}C{number:04}", name, email, chance.choice(CITIES)))
    connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?, ?)", people)
    heads: list[tuple[object, ...]] = []
    lines: list[tuple[object, ...]] = []
    for number in range(1, orders + 1):
        order_id = f"{prefix}-{number:05}"
        bought = chance.sample(GOODS, chance.randint(1, 3))
        counts = [chance.randint(1, 3) for _ in bought]
        total = sum(count * cents for count, (_, cents) in zip(counts, bought, strict=True))
        placed = date(2026, 1, 1) + timedelta(days=chance.randrange(320))
        status = chance.choice(("open", "paid", "paid", "shipped", "shipped", "shipped", "cancelled"))
        heads.append((tenant, order_id, chance.choice(people)[1], placed.isoformat(), status, total))
        for line_no, (count, (title, cents)) in enumerate(zip(counts, bought, strict=True), 1):
            lines.append((tenant, order_id, line_no, title, count, cents))
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, NULL)", heads)
    connection.executemany("INSERT INTO order_lines VALUES (?, ?, ?, ?, ?, ?)", lines)


def _add(connection: sqlite3.Connection, order: Order) -> None:
    customer_id, name, email = order.customer
    total = sum(count * cents for _, count, cents in order.lines)
    connection.execute(
        "INSERT OR IGNORE INTO customers VALUES (?, ?, ?, ?, ?)", (order.tenant, customer_id, name, email, "Gent")
    )
    connection.execute(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, NULL)",
        (order.tenant, order.order_id, customer_id, STORY_DAY.isoformat(), order.status, total),
    )
    connection.executemany(
        "INSERT INTO order_lines VALUES (?, ?, ?, ?, ?, ?)",
        [(order.tenant, order.order_id, line_no, *line) for line_no, line in enumerate(order.lines, 1)],
    )
