"""How the gate decides, one group a policy and a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from suffice.settings.checked import Checked
from suffice.settings.evidence import PrototypeSettings
from suffice.settings.limits import AtMost, Count, Range, Share, Weight


@dataclass(frozen=True, slots=True)
class LlmSettings(Checked):
    """Your own LLM as the strongest verifier. `url` is the base URL of an OpenAI-compatible
    endpoint, `draft` for the drafting one (with its key and, where `model` is empty, its model), or
    empty: off. `key_env` names the variable that holds the key; another URL than the drafter's
    never gets the drafter's key.

    `ask`: `band` asks about what the cheaper tier leaves between `low` and `high`, ends included,
    and about what it cannot read; `always` asks about everything, `never` about nothing.

    One request (all claims of an answer against their passages, or one question to the gate) may
    take `calls` calls, `tokens` tokens, prompts counted, and `seconds` seconds, `retries` and their
    waits included; a single reply has at most `reply` tokens. Beyond that the cheaper tier's word
    stands, with a caveat. `cache`: so many verdicts are kept in memory (0: none)."""

    url: str = ""
    model: str = ""
    key_env: str = ""
    ask: Literal["band", "always", "never"] = "band"
    low: Annotated[Share, AtMost("high")] = 0.2
    high: Share = 0.8
    calls: Count = 8
    tokens: Annotated[int, Range(100, 1_000_000_000)] = 64_000
    seconds: Annotated[float, Range(0.1, 3600)] = 60.0
    reply: Annotated[int, Range(16, 1_000_000)] = 4_096
    retries: Annotated[int, Range(0, 20)] = 1
    cache: Annotated[int, Range(0, 10_000_000)] = 4_096

    @property
    def on(self) -> bool:
        return bool(self.url) and self.ask != "never"


@dataclass(frozen=True, slots=True)
class VerifierSettings(Checked):
    """Who tells sufficiency and support. `model` is a name from the package, a folder, or a hub
    name of an NLI or token classifier, which reads what `language` says; `threads` 0 takes the
    cores there are. `strong` asks three encoders instead of one: better, and three times the work;
    it needs `suffice[strong]`. `llm` asks your own LLM where the others are not sure."""

    model: str = "minilm-l12-verifier"
    language: Literal["english", "any"] = "english"
    threads: Annotated[int, Range(0, 256)] = 0
    strong: bool = False
    llm: LlmSettings = field(default_factory=LlmSettings)


@dataclass(frozen=True, slots=True)
class TiersSettings(Checked):
    """The published tiers of similarity. `three` is held against the mean of all passages."""

    relevant: Share = 0.30
    one: Share = 0.40
    two: Share = 0.35
    three: Share = 0.30


@dataclass(frozen=True, slots=True)
class CoverageSettings(Checked):
    """The published weighted score. Passages older than `recency_days` (0: no limit) do not count
    towards `min_contexts`. `require_embeddings`: without a known similarity nothing is enough.
    `decline_insufficient` false: a draft is written all the same, and leaves with a caveat.
    `exact`: terms, counts and texts as published, whatever the age of a passage."""

    min_contexts: Count = 1
    sufficient: Share = 0.8
    partial: Annotated[Share, AtMost("sufficient")] = 0.5
    recency_days: Annotated[int, Range(0, 1_000_000)] = 365
    require_embeddings: bool = False
    decline_insufficient: bool = True
    exact: bool = False


@dataclass(frozen=True, slots=True)
class BoundSettings(Checked):
    """A lower confidence bound on mean relevance must reach `threshold`. `auto` lets `retrieval`
    choose the inequality. `c` and `variance`: 0 estimates them from the scores, and says so."""

    threshold: Share = 0.30
    delta: Annotated[float, Range(1e-6, 0.5)] = 0.05
    inequality: Literal[
        "auto",
        "hoeffding",
        "azuma",
        "bernstein",
        "empirical-bernstein",
        "betting",
        "adaptive",
    ] = "auto"
    retrieval: Literal["independent", "sequential", "reranked", "low-variance"] = "independent"
    c: Share = 0.5
    variance: Annotated[float, Range(0, 0.25)] = 0.0


@dataclass(frozen=True, slots=True)
class CheckpointSettings(Checked):
    """At least so many passages, and the best of them at `top` or more."""

    passages: Count = 3
    top: Share = 0.65


@dataclass(frozen=True, slots=True)
class RerankedSettings(Checked):
    """Passages that the verifier finds to answer with less than `relevance` are dropped."""

    relevance: Share = 0.60


@dataclass(frozen=True, slots=True)
class LearnedSettings(Checked):
    """The calibrated blend: open from the probability `threshold` on, with a caveat below
    `sufficient`. What lies within a band of width `review` around the threshold goes to a
    person."""

    threshold: Share = 0.50
    sufficient: Share = 0.60
    review: Share = 0.06


@dataclass(frozen=True, slots=True)
class KindWeights(Checked):
    """What a kind of evidence is worth: the gate reads a passage's relevance times this."""

    fact: Weight = 1.0
    qa: Weight = 1.0
    procedure: Weight = 0.95
    discussion: Weight = 0.85


@dataclass(frozen=True, slots=True)
class KindSettings(Checked):
    """How kinds of evidence are told apart, and what each is worth."""

    prototypes: PrototypeSettings = field(default_factory=PrototypeSettings)
    weights: KindWeights = field(default_factory=KindWeights)


@dataclass(frozen=True, slots=True)
class DiversitySettings(Checked):
    """Passages that share `copies` of their wording count once. With `factual`, there must be a
    fact of relevance `fact`, or a question-and-answer pair of relevance `qa`."""

    copies: Annotated[float, Range(0.5, 1)] = 0.8
    factual: bool = False
    fact: Share = 0.30
    qa: Share = 0.40


@dataclass(frozen=True, slots=True)
class ConflictSettings(Checked):
    """When passages contradict each other: from a score of `threshold` on, among the first
    `passages`. Under `copies` (two wordings of one text) or `statements` (any others) in what they
    share, they speak of different things: ambiguous, no conflict."""

    on: bool = True
    threshold: Share = 0.8
    passages: Annotated[int, Range(2, 100)] = 10
    copies: Share = 0.5
    statements: Share = 0.28


@dataclass(frozen=True, slots=True)
class GateSettings(Checked):
    """Which policy decides whether the evidence is enough, and its numbers; `none` switches the
    gate off. `contact`: whom a refusal names to ask."""

    policy: Literal["learned", "tiers", "coverage", "bound", "checkpoint", "reranked", "none"] = (
        "learned"
    )
    learned: LearnedSettings = field(default_factory=LearnedSettings)
    reranked: RerankedSettings = field(default_factory=RerankedSettings)
    tiers: TiersSettings = field(default_factory=TiersSettings)
    coverage: CoverageSettings = field(default_factory=CoverageSettings)
    contact: str = ""
    bound: BoundSettings = field(default_factory=BoundSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    kinds: KindSettings = field(default_factory=KindSettings)
    diversity: DiversitySettings = field(default_factory=DiversitySettings)
    conflict: ConflictSettings = field(default_factory=ConflictSettings)
