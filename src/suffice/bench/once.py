"""A verifier that judges each pair once, for benches that ask the same several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from suffice.models.verifier import (
    Pair,
    SufficiencyScore,
    SupportScore,
    Thresholds,
    Verifier,
    sentence_scores,
)

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Once:
    verifier: Verifier
    _support: dict[Pair, SupportScore] = field(default_factory=dict)
    _sufficiency: dict[Pair, SufficiencyScore] = field(default_factory=dict)
    _sentences: dict[tuple[str, tuple[str, ...]], list[float]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.verifier.id

    @property
    def tier(self) -> str:
        return self.verifier.tier

    @property
    def thresholds(self) -> Thresholds:
        return self.verifier.thresholds

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return _once(self._support, pairs, self.verifier.support)

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return _once(self._sufficiency, pairs, self.verifier.sufficiency)

    def sentences(self, said: str, sentences: Sequence[str]) -> list[float]:
        key = said, tuple(sentences)
        if key not in self._sentences:
            self._sentences[key] = sentence_scores(self.verifier, said, sentences)
        return self._sentences[key]


def _once(known: dict[K, V], asked: Sequence[K], ask: Callable[[list[K]], list[V]]) -> list[V]:
    fresh = [one for one in dict.fromkeys(asked) if one not in known]
    if fresh:
        known.update(zip(fresh, ask(fresh), strict=True))
    return [known[one] for one in asked]
