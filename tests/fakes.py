"""Small real parts for tests: an embedder that needs no weights, and documents in a line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.evidence.rows import Vectors


@dataclass(frozen=True)
class HashEmbedder:
    """Each word a direction: texts that share words are near. Same text, same vector, anywhere."""

    id: str = "hash-1"
    dimension: int = 64
    window: int = 128

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.array([self._vector(text) for text in texts], dtype=np.float32)
        return vectors.reshape(len(texts), self.dimension)

    def token_ends(self, text: str) -> Sequence[int]:
        return [match.end() for match in re.finditer(r"\w+|[^\w\s]", text)]

    def _vector(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 1e-3)
        for word in re.findall(r"\w+", text.lower()):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            vector += np.random.default_rng(seed).normal(size=self.dimension)
        scaled: Vectors = (vector / np.linalg.norm(vector)).astype(np.float32)
        return scaled
