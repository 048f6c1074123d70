"""An embedder behind an OpenAI-compatible embeddings URL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import ModelUnreachable
from suffice.models.embedder import OnnxEmbedder, Vectors, unit
from suffice.settings import EmbedderSettings

_TEXTS_A_CALL = 64


@dataclass(frozen=True)
class RemoteEmbedder:
    """Texts are sent to the URL as they are; only their cutting uses a tokenizer of our own."""

    id: str
    dimension: int
    url: str
    model: str
    key: str
    timeout: float
    counter: OnnxEmbedder

    @property
    def window(self) -> int:
        return self.counter.window

    @classmethod
    def open(cls, settings: EmbedderSettings, counter: OnnxEmbedder) -> RemoteEmbedder:
        """Asks for one vector, to know its size."""
        url = settings.model.rstrip("/").removesuffix("/embeddings") + "/embeddings"
        key = os.environ.get(settings.key_env, "")
        name = settings.remote_model
        first = cls(f"{url}#{name}", 0, url, name, key, settings.timeout, counter)
        size = first.embed(["size"]).shape[1]
        return cls(first.id, size, url, name, key, settings.timeout, counter)

    def embed(self, texts: Sequence[str]) -> Vectors:
        portions = [texts[i : i + _TEXTS_A_CALL] for i in range(0, len(texts), _TEXTS_A_CALL)]
        return unit(np.concatenate([self._ask(portion) for portion in portions]))

    def token_ends(self, text: str) -> Sequence[int]:
        return self.counter.token_ends(text)

    def _ask(self, texts: Sequence[str]) -> Vectors:
        import httpx2

        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        body = {"model": self.model, "input": list(texts)}
        try:
            reply = httpx2.post(self.url, json=body, headers=headers, timeout=self.timeout)
            reply.raise_for_status()
            return self._vectors(reply.json(), len(texts))
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as problem:
            raise ModelUnreachable(
                f"{self.url} gave no vectors: {problem}",
                remedy="Check embedder.model, embedder.remote_model and the key's variable.",
            ) from problem

    def _vectors(self, reply: Any, expected: int) -> Vectors:
        rows = sorted(reply["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != expected:
            raise ValueError(f"{len(rows)} vectors for {expected} texts")
        if self.dimension and vectors.shape[1] != self.dimension:
            raise ValueError(f"vectors of {vectors.shape[1]} numbers, not {self.dimension}")
        return vectors
