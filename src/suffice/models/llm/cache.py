"""A thread-safe LRU cache of judgements, in memory."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Holds at most `size` values and drops the least recently used."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._held: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: str, value: V) -> None:
        with self._lock:
            self._held[key] = value
            self._held.move_to_end(key)
            while len(self._held) > self.size:
                self._held.popitem(last=False)

    def __len__(self) -> int:
        return len(self._held)


def cache_key(*parts: str | Sequence[str]) -> str:
    """A key unique to these parts: the sha256 of their JSON."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
