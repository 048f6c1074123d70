"""An embedder at an OpenAI-compatible embeddings URL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.models.embedder import OnnxEmbedder, Vectors, pooled_vectors, windows
from suffice.models.wire.client import ask
from suffice.models.wire.endpoint import Endpoint, endpoint_url
from suffice.settings import EmbedderSettings

_TEXTS_A_CALL = 64


@dataclass(frozen=True)
class RemoteEmbedder:
    """Sends texts to the URL unchanged. The built-in tokenizer is only used for splitting."""

    endpoint: Endpoint
    model: str
    window: int
    counter: OnnxEmbedder

    @classmethod
    def open(cls, settings: EmbedderSettings, counter: OnnxEmbedder) -> RemoteEmbedder:
        """Create the embedder without a request, so that it opens even if the endpoint is down."""
        url = endpoint_url(settings.model, "embeddings")
        key = os.environ.get(settings.key_env, "").strip()
        endpoint = Endpoint(url, key, "vectors", settings.timeout)
        return cls(endpoint, settings.remote_model, settings.window_tokens, counter)

    @property
    def id(self) -> str:
        return f"{self.endpoint.url}#{self.model}"

    @cached_property
    def dimension(self) -> int:
        return int(self._ask(["size"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [windows(text, self.token_ends(text), self.window) for text in texts]
        flat = [part for text in parts for part in text]
        portions = [flat[i : i + _TEXTS_A_CALL] for i in range(0, len(flat), _TEXTS_A_CALL)]
        vectors = np.concatenate([self._ask(portion) for portion in portions])
        return pooled_vectors(parts, vectors, [max(len(part), 1) for part in flat])

    def token_ends(self, text: str) -> Sequence[int]:
        return self.counter.token_ends(text)

    def _ask(self, texts: Sequence[str]) -> Vectors:
        reply = ask(self.endpoint, {"model": self.model, "input": list(texts)})
        try:
            return _vectors(reply, len(texts))
        except (ValueError, KeyError, TypeError) as problem:
            raise self.endpoint.problem(
                f"its reply has an unexpected shape: {problem}",
                "Check embedder.model and embedder.remote_model.",
            ) from problem


def _vectors(reply: Any, expected: int) -> Vectors:
    rows = sorted(reply["data"], key=lambda row: row["index"])
    vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != expected:
        raise ValueError(f"{len(rows)} vectors for {expected} texts")
    return vectors
