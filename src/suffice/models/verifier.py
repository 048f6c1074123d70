"""The two questions every verifier answers, and the shape of its answers.

support       evidence, claim     → supported, contradicted or not mentioned
sufficiency   passages, question  → enough or not
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

LLM = "llm"
"""The tier of a score that the user's own LLM gave: it has the last word."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What is judged: a claim or a question, beside passages of evidence.

    `question` is what a claim answers, where that is known; it helps to read a short claim.
    `answer` is the whole answer the claim stands in: a tier that reads evidence once for all claims
    of an answer chooses by it what to read.
    """

    said: str
    evidence: tuple[str, ...]
    question: str = ""
    answer: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.evidence, str):
            raise TypeError("Evidence is a tuple of passages, not one text.")
        object.__setattr__(self, "evidence", tuple(self.evidence))


@dataclass(frozen=True, slots=True)
class SupportScore:
    """Three calibrated probabilities that sum to one. With `unchecked` set, nobody judged: the
    probabilities mean nothing and the claim must not count as backed."""

    supported: float = 0.0
    contradicted: float = 0.0
    not_mentioned: float = 0.0
    passage: int | None = None
    """The place in `evidence` that speaks most to the claim."""
    unchecked: str = ""
    tier: str = ""
    """Who judged: a tier may leave some pairs to another, whose thresholds hold for them."""
    note: str = ""
    """A caveat: why a stronger tier that was asked could not judge, so that this score stands."""
    quote: str = ""
    """The words of the passage that an LLM decided by; they stand there literally."""


@dataclass(frozen=True, slots=True)
class SufficiencyScore:
    """The calibrated probability that the passages answer the question; see above for the rest."""

    enough: float = 0.0
    passage: int | None = None
    unchecked: str = ""
    tier: str = ""
    note: str = ""
    missing: tuple[str, ...] = ()
    """What the LLM says is missing, where it judged and the passages are not enough."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which probability on a claim counts as supported, and passages as enough. `tiers` are
    those of other tiers that judge some of the pairs: each score is held to its own tier's."""

    support: float = 0.5
    sufficiency: float = 0.5
    tiers: Mapping[str, Thresholds] = field(default_factory=dict, hash=False)

    def of(self, tier: str) -> Thresholds:
        return self.tiers.get(tier, self)

    def supported(self, score: SupportScore) -> bool:
        """Never where nobody judged."""
        return not score.unchecked and score.supported >= self.of(score.tier).support

    def enough(self, score: SufficiencyScore) -> bool:
        """Never where nobody judged."""
        return not score.unchecked and score.enough >= self.of(score.tier).sufficiency


class Verifier(Protocol):
    """Anything that answers both questions. A pair's scores do not depend on its neighbours."""

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
    """What a verifier may offer beside: which sentences answer a question or support a claim."""

    def sentences(self, said: str, sentences: Sequence[str]) -> list[float]:
        """A probability for each of the sentences, which stand in their own order; nothing where
        this verifier cannot tell."""
        ...


def sentence_scores(verifier: object, said: str, sentences: Sequence[str]) -> list[float]:
    """What a verifier says of the sentences, if it is one that can tell."""
    return verifier.sentences(said, sentences) if isinstance(verifier, FindsSentences) else []
