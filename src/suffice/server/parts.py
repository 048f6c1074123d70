"""The parts that all routes share: documents, search index and models."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace

from suffice.errors import StoreMissing
from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.evidence.search import Search
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.settings import SearchSettings

_FOLLOW = 30.0
"""Seconds before the index of a store on a database server is reopened, to see documents that other
processes added."""


@dataclass
class Parts:
    """The library and the models, opened once and shared between threads."""

    library: Library
    embedder: Embedder
    verifier: Verifier
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _opened: Search | None = None
    _when: float = 0.0

    def search(self, allowed: Filter, settings: SearchSettings) -> Search | None:
        """A search over the documents that the filter allows; `None` if nothing is indexed yet."""
        opened = self._search()
        return replace(opened, allowed=allowed, settings=settings) if opened else None

    def _search(self) -> Search | None:
        with self._lock:
            remote = self.library.store.database.path is None
            if self._opened and not (remote and time.monotonic() - self._when > _FOLLOW):
                return self._opened
            try:
                self._opened = replace(self.library.search(), embedder=self.embedder)
            except StoreMissing:  # nothing is indexed yet
                return None
            self._when = time.monotonic()
            return self._opened
