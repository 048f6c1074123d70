"""How an answer is written, checked and let out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from suffice.settings.checked import Checked
from suffice.settings.limits import AtMost, Count, Range, Share


@dataclass(frozen=True, slots=True)
class DraftSettings(Checked):
    """Who writes: `llm` is `extractive` or the base URL of an OpenAI-compatible endpoint.

    Extractive: the statements that answer, as the verifier says, up to `sentences` in all. Without
    a verifier that can tell, the best must be as near as `answers`, and others are added down to
    `keep` times its nearness. An LLM is shown `room` characters of the evidence and writes
    at most `tokens`; a URL has `timeout` seconds for a draft, its `retries` and their waits
    included. A draft that fails its checks goes back at most `rounds` times, while all drafts of
    an answer stay within `seconds` and within `budget` tokens, prompts counted.
    """

    sentences: Annotated[int, Range(1, 20)] = 3
    answers: Share = 0.40
    keep: Share = 0.90
    llm: str = "extractive"
    model: str = ""
    key_env: str = "OPENAI_API_KEY"
    timeout: Annotated[float, Range(0.1, 3600)] = 60.0
    retries: Annotated[int, Range(0, 20)] = 2
    room: Annotated[int, Range(200, 10_000_000)] = 24_000
    tokens: Annotated[int, Range(8, 1_000_000)] = 512
    rounds: Annotated[int, Range(0, 10)] = 1
    seconds: Annotated[float, Range(0, 86400)] = 120.0
    budget: Annotated[int, Range(0, 1_000_000_000)] = 32_000


@dataclass(frozen=True, slots=True)
class EntailmentSettings(Checked):
    """A claim is backed from the probability `threshold` on, and contradicted where that of a
    contradiction reaches `contradiction`. Both are calibrated: .5 is even odds."""

    threshold: Share = 0.50
    contradiction: Share = 0.50


@dataclass(frozen=True, slots=True)
class GroundingSettings(Checked):
    """From which cosine on a claim is called near to what it cites, and close."""

    near: Annotated[Share, AtMost("close")] = 0.65
    close: Share = 0.85


@dataclass(frozen=True, slots=True)
class ChecksSettings(Checked):
    """Which checks read a draft; where one is off, it leaves every claim UNCHECKED. A draft of
    fewer than `shortest` words is noted as suspiciously short."""

    structure: bool = True
    citations: bool = True
    literals: bool = True
    omission: bool = True
    verbatim: bool = True
    grounding: bool = True
    addresses: bool = True
    entailment: bool = True
    judge: bool = False
    shortest: Count = 3
    near: GroundingSettings = field(default_factory=GroundingSettings)
    support: EntailmentSettings = field(default_factory=EntailmentSettings)


ROUTES = (
    "fabricated -> WITHHOLD, possibly systematic: a source was invented",
    "not retrieved -> WITHHOLD, possibly systematic: a source was named that was not at hand",
    "conflict -> CONFLICT",
    "beside the question -> WITHHOLD",
    "contradicted -> WITHHOLD",
    "mismatch -> WITHHOLD",
    "stale -> REVIEW",
    "expired -> REVIEW",
    "misattributed -> REVIEW",
    "unchecked > 0.2 and faithfulness >= 0.65 and confidence >= 0.5 -> CAVEAT",
    "faithfulness >= 0.85 and facts >= 0.80 and confidence >= 0.8 -> SERVE",
    "faithfulness >= 0.5 and confidence >= 0.5 -> CAVEAT",
    "faithfulness >= 0.5 and confidence >= 0.4 -> REVIEW",
    "faithfulness >= 0.40 -> WITHHOLD",
    "else -> WITHHOLD, knowledge gap",
)


@dataclass(frozen=True, slots=True)
class VerdictSettings(Checked):
    """What leaves: the first row of `routes` that fits decides. `rescue`: what cannot leave is
    revised, then trimmed to what is backed, then replaced by quotations, before it is withheld.
    Questions that the documents cannot answer are sent to the URL `webhook`, where there is one."""

    routes: tuple[str, ...] = ROUTES
    rescue: bool = True
    webhook: str = ""


@dataclass(frozen=True, slots=True)
class JudgeSettings(Checked):
    """Which LLM judges, with `checks.judge` on: the base URL of an OpenAI-compatible endpoint, or
    the drafter's (empty; model and key are then the drafter's where none is named). It has
    `timeout` seconds for all claims of a draft, `retries` and their waits included, is shown at
    most `room` characters a claim and writes at most `tokens`."""

    llm: str = ""
    model: str = ""
    key_env: str = ""
    timeout: Annotated[float, Range(0.1, 3600)] = 60.0
    retries: Annotated[int, Range(0, 20)] = 2
    room: Annotated[int, Range(200, 10_000_000)] = 24_000
    tokens: Annotated[int, Range(8, 1_000_000)] = 1_024
