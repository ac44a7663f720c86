"""Tables, migrations and records say the same."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.pool import StaticPool

from surehand.approval import Approval, Grant
from surehand.audit import AuditRow, Checkpoint
from surehand.ledger import CallRecord
from surehand.ports import Delegation, RunRecord, StoredEvent, TurnRecord
from surehand.storage import open_store, schema, tables


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Give SQLAlchemy's view of an empty database."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url").replace("postgresql:", "postgresql+psycopg:")
        engine = create_engine(url)
    else:
        engine = create_engine("sqlite://", poolclass=StaticPool)
    yield engine
    engine.dispose()


def migrate(engine: Engine) -> None:
    script = schema.upgrade_script(engine.dialect.name, None)
    with engine.begin() as connection:
        for statement in filter(str.strip, script.split(";")):
            connection.execute(text(statement))


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == schema.HEAD


def test_migrations_make_what_the_tables_say(engine: Engine) -> None:
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": tables.VERSION_TABLE, "compare_type": True, "compare_server_default": True},
        )
        assert compare_metadata(context, tables.metadata) == []


def test_migrations_make_the_same_indexes(engine: Engine) -> None:
    """Alembic compares neither the conditions of indexes nor keys."""

    def made() -> dict[str, str]:
        found = inspect(engine)
        names = set(found.get_table_names()) - {tables.VERSION_TABLE}
        keys = {name: [found.get_pk_constraint(name), *found.get_indexes(name)] for name in names}
        return {name: json.dumps(keys[name], default=str) for name in names}

    migrate(engine)
    migrated = made()
    tables.metadata.drop_all(engine)
    tables.metadata.create_all(engine)
    assert made() == migrated
    assert len(migrated) == len(tables.metadata.tables)


@pytest.mark.parametrize(
    ("table", "record", "beside"),
    [
        (tables.calls, CallRecord, ()),
        (tables.approvals, Approval, ("votes",)),
        (tables.audit, AuditRow, ()),
        (tables.checkpoints, Checkpoint, ()),
        (tables.runs, RunRecord, ()),
        (tables.turns, TurnRecord, ()),
        (tables.run_events, StoredEvent, ()),
        (tables.grants, Grant, ()),
        (tables.delegations, Delegation, ()),
    ],
)
def test_columns_are_the_fields_in_their_order(table: tables.Table, record: type, beside: tuple[str, ...]) -> None:
    fields = [field for field in record.__struct_fields__ if field not in beside]
    assert [column.name for column in table.columns] == fields


def test_a_script_runs_to_its_end(any_url: str) -> None:
    session = open_store(any_url)._driver.writer()
    session.begin_alone()
    session.script("CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1) RETURNING x; CREATE TABLE b (x INTEGER);")
    session.commit()
    session.script("SELECT x FROM b")
    session.close()


@pytest.mark.timeout(30)
async def test_stores_that_open_an_empty_database_at_once(any_url: str) -> None:
    stores = [open_store(any_url) for _ in range(6)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(*(store.close() for store in stores))
    session = stores[0]._driver.writer()
    assert session.revision() == schema.HEAD
    session.close()
