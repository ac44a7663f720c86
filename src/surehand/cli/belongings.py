"""What a project keeps, for `surehand doctor`: the key file, the anchor, the database, and what lies open in it.

Reads only: no file is made, no schema is upgraded, no work of a dead process is taken over.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SurehandError
from .doctor import Finding
from .printer import local_time

if TYPE_CHECKING:
    from ..compose.places import Places
    from ..secrets import Keyring
    from ..settings import Settings

_SQLITE_LEAST = (3, 51, 3)
"""Older ones can corrupt a database in WAL mode that has several connections."""
_DRIFT_S = 1.0
_DRIFT_MOST_S = 60.0
_MOST = 1000


def examine(settings: Settings, folder: Path, project: Path) -> Iterable[Finding]:
    """Everything that the project keeps.

    Raises:
        SurehandError: It cannot be looked at.
    """
    from ..compose.places import places_of, within

    placed = within(settings, folder, project)
    places = places_of(placed, placed.store)
    keyring = None
    if not places.ephemeral:
        key_finding, keyring = _keys(places)
        yield key_finding
        yield _anchor(places)
    yield from _store(placed.store, places, keyring, settings.limits.lease_s)


def _keys(places: Places) -> tuple[Finding, Keyring | None]:
    from ..secrets import Keyring

    path = places.keys
    if not path.exists():
        if places.file is not None and places.file.exists():
            advice = "restore it from a backup: what is stored opens with it only"
            return Finding("problem", "key file", f"{path} is missing, and the database is there", advice), None
        return Finding("ok", "key file", f"{path} is not there yet; it is made on first use"), None
    try:
        keyring = Keyring.open(path, create=False)
    except SurehandError as error:
        return Finding("problem", "key file", str(error)), None
    mode = stat.S_IMODE(path.stat().st_mode)
    ids = f"index {keyring.index_key_id}, signing {keyring.public_key_id}, sealing {keyring.sealing_key_id}"
    return Finding("ok", "key file", f"{path}, mode {mode:04o}, {ids}"), keyring


def _anchor(places: Places) -> Finding:
    path, file = places.anchor, places.file
    try:
        places.check()
    except SurehandError as error:
        return Finding("problem", "anchor", str(error))
    target = path if path.exists() else path.parent
    if not os.access(target, os.W_OK):
        return Finding("problem", "anchor", f"{path} cannot be written", "let this user write it, or name another file")
    if file is not None and path.parent.resolve() == file.parent.resolve():
        advice = "whoever rewrites the one can rewrite the other: set anchor = to a place of its own"
        return Finding("warning", "anchor", f"{path} is beside the database", advice)
    return Finding("ok", "anchor", f"{path}")


def _store(url: str, places: Places, keyring: Keyring | None, lease_s: float) -> Iterator[Finding]:
    from ..storage.schema import HEAD

    if places.in_memory:
        yield _sqlite_library()
        yield Finding("warning", "store", "in memory, so nothing is kept", 'name a file: store = "sqlite:///FILE"')
        return
    if places.file is not None:
        yield _sqlite_library()
        if not places.file.exists():
            yield _new_file(places.file)
            return
        revision = _revision_of_sqlite(places.file)
    else:
        revision, findings = _postgres(url)
        yield from findings
    schema = _schema(places.file or "the database", revision, HEAD)
    yield schema
    if revision == HEAD:
        yield from asyncio.run(_open_work(url, keyring, lease_s))


def _sqlite_library() -> Finding:
    from ..storage.sqlite import SqliteSession

    session = SqliteSession(None)
    version = str(next(iter(session.connection.execute("SELECT sqlite_version()")))[0])
    session.close()
    if tuple(int(part) for part in version.split(".")) < _SQLITE_LEAST:
        least = ".".join(map(str, _SQLITE_LEAST))
        return Finding("problem", "SQLite", f"{version}, by apsw", f"it needs {least}: pip install --upgrade apsw")
    return Finding("ok", "SQLite", f"{version}, by apsw")


def _new_file(file: Path) -> Finding:
    if os.access(file.parent, os.W_OK):
        return Finding("ok", "store", f"{file} is not there yet; it is made on first use")
    return Finding(
        "problem", "store", f"{file} cannot be made", f"make the folder {file.parent}, or let this user write"
    )


def _revision_of_sqlite(file: Path) -> str | None:
    from ..storage.sqlite import SqliteDriver

    session = SqliteDriver(file).reader()
    try:
        return session.revision()
    finally:
        session.close()


def _postgres(url: str) -> tuple[str | None, list[Finding]]:
    from ..storage.postgres import PostgresDriver

    session = PostgresDriver(url).reader()
    try:
        before = time.time()
        (version, at), *_ = _rows(
            session, b"SELECT current_setting('server_version'), extract(epoch from clock_timestamp())::float8"
        )
        after = time.time()
        return session.revision(), [Finding("ok", "PostgreSQL", str(version)), clock(float(at), before, after)]
    finally:
        session.close()


def _rows(session: Any, sql: bytes) -> list[Any]:
    return session.connection.execute(sql).fetchall()


def clock(at: float, before: float, after: float) -> Finding:
    """The database's time against the time here when it was asked and when it had answered."""
    off = max(before - at, at - after, 0.0)
    if off <= _DRIFT_S:
        return Finding("ok", "clock", f"as the database's, to {max(off, (after - before)):.3f} s")
    state = "problem" if off > _DRIFT_MOST_S else "warning"
    advice = "let both follow a time server: approvals expire by the clock here, leases by the database's"
    return Finding(state, "clock", f"{off:.1f} s off the database's", advice)


