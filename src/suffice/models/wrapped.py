"""Base classes for embedders and verifiers that wrap another and forward its properties."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.models.embedder import Embedder
from suffice.models.verifier import Thresholds, Verifier


class Wrapped:
    """Forwards the properties of the wrapped embedder; subclasses implement `embed`."""

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


class WrappedVerifier:
    """Forwards the properties of the wrapped verifier."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    @property
    def id(self) -> str:
        return self._verifier.id

    @property
    def tier(self) -> str:
        return self._verifier.tier

    @property
    def thresholds(self) -> Thresholds:
        return self._verifier.thresholds
