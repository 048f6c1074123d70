"""An embedder around another: all that does not depend on how texts are embedded."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.models.embedder import Embedder


class Wrapped:
    """Says of itself what the embedder within says; `embed` is left to those that build on it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def id(self) -> str:
        return self._embedder.id

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def window(self) -> int:
        return self._embedder.window

    def token_ends(self, text: str) -> Sequence[int]:
        return self._embedder.token_ends(text)
