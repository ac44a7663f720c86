"""Run by Alembic: writes a script for the dialect asked for. There is no online mode; see `storage/schema.py`."""

from __future__ import annotations

from alembic import context

from surehand.storage.tables import VERSION_TABLE, metadata

context.configure(
    dialect_name=context.config.attributes["dialect"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=False,  # the driver that runs the script opens the transaction
)
context.run_migrations()
