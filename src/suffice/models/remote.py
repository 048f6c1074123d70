"""An embedder behind an OpenAI-compatible embeddings URL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.errors import ModelUnreachable
from suffice.models.embedder import OnnxEmbedder, Vectors, pooled, windows
from suffice.settings import EmbedderSettings

_TEXTS_A_CALL = 64


@dataclass(frozen=True)
class RemoteEmbedder:
    """Texts are sent to the URL as they are; only their cutting uses a tokenizer of our own."""

    url: str
    model: str
    key: str
    window: int
    timeout: float
    counter: OnnxEmbedder

    @classmethod
    def open(cls, settings: EmbedderSettings, counter: OnnxEmbedder) -> RemoteEmbedder:
        """Asks nothing yet: while the URL is out of reach, a search can go on by keywords."""
        url = settings.model.rstrip("/").removesuffix("/embeddings") + "/embeddings"
        key = os.environ.get(settings.key_env, "")
        return cls(url, settings.remote_model, key, settings.window, settings.timeout, counter)

    @property
    def id(self) -> str:
        return f"{self.url}#{self.model}"

    @cached_property
    def dimension(self) -> int:
        return int(self._ask(["size"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [windows(text, self.token_ends(text), self.window) for text in texts]
        flat = [part for text in parts for part in text]
        portions = [flat[i : i + _TEXTS_A_CALL] for i in range(0, len(flat), _TEXTS_A_CALL)]
        vectors = np.concatenate([self._ask(portion) for portion in portions])
        return pooled(parts, vectors, [max(len(part), 1) for part in flat])

    def token_ends(self, text: str) -> Sequence[int]:
        return self.counter.token_ends(text)

    def _ask(self, texts: Sequence[str]) -> Vectors:
        import httpx2

        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        body = {"model": self.model, "input": list(texts)}
        try:
            reply = httpx2.post(self.url, json=body, headers=headers, timeout=self.timeout)
            reply.raise_for_status()
            return _vectors(reply.json(), len(texts))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError) as problem:
            raise ModelUnreachable(
                f"{self.url} gave no vectors: {problem}",
                remedy="Check embedder.model, embedder.remote_model and the key's variable.",
            ) from problem


def _vectors(reply: Any, expected: int) -> Vectors:
    rows = sorted(reply["data"], key=lambda row: row["index"])
    vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != expected:
        raise ValueError(f"{len(rows)} vectors for {expected} texts")
    return vectors
