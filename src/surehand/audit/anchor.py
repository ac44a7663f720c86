"""Where checkpoints are kept outside the database, so that who can write the one cannot rewrite both.

Put a `FileAnchor` where the database's user may not write, or ship its lines to where nobody can change them. One
who can cut the newest rows off the database and the newest lines off the anchor leaves no trace of them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from surehand.errors import AuditError
from surehand.spec.hashes import canonical_json

from .record import Checkpoint

MAX_FAULTS = 100
_READ_BYTES = 1 << 20


class Anchored(msgspec.Struct, frozen=True, kw_only=True):
    """What an anchor holds of one tenant."""

    checkpoints: tuple[Checkpoint, ...] = ()
    """In the order in which they were written."""
    faults: tuple[str, ...] = ()
    """Signs that the anchor itself was edited or cut, of whatever tenant; at most 100."""
    torn_lines: int = 0
    """Lines that a crash left incomplete. What they held was written again, or will be."""


class Anchor(Protocol):
    """Keeps checkpoints for ever. Blocking: call it from a thread."""

    def append(self, checkpoints: Sequence[Checkpoint]) -> int:
        """Keeps checkpoints, durable on return, and gives how many were new.

        Pass all that the database has after `last(tenant)`, oldest first: what a crash kept from the anchor is
        made up for, and what is already there is not written twice.

        Raises:
            AuditError: It cannot be written, or holds something else at the same place of the chain.
        """
        ...

    def last(self, tenant: str) -> Checkpoint | None:
        """The newest checkpoint of a tenant.

        Raises:
            AuditError: It cannot be read.
        """
        ...

    def tenants(self) -> frozenset[str]:
        """All that have a checkpoint here, whatever the database says.

        Raises:
            AuditError: It cannot be read.
        """
        ...

    def read(self, tenant: str) -> Anchored:
        """All of one tenant.

        Raises:
            AuditError: It cannot be read.
        """
        ...


class MemoryAnchor:
    """An anchor for memory stores and tests: lasts as long as the process."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Checkpoint]] = {}

    def append(self, checkpoints: Sequence[Checkpoint]) -> int:
        """See `Anchor`."""
        new = 0
        for statement in checkpoints:
            kept = self._kept.setdefault(statement.tenant, [])
            if _is_new(statement, kept[-1] if kept else None, kept):
                kept.append(statement)
                new += 1
        return new

    def last(self, tenant: str) -> Checkpoint | None:
        """See `Anchor`."""
        kept = self._kept.get(tenant)
        return kept[-1] if kept else None

    def tenants(self) -> frozenset[str]:
        """See `Anchor`."""
        return frozenset(self._kept)

    def read(self, tenant: str) -> Anchored:
        """See `Anchor`."""
        return Anchored(checkpoints=tuple(self._kept.get(tenant, ())))


