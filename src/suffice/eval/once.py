"""Caches the judgements of a verifier, for benchmarks that judge the same pairs several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Verifier, sentence_scores
from suffice.models.wrapped import WrappedVerifier

K = TypeVar("K")
V = TypeVar("V")


class Once(WrappedVerifier):
    def __init__(self, verifier: Verifier) -> None:
        super().__init__(verifier)
        self._support: dict[Pair, SupportScore] = {}
        self._sufficiency: dict[Pair, SufficiencyScore] = {}
        self._sentences: dict[tuple[str, tuple[str, ...]], list[float]] = {}

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return _once(self._support, pairs, self._verifier.support)

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return _once(self._sufficiency, pairs, self._verifier.sufficiency)

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        key = text, tuple(sentences)
        if key not in self._sentences:
            self._sentences[key] = sentence_scores(self._verifier, text, sentences)
        return self._sentences[key]


def once(verifier: Verifier) -> Verifier:
    """The verifier with a cache. An LLM has its own, so only the tier below it is wrapped, and
    `below_llm` still works."""
    if isinstance(verifier, LlmVerifier):
        return replace(verifier, inner=Once(verifier.inner))
    return Once(verifier)


def _once(known: dict[K, V], asked: Sequence[K], ask: Callable[[list[K]], list[V]]) -> list[V]:
    fresh = [one for one in dict.fromkeys(asked) if one not in known]
    if fresh:
        known.update(zip(fresh, ask(fresh), strict=True))
    return [known[one] for one in asked]
