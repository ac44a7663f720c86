"""A bounded memory of things that can be worked out again."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """A mapping that forgets the oldest entry when full. Thread-safe; reading takes no lock."""

    def __init__(self, entries_max: int) -> None:
        self._entries: dict[K, V] = {}
        self._entries_max = entries_max
        self._lock = Lock()
        self.get = self._entries.get

    def put(self, key: K, value: V) -> V:
        """Stores and returns the value."""
        with self._lock:
            self._entries[key] = value
            if len(self._entries) > self._entries_max:
                del self._entries[next(iter(self._entries))]
        return value

    def __len__(self) -> int:
        return len(self._entries)