class FileAnchor:
    """An append-only file of JSON lines, shared by all tenants and by all processes of one machine.

    Each line names the hash of the line before it, so that a cut or edited line shows. Made with mode 0600 when
    first written. A line that a crash left incomplete stays as it is; the next one goes below it.

    Args:
        path: In an existing folder. The file must be on a disk of this machine, where `flock` holds.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).expanduser().absolute()
        self._tail = _Tail()
        # The file lock keeps processes apart; this one keeps threads that only read from sharing the tail.
        self._mutex = threading.Lock()

    def append(self, checkpoints: Sequence[Checkpoint]) -> int:
        """See `Anchor`."""
        if not checkpoints:
            return 0
        with self._mutex, self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT, fcntl.LOCK_EX) as file:
            tail = self._catch_up(file)
            new: list[Checkpoint] = []
            newest = dict(tail.newest)
            for statement in checkpoints:
                tenant = statement.tenant
                before = newest.get(tenant)
                older = before is not None and statement.seq < before.seq
                if _is_new(statement, before, _read_all(file, tenant).checkpoints if older else ()):
                    new.append(statement)
                    newest[tenant] = statement
            if new:
                self._write(file, tail, new)
        return len(new)

    def last(self, tenant: str) -> Checkpoint | None:
        """See `Anchor`."""
        if not self._path.exists():
            return None
        with self._mutex, self._open(os.O_RDONLY, fcntl.LOCK_SH) as file:
            return self._catch_up(file).newest.get(tenant)

    def tenants(self) -> frozenset[str]:
        """See `Anchor`."""
        if not self._path.exists():
            return frozenset()
        with self._mutex, self._open(os.O_RDONLY, fcntl.LOCK_SH) as file:
            return frozenset(self._catch_up(file).newest)

    def read(self, tenant: str) -> Anchored:
        """See `Anchor`. Reads the whole file; keeps the checkpoints of one tenant in memory."""
        if not self._path.exists():
            return Anchored()
        with self._open(os.O_RDONLY, fcntl.LOCK_SH) as file:
            return _read_all(file, tenant)

    @contextmanager
    def _open(self, flags: int, lock: int) -> Generator[int]:
        # Opened anew each time: the file may have been moved away or restored meanwhile.
        try:
            new = not self._path.exists()
            file = os.open(self._path, flags | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, lock)
                if new:
                    _sync_folder(self._path.parent)
                yield file
            finally:
                os.close(file)
        except OSError as error:
            raise AuditError(f"anchor {self._path} cannot be used: {error.strerror}") from error

    def _catch_up(self, file: int) -> _Tail:
        """Reads what other processes have appended since this one last looked. The caller holds a lock."""
        if not self._tail.is_of(file):
            self._tail = _Tail()
        self._tail.read(file)
        return self._tail

    def _write(self, file: int, tail: _Tail, checkpoints: Sequence[Checkpoint]) -> None:
        # Lines end with a newline, so one that does not was cut off by a crash: it stays, and is hashed as it is.
        data = bytearray(b"\n" if tail.rest else b"")
        previous = _hash(tail.rest) if tail.rest else tail.previous
        for statement in checkpoints:
            line = canonical_json({"checkpoint": msgspec.to_builtins(statement), "previous": previous})
            previous = _hash(line)
            data += line + b"\n"
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
        tail.read(file)


class _Line(msgspec.Struct, frozen=True):
    checkpoint: Checkpoint
    previous: str


_decoder = msgspec.json.Decoder(_Line)


class _Tail:
    """How far a file was read: the newest checkpoint of each tenant, and the hash that the next line names."""

    def __init__(self) -> None:
        self.complete = 0
        """Bytes up to the end of the last complete line."""
        self.line = b""
        """The last complete line."""
        self.previous = ""
        """Its hash."""
        self.rest = b""
        """What follows the last complete line."""
        self.newest: dict[str, Checkpoint] = {}

    def is_of(self, file: int) -> bool:
        """Whether the file still has the line where it was: else it was cut, restored or replaced."""
        if not self.complete:
            return True
        size = len(self.line) + 1
        return os.pread(file, size, self.complete - size) == self.line + b"\n"

    def read(self, file: int) -> None:
        """Reads on from the last complete line."""
        self.rest = b""
        for text, complete in _lines(file, self.complete):
            if (line := _parse(text)) is not None:
                held = self.newest.get(line.checkpoint.tenant)
                if held is None or held.seq < line.checkpoint.seq:
                    self.newest[line.checkpoint.tenant] = line.checkpoint
            if complete:
                self.complete += len(text) + 1
                self.line, self.previous = text, _hash(text)
            else:
                self.rest = text


def _is_new(statement: Checkpoint, last: Checkpoint | None, kept: Sequence[Checkpoint]) -> bool:
    if last is None or statement.seq > last.seq:
        return True
    place = f"seq {statement.seq} of tenant {statement.tenant}"
    found = {held.chain for held in (*kept, last) if held.seq == statement.seq}
    if not found:
        raise AuditError(f"the anchor already holds seq {last.seq} but not {place}: pass missing checkpoints in order")
    if found != {statement.chain}:
        raise AuditError(
            f"the anchor holds another chain at {place}: the database was set back or rewritten; run an audit verify"
        )
    return False


def _read_all(file: int, tenant: str) -> Anchored:
    found: list[Checkpoint] = []
    faults: list[str] = []
    previous = ""
    torn = unreadable = 0
    for number, (text, _) in enumerate(_lines(file, 0), 1):
        line = _parse(text)
        if line is None:
            unreadable += 1
        else:
            if line.previous == previous:
                # The line below names what a crash left above it as it is: torn, not edited.
                torn += unreadable
            elif len(faults) < MAX_FAULTS:
                faults.append(f"line {number} does not follow the line before it: lines were cut, moved or changed")
            unreadable = 0
            if line.checkpoint.tenant == tenant:
                found.append(line.checkpoint)
        previous = _hash(text)
    return Anchored(checkpoints=tuple(found), faults=tuple(faults), torn_lines=torn + unreadable)


def _lines(file: int, start: int) -> Generator[tuple[bytes, bool]]:
    """Lines from an offset, each with whether its newline is there. Reads at the offset, so threads never mix."""
    rest = b""
    while block := os.pread(file, _READ_BYTES, start):
        start += len(block)
        *complete, rest = (rest + block).split(b"\n")
        for line in complete:
            yield line, True
    if rest:
        yield rest, False


def _parse(text: bytes) -> _Line | None:
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _hash(line: bytes) -> str:
    return hashlib.sha256(b"surehand.audit.anchor.1\n" + line).hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
