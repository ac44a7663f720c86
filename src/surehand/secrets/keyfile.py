"""The file that holds the keys: made once, complete or not at all, and read by its owner only."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from surehand.errors import ConfigError

FORMAT = "surehand-keys"
VERSION = 1
KEY_BYTES = 32
MAX_FILE_BYTES = 1 << 20


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """Three independent keys, 32 random bytes each."""

    sealing: tuple[bytes, ...]
    """AES-256-GCM. The first seals; the others only open what they sealed."""
    index: bytes
    """HMAC-SHA256. Never rotated: keys of effects depend on it."""
    signing: bytes
    """Seed of the Ed25519 key."""

    def __repr__(self) -> str:
        return f"Keys({len(self.sealing)} sealing, 1 index, 1 signing)"

    @classmethod
    def generate(cls) -> Keys:
        """Fresh keys from the system's random source."""
        return cls(sealing=(os.urandom(KEY_BYTES),), index=os.urandom(KEY_BYTES), signing=os.urandom(KEY_BYTES))

    def rotated(self) -> Keys:
        """The same keys with a fresh one for sealing."""
        return Keys(sealing=(os.urandom(KEY_BYTES), *self.sealing), index=self.index, signing=self.signing)


def key_id(key: bytes) -> str:
    """Names a key without telling it: 16 hex characters of a hash. Also shows that a key in the file is whole."""
    return hashlib.sha256(b"surehand.key-id.1\0" + key).hexdigest()[:16]


def read(path: Path) -> Keys:
    """Reads a key file.

    Raises:
        FileNotFoundError: There is none.
        ConfigError: Others can read it, it is not ours, or it is broken.
    """
    try:
        # Checked on what was opened: the name may mean another file a moment later.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            _check_access(path, os.fstat(descriptor))
            text = file.read(MAX_FILE_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"key file {path} cannot be read: {error.strerror}") from error
    return _decode(path, text)


def create(path: Path, keys: Keys) -> None:
    """Makes the file, unless another process was faster: then that one's file stays as it is.

    Raises:
        ConfigError: It cannot be written.
    """
    with _complete_file(path, keys) as whole, suppress(FileExistsError):
        # A link appears with its whole content or not at all, and never takes an existing file's place.
        os.link(whole, path)


def replace(path: Path, keys: Keys) -> None:
    """Puts new content in the place of an existing file at once. The caller holds `locked(path)`.

    Raises:
        ConfigError: It cannot be written.
    """
    with _complete_file(path, keys) as whole:
        os.replace(whole, path)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Keeps other processes from changing the file meanwhile. Locks its folder, since the file itself is replaced."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check_access(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"key file {path} is not a regular file")
    if status.st_mode & 0o077:
        raise ConfigError(
            f"key file {path} can be used by others (mode {stat.S_IMODE(status.st_mode):04o}); "
            f"run: chmod 600 '{path}', and replace the keys if somebody may have read them"
        )
    if status.st_uid not in (os.geteuid(), 0):
        raise ConfigError(f"key file {path} belongs to user {status.st_uid}; run: chown $(id -u) '{path}'")


@contextmanager
def _complete_file(path: Path, keys: Keys) -> Generator[Path]:
    """A durable temporary file beside `path`; what became of it is durable too when this ends."""
    if not path.parent.is_dir():
        raise ConfigError(f"key file {path} cannot be made: the folder {path.parent} does not exist")
    whole = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    try:
        descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_encode(keys))
                file.flush()
                os.fsync(descriptor)
            yield whole
            _sync_folder(path.parent)
        finally:
            whole.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"key file {path} cannot be written: {error.strerror}") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _encode(keys: Keys) -> bytes:
    def entry(key: bytes) -> dict[str, str]:
        return {"id": key_id(key), "key": key.hex()}

    content = {
        "format": FORMAT,
        "version": VERSION,
        "sealing": [entry(key) for key in keys.sealing],
        "index": entry(keys.index),
        "signing": entry(keys.signing),
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


class _Entry(msgspec.Struct, frozen=True):
    id: str
    key: str

    def value(self) -> bytes:
        key = bytes.fromhex(self.key)
        if len(key) != KEY_BYTES or key_id(key) != self.id:
            raise ValueError
        return key


class _Content(msgspec.Struct, frozen=True):
    sealing: tuple[_Entry, ...]
    index: _Entry
    signing: _Entry


def _decode(path: Path, text: bytes) -> Keys:
    try:
        head: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise ConfigError(f"{path} is not a Surehand key file; name another one, or restore it from a backup")
    if head.get("version") != VERSION:  # pyright: ignore[reportUnknownMemberType]
        raise ConfigError(f"key file {path} was written by another version of Surehand; this one reads {VERSION}")
    try:
        content = msgspec.convert(head, _Content)
        keys = Keys(
            sealing=tuple(entry.value() for entry in content.sealing),
            index=content.index.value(),
            signing=content.signing.value(),
        )
    except (msgspec.ValidationError, ValueError):
        # Neither message nor cause: both could quote a key.
        raise ConfigError(f"key file {path} is damaged; restore it from a backup") from None
    if not keys.sealing:
        raise ConfigError(f"key file {path} is damaged; restore it from a backup")
    return keys
