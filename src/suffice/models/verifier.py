"""The two questions every verifier answers, the shape of its answers, and wrappers of verifiers.

support       evidence, claim     → supported, contradicted or not mentioned
sufficiency   passages, question  → enough or not
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from suffice.models.cache import Cache
from suffice.models.embedder import Embedder, Vectors

LLM = "llm"
"""The tier of scores from the user's LLM, which are final."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The input of a verifier: a claim or a question, and passages of evidence.

    `question` is the question that a claim answers, if known. It helps to interpret a short claim.
    `answer` is the whole answer that contains the claim. A tier that reads the evidence once for
    all claims of an answer uses it to choose what to read. `alone` holds the log-odds that each
    passage alone answers the question, as the verifier `alone_by` read them for the search, or
    `None`; this verifier does not read them again.
    """

    text: str
    evidence: tuple[str, ...]
    question: str = ""
    answer: str = ""
    alone: tuple[float | None, ...] = ()
    alone_by: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.evidence, str):
            raise TypeError("The evidence must be a tuple of passages, not a single text.")
        object.__setattr__(self, "evidence", tuple(self.evidence))


@dataclass(frozen=True, slots=True)
class SupportScore:
    """Three calibrated probabilities that sum to one. If `unchecked` is set, the pair was not
    judged: the probabilities mean nothing, and the claim must not count as backed."""

    supported: float = 0.0
    contradicted: float = 0.0
    not_mentioned: float = 0.0
    passage: int | None = None
    """The index in `evidence` of the passage most relevant to the claim."""
    unchecked: str = ""
    tier: str = ""
    """The tier that judged. If a tier passes a pair to another, the other's thresholds apply."""
    note: str = ""
    """A caveat, such as why a stronger tier could not judge."""
    quote: str = ""
    """The exact words of the passage that an LLM based its judgement on."""


@dataclass(frozen=True, slots=True)
class SufficiencyScore:
    """The calibrated probability that the passages answer the question. The other fields are as in
    `SupportScore`."""

    enough: float = 0.0
    passage: int | None = None
    unchecked: str = ""
    tier: str = ""
    note: str = ""
    missing: tuple[str, ...] = ()
    """What is missing according to the LLM, if the passages are not enough."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The minimum probabilities for a claim to count as supported and passages as enough. `tiers`
    holds those of other tiers: each score is compared with the thresholds of its own tier."""

    support: float = 0.5
    sufficiency: float = 0.5
    tiers: Mapping[str, Thresholds] = field(default_factory=dict, hash=False)

    def of(self, tier: str) -> Thresholds:
        return self.tiers.get(tier, self)

    def supported(self, score: SupportScore) -> bool:
        """Whether the claim is supported; false if the pair was not judged."""
        return not score.unchecked and score.supported >= self.of(score.tier).support

    def enough(self, score: SufficiencyScore) -> bool:
        """Whether the passages are enough; false if the pair was not judged."""
        return not score.unchecked and score.enough >= self.of(score.tier).sufficiency


class Verifier(Protocol):
    """Judges whether passages answer a question, and whether they support a claim. Each pair is
    scored independently of the others."""

    @property
    def id(self) -> str: ...

    @property
    def tier(self) -> str: ...

    @property
    def thresholds(self) -> Thresholds: ...

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]: ...

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]: ...


@runtime_checkable
class FindsSentences(Protocol):
    """A verifier that can tell which sentences answer a question or support a claim (optional)."""

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        """A probability for each sentence, in order; empty if this verifier cannot tell."""
        ...


def sentence_scores(verifier: object, text: str, sentences: Sequence[str]) -> list[float]:
    """The sentence scores of a verifier, if it provides them."""
    return verifier.sentences(text, sentences) if isinstance(verifier, FindsSentences) else []


MOST = 14.0
"""The limit of the log-odds, so that a single score cannot outweigh all others."""


def log_odds(chance: float, most: float = MOST) -> float:
    """The log-odds, limited to `most` in both directions."""
    if not 0 < chance < 1:
        return math.copysign(most, chance - 0.5)
    return max(-most, min(most, math.log(chance / (1 - chance))))


def chance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def mean_odds(chances: Sequence[float]) -> float:
    """The mean of several scores for the same statement, computed in log-odds."""
    return chance_of(sum(map(log_odds, chances)) / len(chances))


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


# Longer texts are rarely needed twice and would take too much memory.
_LONGEST = 2_000


class CachedEmbedder(Wrapped):
    """Caches the vectors of the last `most` texts. Results do not change, because the vector of a
    text does not depend on other texts. Thread-safe."""

    def __init__(self, embedder: Embedder, most: int = 4096) -> None:
        super().__init__(embedder)
        self._vectors: Cache[str, Vectors] = Cache(most)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return self._embedder.embed(texts)
        cached = ((text, self._vectors.get(text)) for text in dict.fromkeys(texts))
        vectors = {text: vector for text, vector in cached if vector is not None}
        fresh = [text for text in dict.fromkeys(texts) if text not in vectors]
        if fresh:
            vectors |= zip(fresh, self._embedder.embed(fresh), strict=True)
        for text in fresh:
            if len(text) <= _LONGEST:
                self._vectors.put(text, vectors[text].copy())  # so that the batch can be freed
        return np.array([vectors[text] for text in texts], dtype=np.float32)
