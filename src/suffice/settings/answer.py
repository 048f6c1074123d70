"""Settings for drafting, checking and releasing an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from suffice.settings.checked import AtMost, Checked, Count, Share, setting
from suffice.settings.evidence import FilterSettings, PassageSettings, SearchSettings
from suffice.settings.gate import GateSettings


@dataclass(frozen=True, slots=True)
class DraftSettings(Checked):
    """How a draft is written: by quoting the evidence or by an LLM."""

    max_blocks: Annotated[int, Meta(ge=1, le=20)] = setting(
        2,
        "Extractive drafter: maximum number of blocks in an answer: paragraphs, list items with "
        "their lead-in, table rows with their header.",
    )
    min_similarity: Share = setting(
        0.40,
        "Extractive drafter without a verifier that ranks sentences: minimum similarity of the "
        "best statement to the question.",
    )
    min_share_of_best: Share = setting(
        0.90,
        "Extractive drafter: further blocks must reach this share of the best one's "
        "score. Blocks that the verifier gives at least even odds are always kept.",
    )
    llm: str = setting(
        "extractive",
        "The drafter: `extractive` to quote the documents, or the base URL of an "
        "OpenAI-compatible endpoint whose model writes the draft.",
    )
    model: str = setting("", "Model name sent to the endpoint.")
    key_env: str = setting(
        "OPENAI_API_KEY", "Environment variable that holds the API key of the endpoint."
    )
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = setting(
        60.0, "Time limit for one draft, in seconds, including retries and the waits between them."
    )
    retries: Annotated[int, Meta(ge=0, le=20)] = setting(2, "Retries of a failed call.")
    max_evidence_characters: Annotated[int, Meta(ge=200, le=10_000_000)] = setting(
        24_000, "Maximum evidence sent to an LLM, in characters."
    )
    max_tokens: Annotated[int, Meta(ge=8, le=1_000_000)] = setting(
        512, "Token limit for an LLM's draft."
    )
    revisions: Annotated[int, Meta(ge=0, le=10)] = setting(
        1, "How often a draft that fails its checks is sent back for revision."
    )
    total_seconds: Annotated[float, Meta(ge=0, le=86400)] = setting(
        120.0, "Time limit for all drafts of one answer, in seconds."
    )
    total_tokens: Annotated[int, Meta(ge=0, le=1_000_000_000)] = setting(
        32_000, "Token limit for all drafts of one answer, including prompts."
    )


@dataclass(frozen=True, slots=True)
class EntailmentSettings(Checked):
    """Thresholds of the entailment check. The probabilities are calibrated: .5 is even odds."""

    backed: Share = setting(0.50, "Minimum support probability for a claim to count as BACKED.")
    contradicted: Share = setting(
        0.50, "Minimum contradiction probability for a claim to count as CONTRADICTED."
    )


@dataclass(frozen=True, slots=True)
class GroundingSettings(Checked):
    """Thresholds of the grounding check, which reports a claim's similarity to its sources."""

    near: Annotated[Share, AtMost("close")] = setting(
        0.65, "Minimum cosine for a claim to be reported as `near` to a passage it cites."
    )
    close: Share = setting(
        0.85, "Minimum cosine for a claim to be reported as `close` to a passage it cites."
    )


@dataclass(frozen=True, slots=True)
class ChecksSettings(Checked):
    """Which checks run on a draft. A check that is switched off leaves every claim UNCHECKED."""

    structure: bool = setting(
        True,
        "Detect drafts that break off, cite nothing, or say that they rely on the model's "
        "training.",
    )
    citations: bool = setting(
        True, "Detect cited sources that do not exist, were not retrieved, or are out of date."
    )
    literals: bool = setting(
        True, "Compare numbers, dates, units, versions and identifiers with the evidence."
    )
    omission: bool = setting(
        True, "Detect conditions and exceptions in the source that the claim leaves out."
    )
    verbatim: bool = setting(
        True, "Accept claims that quote whole sentences of a passage they cite."
    )
    grounding: bool = setting(True, "Report the similarity of a claim to the passages it cites.")
    addresses: bool = setting(True, "Detect answers that do not address the question.")
    whole: bool = setting(
        True, "Also ask the verifier about the answer as a whole, for its `confidence`."
    )
    entailment: bool = setting(True, "Ask the verifier whether the evidence supports each claim.")
    judge: bool = setting(False, "Ask an LLM five questions about each claim. See `judge`.")
    min_words: Count = setting(3, "A draft with fewer words is reported as suspiciously short.")
    grounding_thresholds: GroundingSettings = field(default_factory=GroundingSettings)
    entailment_thresholds: EntailmentSettings = field(default_factory=EntailmentSettings)


