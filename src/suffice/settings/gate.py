"""Settings of the gate: one group for each policy and each rule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from msgspec import Meta

from suffice.settings.checked import AtMost, Checked, Count, Share, Weight, setting


@dataclass(frozen=True, slots=True)
class LlmSettings(Checked):
    """Your own LLM as the strongest verifier.

    One request covers all claims of an answer against their passages, or one question to the gate.
    When a budget is used up, the cheaper tier's score is used, with a caveat."""

    url: str = setting(
        "",
        "Base URL of an OpenAI-compatible endpoint. `draft`: the drafter's endpoint and key. "
        "Empty: off. No other URL receives the drafter's key.",
    )
    model: str = setting("", "Model to ask. If empty with `url: draft`: the drafter's model.")
    key_env: str = setting("", "Environment variable that holds the API key of `url`.")
    ask: Literal["band", "always", "never"] = setting(
        "band",
        "When to ask. `band`: only if the cheaper tier's probability is between `band_low` and "
        "`band_high`, or if that tier cannot read the text.",
    )
    band_low: Annotated[Share, AtMost("band_high")] = setting(
        0.2, "Lower end of the band, inclusive."
    )
    band_high: Share = setting(0.8, "Upper end of the band, inclusive.")
    total_calls: Count = setting(8, "Maximum number of calls for one request.")
    total_tokens: Annotated[int, Meta(ge=100, le=1_000_000_000)] = setting(
        64_000, "Token budget for one request, including prompts."
    )
    total_seconds: Annotated[float, Meta(ge=0.1, le=86_400)] = setting(
        60.0,
        "Time budget for one request, in seconds, including retries and the waits between them.",
    )
    max_tokens: Annotated[int, Meta(ge=16, le=1_000_000)] = setting(
        4_096, "Token limit for one reply. Raise it for a reasoning model."
    )
    retries: Annotated[int, Meta(ge=0, le=20)] = setting(1, "Retries of a failed call.")
    cache_size: Annotated[int, Meta(ge=0, le=10_000_000)] = setting(
        4_096, "Number of LLM judgements cached in memory. 0: none."
    )

    @property
    def on(self) -> bool:
        return bool(self.url) and self.ask != "never"

    def by_drafter(self, url: str, model: str, key_env: str) -> LlmSettings:
        """These settings with the LLM that drafts, unless they name one or switch it off."""
        if self.url or self.ask == "never" or not url.startswith(("http://", "https://")):
            return self
        return replace(self, url=url, model=self.model or model, key_env=self.key_env or key_env)


@dataclass(frozen=True, slots=True)
class VerifierSettings(Checked):
    """Which models judge whether evidence is sufficient and whether it supports a claim."""

    model: str = setting(
        "minilm-l12-verifier",
        "The verifier: a name from the catalogue, a folder, or the hub name of an NLI model or "
        "token classifier.",
    )
    language: Literal["english", "any"] = setting(
        "english",
        "Languages that your own model reads. `any`: no text is refused because of its "
        "language. The built-in verifiers read English only.",
    )
    threads: Annotated[int, Meta(ge=0, le=256)] = setting(
        0, "Number of threads for the verifier. 0: one per core, at most 4."
    )
    strong: bool = setting(
        False,
        "Use a larger encoder instead of the fast tier's: it judges better, at about three times "
        "the work. Needs `suffice[strong]`.",
    )
    llm: LlmSettings = field(default_factory=LlmSettings)


@dataclass(frozen=True, slots=True)
class TiersSettings(Checked):
    """The published similarity tiers."""

    relevant: Share = setting(0.30, "Minimum cosine for a passage to count as relevant.")
    one_passage: Share = setting(0.40, "The gate opens if the best passage reaches this cosine.")
    two_passages: Share = setting(
        0.35, "With two relevant passages, the gate opens if the better one reaches this cosine."
    )
    three_passages: Share = setting(
        0.30,
        "With three relevant passages, the gate opens if the mean cosine of all passages "
        "reaches this value.",
    )


@dataclass(frozen=True, slots=True)
class CoverageSettings(Checked):
    """The published weighted score."""

    min_contexts: Count = setting(
        1, "Number of passages below which the score is reduced. Stale passages do not count."
    )
    sufficient: Share = setting(0.8, "Minimum score for the evidence to be sufficient.")
    partial: Annotated[Share, AtMost("sufficient")] = setting(
        0.5, "Minimum score for the evidence to be partially sufficient."
    )
    recency_days: Annotated[int, Meta(ge=0, le=1_000_000)] = setting(
        365, "Age in days at which a passage becomes stale. 0: never."
    )
    require_embeddings: bool = setting(
        False, "Treat evidence without a known similarity as insufficient."
    )
    decline_insufficient: bool = setting(
        True,
        "Refuse if the evidence is insufficient. `false`: write a draft anyway and release it "
        "with a caveat at best.",
    )
    exact: bool = setting(
        False,
        "Count terms and word the reasons exactly as published, and ignore the age of passages.",
    )


