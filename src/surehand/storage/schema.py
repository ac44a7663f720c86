"""Brings the schema up to date, one way for both databases.

Alembic writes the script (its offline mode), the store's own driver runs it in one transaction. Alembic is imported
only when there is something to do: it takes longer to import than the rest of the package.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from ..errors import StoreError
from .tx import SchemaSession

HEAD = "0009"
"""The newest revision in `migrations/versions`; a test compares."""
MIGRATIONS = Path(__file__).parent / "migrations"


def bring_up_to_date(session: SchemaSession) -> None:
    """Runs the missing migrations. Safe in several processes at once: the second finds nothing to do.

    Raises:
        StoreError: The database is newer than this package, or cannot be used.
    """
    try:
        if session.revision() == HEAD:
            return
        session.begin_alone()
        stored = session.revision()
        if stored != HEAD:
            session.script(upgrade_script(session.dialect, stored))
        session.commit()
    except Exception as error:
        trouble = session.understand(error)
        session.rollback()
        raise trouble.error from error


def upgrade_script(dialect: str, stored: str | None) -> str:
    """The SQL from a stored revision to the newest.

    Raises:
        StoreError: The stored revision is unknown, so it comes from a newer package.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    script = StringIO()
    config = Config(output_buffer=script)
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["dialect"] = dialect
    known = {revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()}
    if stored is not None and stored not in known:
        raise StoreError(
            f"the database has schema {stored}, which is newer than this version of surehand knows ({HEAD}): "
            "upgrade the package"
        )
    command.upgrade(config, f"{stored or 'base'}:head", sql=True)
    return script.getvalue()
