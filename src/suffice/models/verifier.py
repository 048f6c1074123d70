"""The two questions every verifier answers, and the shape of its answers.

support       evidence, claim     → supported, contradicted or not mentioned
sufficiency   passages, question  → enough or not
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

LLM = "llm"
"""The tier of a score from the user's own LLM, which is final."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The input of a verifier: a claim or a question, and passages of evidence.

    `question` is the question that a claim answers, if known; it helps to interpret a short claim.
    `answer` is the whole answer that contains the claim: a tier that reads evidence once for all
    claims of an answer uses it to choose what to read.
    """

    text: str
    evidence: tuple[str, ...]
    question: str = ""
    answer: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.evidence, str):
            raise TypeError("Evidence is a tuple of passages, not one text.")
        object.__setattr__(self, "evidence", tuple(self.evidence))


@dataclass(frozen=True, slots=True)
class SupportScore:
    """Three calibrated probabilities that sum to one. If `unchecked` is set, the pair was not
    judged: the probabilities have no meaning and the claim must not count as backed."""

    supported: float = 0.0
    contradicted: float = 0.0
    not_mentioned: float = 0.0
    passage: int | None = None
    """The index in `evidence` of the passage most relevant to the claim."""
    unchecked: str = ""
    tier: str = ""
    """The tier that judged. A tier may pass pairs to another, whose thresholds then apply."""
    note: str = ""
    """A caveat: the reason a stronger tier could not judge, so that this score stands."""
    quote: str = ""
    """The literal words of the passage that an LLM based its judgement on."""


@dataclass(frozen=True, slots=True)
class SufficiencyScore:
    """The calibrated probability that the passages answer the question; other fields as in
    `SupportScore`."""

    enough: float = 0.0
    passage: int | None = None
    unchecked: str = ""
    tier: str = ""
    note: str = ""
    missing: tuple[str, ...] = ()
    """What the LLM reported as missing, if it judged and the passages are not enough."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The probabilities from which a claim counts as supported and passages as enough. `tiers`
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
    """Answers both questions. The scores of a pair do not depend on other pairs."""

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
    """Optional for a verifier: which sentences answer a question or support a claim."""

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        """A probability for each sentence, in the original order; empty if this verifier cannot
        tell."""
        ...


def sentence_scores(verifier: object, text: str, sentences: Sequence[str]) -> list[float]:
    """A verifier's sentence scores, if it provides them."""
    return verifier.sentences(text, sentences) if isinstance(verifier, FindsSentences) else []
