"""An embedder that remembers: the steps of one answer embed the same texts, and so do the answers
to different questions from the same passages."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from suffice.models.embedder import Embedder, Vectors
from suffice.models.wrapped import Wrapped

# A text longer than this is seldom asked for twice, and would take room.
_LONGEST = 2_000


class CachedEmbedder(Wrapped):
    """Any embedder, with the vectors of the last `most` texts kept. The vectors are the same as
    without: a text's vector depends on no other text. Safe to share between threads."""

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
        """Keeps these as the newest, and forgets the oldest."""
        with self._lock:
            for text, vector in held.items():
                if len(text) <= _LONGEST:
                    self._known[text] = vector.copy()  # a row alone, not the batch it is of
                    self._known.move_to_end(text)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
