"""A database of an earlier release is brought up to date, and what it holds stays as it is."""

import asyncio
from collections.abc import Iterator
from io import StringIO
from typing import Any, Literal

import pytest
from alembic import command
from alembic.config import Config

from surehand.call import Artifact
from surehand.errors import StoreError
from surehand.ports import StoredArtifact
from surehand.storage import SqlStore, open_store, schema, tables
from surehand.storage.tx import Session
from surehand.testing.store_records import NOW_US, call, claim, fact, question, seal, voting
from surehand.testing.store_run_contract import event, everything, run, saving, take, turn

FIRST = "0001"
NEWEST = schema.HEAD
NEW = {
    "surehand_runs",
    "surehand_turns",
    "surehand_run_events",
    "surehand_settings",
    "surehand_delegations",
    "surehand_reminders",
    "surehand_grants",
    "surehand_counters",
    "surehand_reservations",
    "surehand_health",
    "surehand_control",
    "surehand_control_head",
}
"""Tables that came later."""
NEW_COLUMNS = {"surehand_calls": {"parent_call_id": "TEXT", "depth": "INTEGER", "undoes": "TEXT"}}
"""Columns that came later, with their types. Today's statements name them, those of the first release did not."""


def script_of(dialect: Literal["sqlite", "postgresql"], release: str) -> str:
    """Give the SQL that an earlier release ran on an empty database."""
    script = StringIO()
    config = Config(output_buffer=script)
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    config.attributes["dialect"] = dialect
    command.upgrade(config, release, sql=True)
    return script.getvalue()


def content(session: Session) -> dict[str, list[str]]:
    """Read every row of the first release's tables."""
    names = tables.metadata.tables.keys() - NEW
    connection: Any = getattr(session, "connection")  # noqa: B009
    rows: dict[str, list[str]] = {}
    for name in names:
        columns = [c.name for c in tables.metadata.tables[name].columns if c.name not in NEW_COLUMNS.get(name, {})]
        quoted = ", ".join(f'"{column}"' for column in columns)
        rows[name] = sorted(map(repr, connection.execute(f"SELECT {quoted} FROM {name}").fetchall()))
    return rows


@pytest.fixture
def first(any_url: str) -> Iterator[SqlStore]:
    """Give a store that opens a database as the first release made it, and thinks that it is the newest."""
    session = open_store(any_url)._driver.writer()
    session.begin_alone()
    session.script(script_of(session.dialect, FIRST))
    session.commit()
    assert session.revision() == FIRST
    session.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "HEAD", FIRST)
        yield open_store(any_url)


async def fill(store: SqlStore) -> None:
    """Put a row in every table, and check that there is one. Leaves the tables as the first release made them."""
    session: Any = await store._writer.submit(lambda tx: tx)
    columns = [(name, column, kind) for name, new in NEW_COLUMNS.items() for column, kind in new.items()]
    for name, column, kind in columns:
        session.script(f"ALTER TABLE {name} ADD COLUMN {column} {kind}")
    waiting = call("c1", key="k", status="waiting", approval_id="a1", outcome=bytes(range(256)))
    await store.claim(claim(waiting, approval=question("a1", "c1"), rows=2))
    await store.vote("acme", "a1", voting("bob"))
    assert await seal(store) is not None
    await store.record([fact("unsealed", tenant="other")])
    await store.beat("p1", NOW_US)
    artifact = Artifact(id="f1", media_type="text/plain", size_bytes=1, sha256="0")
    await store.put_artifacts([StoredArtifact(artifact=artifact, tenant="acme", call_id="c1", body=b"\x00")])
    for name, column, _ in columns:
        session.script(f"ALTER TABLE {name} DROP COLUMN {column}")
    assert all(content(session).values())


@pytest.mark.timeout(30)
async def test_a_database_of_the_first_release_keeps_its_data(first: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several new processes open it at once, while an old one goes on."""
    await first.open()
    await fill(first)
    session: Any = await first._writer.submit(lambda tx: tx)
    before = content(session)
    with pytest.raises(StoreError, match="surehand_runs"):
        await first.create_run(run("r1"))

    monkeypatch.setattr(schema, "HEAD", NEWEST)
    stores = [SqlStore(first._driver) for _ in range(3)]
    await asyncio.gather(*(store.open() for store in stores))
    assert session.revision() == NEWEST
    assert content(session) == before
    assert await stores[0].get_call("acme", "c1") == await first.get_call("acme", "c1")

    await stores[0].create_run(run("r1", owner=None))
    assert await take(stores[1], "r1", "p9") is not None
    assert await stores[1].save_run(saving("r1", "p9", turn=turn("r1", 0), events=(event("r1", 1),)))
    _, turns, events = await everything(stores[2], "r1")
    assert (turns, events) == ([turn("r1", 0)], [event("r1", 1)])
    assert [await one.remember("name", str(n)) for n, one in enumerate(stores)] == ["0"] * 3
    assert await first.claim(claim(call("c2"))) is None
    assert await stores[2].get_call("acme", "c2") == call("c2")
    for store in (first, *stores):
        await store.close()


async def test_an_upgrade_that_fails_leaves_the_first_release(first: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole or not at all: here its last table is there already."""
    await first.open()
    await fill(first)
    session: Any = await first._writer.submit(lambda tx: tx)
    before = content(session)
    session.script("CREATE TABLE surehand_settings (x INTEGER)")
    monkeypatch.setattr(schema, "HEAD", NEWEST)
    late = SqlStore(first._driver)
    with pytest.raises(StoreError, match="surehand_settings"):
        await late.open()
    assert session.revision() == FIRST
    assert content(session) == before
    session.script("DROP TABLE surehand_settings")
    await late.open()
    assert await late.create_run(run("r1"))
    await late.close()
    await first.close()


async def test_a_database_of_the_second_release_keeps_its_runs(any_url: str) -> None:
    session = open_store(any_url)._driver.writer()
    session.begin_alone()
    session.script(script_of(session.dialect, "0002"))
    session.commit()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "HEAD", "0002")
        old = open_store(any_url)
        await old.open()
    await old.create_run(run("r1"))
    new = open_store(any_url)
    await new.open()
    assert session.revision() == NEWEST
    assert await new.get_run("acme", "r1") == run("r1")
    assert await new.remember("name", "value") == "value"
    assert await take(old, "r1", "p1") == run("r1")
    for store in (old, new):
        await store.close()
    session.close()