@dataclass(frozen=True, slots=True)
class BoundSettings(Checked):
    """The gate opens if a lower confidence bound on mean relevance reaches the threshold."""

    threshold: Share = setting(0.30, "Minimum value of the lower bound on mean relevance.")
    delta: Annotated[float, Meta(ge=1e-6, le=0.5)] = setting(
        0.05, "Error probability of the confidence bound."
    )
    inequality: Literal[
        "auto",
        "hoeffding",
        "azuma",
        "bernstein",
        "empirical-bernstein",
        "betting",
        "adaptive",
    ] = setting("auto", "Concentration inequality. `auto`: chosen by `retrieval`.")
    retrieval: Literal["independent", "sequential", "reranked", "low-variance"] = setting(
        "independent", "How the passages were retrieved. Used with `inequality: auto`."
    )
    score_half_width: Share = setting(
        0.5,
        "Half-width of the range of a score, for Azuma's inequality. 0: estimate it from the "
        "scores; the reason then says so.",
    )
    variance: Annotated[float, Meta(ge=0, le=0.25)] = setting(
        0.0,
        "Variance of the scores, for Bernstein's inequality. 0: estimate it from the scores; "
        "the reason then says so.",
    )


@dataclass(frozen=True, slots=True)
class CheckpointSettings(Checked):
    """A minimum number of passages and a minimum best similarity."""

    min_passages: Count = setting(3, "Minimum number of passages.")
    min_best_similarity: Share = setting(0.65, "Minimum cosine of the best passage.")


@dataclass(frozen=True, slots=True)
class RerankedSettings(Checked):
    """Settings of the policy in which the verifier judges each passage separately."""

    min_relevance: Share = setting(
        0.60,
        "Minimum probability, by the verifier, that a passage answers. Other passages are dropped.",
    )


_OPENS = 0.5
_OPENS_FOR_LLM = 0.2
"""Of 65 right drafts of a strong LLM on two collections of the dev set, the gate at .5 refuses 19
and at .2 five. It still refuses 44 of the 72 questions that the LLM itself declined."""


@dataclass(frozen=True, slots=True)
class LearnedSettings(Checked):
    """The calibrated blend of verifier, similarity and coverage."""

    threshold: Share | None = setting(
        None,
        "Minimum probability for the gate to open. Empty: 0.5, or 0.2 where an LLM drafts, because "
        "an LLM can decline.",
    )
    sufficient: Share = setting(0.60, "Below this probability, the answer carries a caveat.")
    review_band: Share = setting(
        0.06, "Width of the band around the threshold in which a person decides (REVIEW)."
    )

    def opens(self, *, llm: bool = False) -> float:
        """The probability from which the gate opens; `llm`: whether an LLM drafts."""
        if self.threshold is not None:
            return self.threshold
        return _OPENS_FOR_LLM if llm else _OPENS


@dataclass(frozen=True, slots=True)
class KindWeights(Checked):
    """The gate multiplies a passage's relevance by the weight of its kind."""

    fact: Weight = setting(1.0, "Weight of a passage of the kind `fact`.")
    qa: Weight = setting(1.0, "Weight of a passage of the kind `qa`.")
    procedure: Weight = setting(0.95, "Weight of a passage of the kind `procedure`.")
    discussion: Weight = setting(0.85, "Weight of a passage of the kind `discussion`.")


@dataclass(frozen=True, slots=True)
class KindSettings(Checked):
    """How much each kind of passage counts. A document declares the kind of its passages."""

    weights: KindWeights = field(default_factory=KindWeights)


@dataclass(frozen=True, slots=True)
class DiversitySettings(Checked):
    """Deduplication, and the optional rule that the evidence must contain a fact."""

    duplicate_overlap: Annotated[float, Meta(ge=0.5, le=1)] = setting(
        0.8, "Passages that share at least this fraction of their wording count as one."
    )
    require_fact: bool = setting(
        False, "Require a fact or a question-and-answer pair in the evidence."
    )
    min_fact_relevance: Share = setting(0.30, "Minimum relevance of the required fact.")
    min_qa_relevance: Share = setting(
        0.40, "Minimum relevance of the required question-and-answer pair."
    )


@dataclass(frozen=True, slots=True)
class ConflictSettings(Checked):
    """When passages count as contradictory. Passages that share too few names and numbers are about
    different subjects and are reported as ambiguous, not as a conflict."""

    enabled: bool = setting(True, "Look for contradictions among the passages.")
    threshold: Share = setting(0.8, "Minimum score for a conflict to be reported.")
    max_passages: Annotated[int, Meta(ge=2, le=100)] = setting(
        10, "Number of passages to compare, best first."
    )
    same_text_overlap: Share = setting(
        0.5,
        "Share of names and numbers that two wordings of the same text must have in common to "
        "conflict.",
    )
    statement_overlap: Share = setting(
        0.28,
        "Share of names and numbers that any other two statements must have in common to conflict.",
    )


@dataclass(frozen=True, slots=True)
class GateSettings(Checked):
    """The policy that decides whether the evidence is sufficient, and its parameters."""

    policy: Literal["learned", "tiers", "coverage", "bound", "checkpoint", "reranked", "none"] = (
        setting(
            "learned",
            "The policy that decides whether the evidence is sufficient. `none`: no gate.",
        )
    )
    split_questions: bool = setting(
        True,
        "If a request contains several questions and the evidence does not suffice for all of "
        "them together, decide on each separately. Certified thresholds disable this.",
    )
    learned: LearnedSettings = field(default_factory=LearnedSettings)
    reranked: RerankedSettings = field(default_factory=RerankedSettings)
    tiers: TiersSettings = field(default_factory=TiersSettings)
    coverage: CoverageSettings = field(default_factory=CoverageSettings)
    contact: str = setting("", "Contact to name in refusals.")
    bound: BoundSettings = field(default_factory=BoundSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    kinds: KindSettings = field(default_factory=KindSettings)
    diversity: DiversitySettings = field(default_factory=DiversitySettings)
    conflict: ConflictSettings = field(default_factory=ConflictSettings)
