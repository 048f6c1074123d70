"""A bounded cache in memory, and the keys of cached replies."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Holds at most `size` values and drops the least recently used. Thread-safe."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self.size:
                self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)


def cache_key(*parts: str | Sequence[str]) -> str:
    """A key unique to these parts: the sha256 of their JSON."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
