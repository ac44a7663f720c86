"""The store on SQLite or PostgreSQL: everything that knows SQL, and nothing that decides.

Tables and statements are written once; `sqlite` and `postgres` only run them.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from .store import SqlStore
from .tx import Driver

__all__ = ["SqlStore", "open_store"]


def open_store(url: str | Path) -> SqlStore:
    """The store at a URL, not connected before its `open()`.

    Args:
        url: `sqlite:///relative.db`, `sqlite:////absolute.db` or a `Path`; `sqlite://` for one in memory, which
            other processes cannot reach; `postgresql://...` as libpq takes it.

    Raises:
        ConfigError: Not such a URL, or psycopg is not installed.
    """
    return SqlStore(_driver(url))


def _driver(url: str | Path) -> Driver:
    if isinstance(url, Path):
        return _file(url)
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite":
        if rest in {"", "/", "/:memory:"}:
            return _file(None)
        if rest.startswith("/") and "?" not in rest:
            return _file(Path(rest[1:]))
        raise ConfigError(f"store: {url!r} must be sqlite:///relative/file.db or sqlite:////absolute/file.db")
    if separator and scheme in {"postgresql", "postgres"}:
        from .postgres import PostgresDriver

        return PostgresDriver(url)
    # Only the scheme is repeated: the rest may hold a password.
    raise ConfigError(
        f"store: a URL starts with sqlite:// or postgresql://, not with {scheme if separator else 'that'!r}"
    )


def _file(path: Path | None) -> Driver:
    from .sqlite import SqliteDriver

    # Absolute at once: the process may change its folder before it connects.
    return SqliteDriver(None if path is None else path.absolute())