ROUTES = (
    "fabricated -> WITHHOLD, possibly systematic: a cited source does not exist",
    "not retrieved -> WITHHOLD, possibly systematic: a cited source was not retrieved",
    "conflict -> CONFLICT",
    "beside the question -> WITHHOLD",
    "contradicted -> WITHHOLD",
    "mismatch -> WITHHOLD",
    "stale -> REVIEW",
    "expired -> REVIEW",
    "misattributed -> REVIEW",
    "quoted and confidence >= 0.4 and confidence < 0.6 -> REVIEW",
    "unchecked > 0.2 and faithfulness >= 0.65 and confidence >= 0.5 -> CAVEAT",
    "faithfulness >= 0.85 and facts >= 0.80 and confidence >= 0.8 -> SERVE",
    "faithfulness >= 0.5 and confidence >= 0.5 -> CAVEAT",
    "faithfulness >= 0.5 and confidence >= 0.4 -> REVIEW",
    "faithfulness >= 0.40 -> WITHHOLD",
    "else -> WITHHOLD, knowledge gap",
)


@dataclass(frozen=True, slots=True)
class VerdictSettings(Checked):
    """How findings become a verdict, and what happens to a draft that cannot be released."""

    routes: tuple[str, ...] = setting(
        ROUTES, "The routing table: the first matching row decides the verdict."
    )
    rescue: bool = setting(
        True,
        "Before withholding a draft, correct its citations, then trim it to its backed claims. "
        "Quote the documents if the drafter failed: no reply, or a reply that was cut off.",
    )
    gap_webhook: str = setting("", "URL that receives questions the documents cannot answer.")
    thresholds_file: str = setting(
        "",
        "File of certified thresholds, written by `suffice calibrate`. They replace those of "
        "`gate.learned` and the `confidence` conditions of `routes`. Empty: none.",
    )
    certificate: str = setting(
        "",
        "Id of the certificate in `thresholds_file`. Set when the file is read; leave it empty.",
        read_only=True,
    )


@dataclass(frozen=True, slots=True)
class JudgeSettings(Checked):
    """The LLM that the judge check asks, if `checks.judge` is on."""

    llm: str = setting(
        "", "Base URL of an OpenAI-compatible endpoint. Empty: the drafter's endpoint."
    )
    model: str = setting(
        "", "Model name sent to the endpoint. If this and `llm` are empty: the drafter's model."
    )
    key_env: str = setting(
        "",
        "Environment variable that holds the API key of the endpoint. If this and `llm` are "
        "empty: the drafter's key.",
    )
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = setting(
        60.0,
        "Time limit for all claims of a draft, in seconds, including retries and the waits "
        "between them.",
    )
    retries: Annotated[int, Meta(ge=0, le=20)] = setting(2, "Retries of a failed call.")
    max_characters: Annotated[int, Meta(ge=200, le=10_000_000)] = setting(
        24_000, "Character limit for a claim with its evidence. Longer claims are not judged."
    )
    max_tokens: Annotated[int, Meta(ge=8, le=1_000_000)] = setting(
        1_024, "Token limit for a reply."
    )


@dataclass(frozen=True, slots=True)
class CollectionSettings(Checked):
    """How the documents of one collection are split, searched, gated, drafted from and checked."""

    passages: PassageSettings = field(default_factory=PassageSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    draft: DraftSettings = field(default_factory=DraftSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    checks: ChecksSettings = field(default_factory=ChecksSettings)
    verdict: VerdictSettings = field(default_factory=VerdictSettings)
    subject: str = setting(
        "",
        "What the documents are about, in one to three words, such as the name of the product. "
        "Search and gate read it before a question that does not name it.",
    )
    judge: JudgeSettings = field(default_factory=JudgeSettings)

    @property
    def written(self) -> bool:
        """Whether an LLM writes the drafts."""
        return self.draft.llm != "extractive"

    @property
    def opens(self) -> float:
        """The probability from which the learned gate opens for this drafter."""
        return self.gate.learned.opens(llm=self.written)