def _schema(where: object, revision: str | None, newest: str) -> Finding:
    if revision == newest:
        return Finding("ok", "store", f"{where}, schema {revision}")
    if revision is None:
        return Finding("ok", "store", f"{where} has no tables yet; they are made on first use")
    if revision > newest:
        return Finding("problem", "store", f"{where}, schema {revision}, newer than {newest}", "upgrade surehand")
    advice = "the next command upgrades it: back it up, and stop older processes first"
    return Finding("warning", "store", f"{where}, schema {revision} of {newest}", advice)


async def _open_work(url: str, keyring: Keyring | None, lease_s: float) -> list[Finding]:
    from ..storage import open_store

    store = open_store(url)
    await store.open()
    try:
        tenants = await store.tenants()
        unknown = [len(await store.list_calls(one, statuses=("unknown",), limit=_MOST)) for one in tenants]
        orphans = await store.orphans(now_us=time.time_ns() // 1000, silent_us=int(lease_s * 1_000_000), limit=_MOST)
        unsealed = [len(await store.unsealed(one)) for one in await store.tenants(unsealed=True)]
        matches = [] if keyring is None or not tenants else [await _matches(store, keyring)]
        published = await store.control_history(kind="policies", limit=1)
    finally:
        await store.close()
    return [
        *matches,
        *(
            Finding("ok", "policies", f"set by {one.by}, {local_time(one.at_us)}; `surehand policy versions` shows it")
            for one in published
        ),
        _count("unknown calls", sum(unknown), "`surehand call unknown list` shows them, `... resolve` settles them"),
        _count("orphans", len(orphans), "their process died: the next command finds out what became of them"),
        _count(
            "unsealed records", sum(unsealed), "`surehand audit verify` seals them, unless a process that runs does"
        ),
    ]


async def _matches(store: Any, keyring: Keyring) -> Finding:
    kept = {name: await store.remember(name, mine) for name, mine in _ids(keyring).items()}
    if kept == _ids(keyring):
        return Finding("ok", "keys", "those that the database was made with")
    return Finding(
        "problem",
        "keys",
        "not those that the database was made with",
        "restore that key file; never delete the database",
    )


def _ids(keyring: Keyring) -> dict[str, str]:
    return {"keys.index": keyring.index_key_id, "keys.public": keyring.public_key_id}


def _count(check: str, number: int, advice: str) -> Finding:
    if not number:
        return Finding("ok", check, "none")
    return Finding("warning", check, f"{number}{' or more' if number >= _MOST else ''}", advice)
