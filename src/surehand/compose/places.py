"""Where an engine keeps things: the store, the key file, the anchor. No two of them may be one file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from ..audit import Anchor, FileAnchor, MemoryAnchor
from ..errors import ConfigError
from ..ports import Store
from ..secrets import Keyring
from ..settings import Settings, shown
from ..sources import SourceSettings
from .inputs import require_methods

StorePlace: TypeAlias = "str | Path | Store"
_IN_MEMORY = ("sqlite://", "sqlite:///", "sqlite:///:memory:")
_BESIDE = ("", "-wal", "-shm", "-journal")
"""The files of a SQLite database."""


def as_store(value: StorePlace) -> StorePlace:
    """A store, or where it is.

    Raises:
        ConfigError: It is neither a URL, nor a path, nor a store.
    """
    if not isinstance(value, str | Path):
        require_methods("store", value, "open", "close", "claim")
        return value
    text = str(value)
    if "\0" in text:
        raise ConfigError("store must not hold a NUL character")
    if isinstance(value, str) and "://" not in value:
        # What may hold a password is not repeated.
        is_path = value and not set("@:=") & set(value)
        write = f"{shown(value)} is not a URL; for a file write 'sqlite:///{value}'" if is_path else "that is not a URL"
        raise ConfigError(f"store: {write}; there are sqlite:///FILE, sqlite:// (in memory) and postgresql://...")
    return value


def open_place(place: StorePlace) -> Store:
    """The store there, not connected yet."""
    if not isinstance(place, str | Path):
        return place
    from ..storage import open_store  # SQLAlchemy costs 0.2 s, and checking policies needs no store

    return open_store(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where an engine's files are, whether they are there yet or not."""

    file: Path | None
    """Of a SQLite store on disk."""
    in_memory: bool
    """Whether the store is kept nowhere."""
    ephemeral: bool
    """Whether keys and anchor are kept nowhere either: then the two paths are not used."""
    keys: Path
    anchor: Path

    def check(self) -> None:
        """Checks that each can be a file of its own.

        Raises:
            ConfigError: One is a folder, or two are one.
        """
        database = [] if self.file is None else [f"{self.file}{end}" for end in _BESIDE]
        files = {"keys": self.keys, "anchor": self.anchor}
        for name, path in files.items():
            _refuse_folder(name, path)
        of_store = {f"the database's {one}": _absolute("store", one) for one in database}
        for path in of_store.values():
            _refuse_folder("store", path)
        refuse_same({**files, **of_store})


def places_of(settings: Settings, place: StorePlace) -> Places:
    """Where the files are of an engine whose store is there. Touches none.

    Raises:
        ConfigError: Something that names a file cannot be a path.
    """
    file = _sqlite_file(place)
    keys = _absolute("keys", settings.keys or (f"{file}.keys" if file else "surehand.keys"))
    return Places(
        file=Path(file) if file else None,
        in_memory=file == "",
        ephemeral=file == "" and settings.keys is None,
        keys=keys,
        anchor=_absolute("anchor", settings.anchor or str(keys.with_name(f"{keys.stem}.anchor"))),
    )


def keys_and_anchor(settings: Settings, place: StorePlace) -> tuple[Keyring, Anchor]:
    """The keyring and the anchor of a store, in files unless the store is in memory.

    Raises:
        ConfigError: A file cannot be used, or two of them are one.
    """
    places = places_of(settings, place)
    if places.ephemeral:
        return Keyring.ephemeral(), MemoryAnchor()
    places.check()
    return Keyring.open(places.keys), FileAnchor(places.anchor)


def refuse_same(files: Mapping[str, Path]) -> None:
    """Checks that each file is one of its own: what is written to one would destroy the other.

    Raises:
        ConfigError: Two are one.
    """
    seen: dict[Any, str] = {}
    for name, path in files.items():
        for known in _identities(path):
            if seen.setdefault(known, name) != name:
                raise ConfigError(
                    f"{name} and {seen[known]} are the same file, {path}; one would destroy the other: name two files"
                )


def within(settings: Settings, folder: Path, project: Path) -> Settings:
    """The settings with all paths below the project's folder.

    Raises:
        ConfigError: The key file or the anchor is the project file.
    """
    placed: dict[str, str] = {
        name: str(folder / value)
        for name in ("keys", "anchor", "policies", "pins")
        if (value := getattr(settings, name)) is not None
    }
    file = _sqlite_file(settings.store)
    if file and not file.startswith("/"):
        placed["store"] = f"sqlite:///{folder / file}"
    if settings.keys is None and file is None:
        placed["keys"] = str(folder / "surehand.keys")
    for name in placed.keys() & {"keys", "anchor"}:
        refuse_same({name: Path(placed[name]), "the project file": project})
    sources = {name: _within(one, folder) for name, one in settings.sources.items()}
    return dataclasses.replace(settings, sources=sources, **cast("dict[str, Any]", placed))


def _within(source: SourceSettings, folder: Path) -> SourceSettings:
    """A source whose paths are below a folder."""
    if source.command:
        return msgspec.structs.replace(source, folder=str(folder / source.folder))
    if not source.document or "://" in source.document:
        return source
    return msgspec.structs.replace(source, document=str(folder / source.document))


def _sqlite_file(place: StorePlace) -> str | None:
    """The file of a SQLite store; empty for one in memory, `None` for every other store."""
    if isinstance(place, Path):
        return str(place)
    if not isinstance(place, str) or not place.startswith("sqlite:"):
        return None
    return "" if place in _IN_MEMORY else place.removeprefix("sqlite:///")


def _absolute(name: str, value: str) -> Path:
    try:
        path = Path(value).expanduser().absolute()
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"{name}: {shown(value)} cannot be a path: {error}") from error
    if not path.name:
        raise ConfigError(f"{name}: {path} is a folder; name a file in it")
    return path


def _refuse_folder(name: str, path: Path) -> None:
    if path.is_dir():
        raise ConfigError(f"{name}: {path} is a folder; name a file in it")


def _identities(path: Path) -> set[object]:
    """What a file is known by: its real path, and if it is there, its place on the disk."""
    found: set[object] = {os.path.realpath(path)}
    try:
        status = path.stat()
    except (OSError, ValueError):
        return found
    return {*found, (status.st_dev, status.st_ino)}
