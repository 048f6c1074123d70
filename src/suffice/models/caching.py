"""An embedder with a cache, since answers and questions embed many of the same texts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from suffice.models.embedder import Embedder, Vectors
from suffice.models.wrapped import Wrapped

# Longer texts are rarely needed twice and would take too much memory.
_LONGEST = 2_000


class CachedEmbedder(Wrapped):
    """Caches the vectors of the last `most` texts. Results do not change, because the vector of a
    text does not depend on other texts. Thread-safe."""

    def __init__(self, embedder: Embedder, most: int = 4096) -> None:
        super().__init__(embedder)
        self._most = most
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return self._embedder.embed(texts)
        with self._lock:
            held = {text: self._known[text] for text in texts if text in self._known}
        fresh = [text for text in dict.fromkeys(texts) if text not in held]
        if fresh:
            held |= zip(fresh, self._embedder.embed(fresh), strict=True)
        self._remember(held)
        return np.array([held[text] for text in texts], dtype=np.float32)

    def _remember(self, held: dict[str, Vectors]) -> None:
        """Add the newest entries and drop the oldest."""
        with self._lock:
            for text, vector in held.items():
                if len(text) <= _LONGEST:
                    self._known[text] = vector.copy()  # a copy, so that the batch can be freed
                    self._known.move_to_end(text)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
