"""The nouns of Suffice. Every room speaks in these values; all are frozen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

_DIGEST = re.compile(r"[0-9a-f]{8}")


class Kind(StrEnum):
    """What sort of text a document is."""

    FACT = "fact"
    QA = "qa"
    PROCEDURE = "procedure"
    DISCUSSION = "discussion"


class Level(StrEnum):
    """What the gate says of the evidence, before anything is written."""

    SUFFICIENT = "SUFFICIENT"
    PARTIAL = "PARTIAL"
    INSUFFICIENT = "INSUFFICIENT"
    CONFLICT = "CONFLICT"
    REVIEW = "REVIEW"


class Support(StrEnum):
    """A check's judgement of one claim. What nobody checked is UNCHECKED, never BACKED."""

    BACKED = "BACKED"
    CONTRADICTED = "CONTRADICTED"
    UNBACKED = "UNBACKED"
    UNCHECKED = "UNCHECKED"


class Hallucination(StrEnum):
    """The kinds of what a draft may get wrong."""

    FAITHFULNESS = "faithfulness"
    """It says otherwise than the evidence."""
    FACTUALITY = "factuality"
    """It is in no passage, and likely comes from training."""
    ATTRIBUTION = "attribution"
    """The source it names is not one, or not the one."""
    OMISSION = "omission"
    """It leaves out a condition without which it is not true."""


class Code(StrEnum):
    """What exactly a check found, where its judgement alone does not say."""

    CLEAR = "clear"
    """Looked at, and nothing to object to; of the rest of the claim this says nothing."""
    OFF = "off"
    """The check is switched off by setting."""
    FAILED = "failed"
    """The check failed on it: nobody knows what it would have found."""

    UNCITED = "uncited"
    SHORT = "short"
    CUT_OFF = "cut off"
    TRAINING = "training"
    """It says itself that it does not speak from the evidence."""
    ABSTAINED = "abstained"

    VERIFIED = "verified"
    """The source exists, was retrieved, is current, in force, and supports the claim."""
    RESOLVED = "resolved"
    """As verified, but whether it supports the claim was not told."""
    FABRICATED = "fabricated"
    NOT_RETRIEVED = "not retrieved"
    STALE = "stale"
    EXPIRED = "expired"
    MISATTRIBUTED = "misattributed"

    DERIVED = "derived"
    """A value follows from two stated ones."""
    CHANGED = "changed"
    """The same thing has another value in the source."""
    ABSENT = "absent"

    UNSURE = "unsure"
    """The words are in the source, and the verifier cannot tell whether they say so there."""

    OMITTED = "omitted"

    BESIDE = "beside the question"
    """The answer does not speak of what was asked."""
    UNANSWERED = "unanswered"
    """Of several questions asked at once, it leaves one without an answer."""
    FAR = "far"
    """No passage it cites is near it; of what they say this tells nothing."""


class Grade(StrEnum):
    """The class of an answer, by the share of its claims that are backed."""

    SUPPORTED = "supported"
    PARTIAL = "partially supported"
    WEAK = "weakly supported"
    UNSUPPORTED = "unsupported"


class Rescue(StrEnum):
    """How a draft that could not leave as it was became one that could."""

    REVISED = "revised"
    REATTRIBUTED = "reattributed"
    TRIMMED = "trimmed"
    EXTRACTIVE = "extractive"


class Action(StrEnum):
    """What leaves the house."""

    SERVE = "SERVE"
    CAVEAT = "CAVEAT"
    CONFLICT = "CONFLICT"
    WITHHOLD = "WITHHOLD"
    REVIEW = "REVIEW"


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document version. `source[start:end] == text` for the source text as stored.

    The id names document, version and place; the same file gives the same id anywhere. In force
    from `since` (`None`: always was) to the day before `until`, when it is expired, superseded or
    retired (`None`: no such day is known). Versions of one document share its `family` (empty where
    only document and title tell). `summary` and `temperature` (a source's own measure of
    how much it is used) count in the coverage policy where a retriever gives them.
    """

    id: str
    text: str
    document: str
    version: str = ""
    title: str = ""
    kind: Kind = Kind.FACT
    heading: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    page: int | None = None
    content_hash: str = ""
    effective: date | None = None
    expires: date | None = None
    since: date | None = None
    until: date | None = None
    collection: str = "default"
    access: frozenset[str] = frozenset()
    summary: str = ""
    temperature: float | None = None
    family: str = ""

    @property
    def declared(self) -> str:
        """The version that its document names. Where it names none, the store tells versions apart
        by a digest, which means nothing to a reader."""
        made_up = _DIGEST.fullmatch(self.version) and f"@{self.version}#" in self.id
        return "" if made_up else self.version

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings that people would name; the header of a table is none."""
        return tuple(part for part in self.heading if not part.startswith("|"))

    @property
    def place(self) -> str:
        """Where in the document this stands, in words: "Leave > Parental, page 3"."""
        parts = [" > ".join(self.headings)] if self.headings else []
        if self.page is not None:
            parts.append(f"page {self.page}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage found for a question, with its raw scores.

    `relevance` is the cosine to the question (`None` when there were no vectors), `keywords` the
    BM25 score, `score` what the two were fused to. None is normalised over the other results.
    """

    passage: Passage
    relevance: float | None
    keywords: float = 0.0
    score: float = 0.0
    kept: tuple[tuple[int, int], ...] | None = None
    """The parts of the passage's text that a drafter reads, as spans in it, in order and apart;
    `None`: all of it. The passage itself stays whole, for checks and citations."""

    @property
    def reading(self) -> str:
        """What a drafter reads of the passage."""
        if self.kept is None:
            return self.passage.text
        return "\n".join(self.passage.text[start:end] for start, end in self.kept)

    def reads(self, start: int, end: int) -> bool:
        """Whether a drafter reads this span of the passage's text."""
        return self.kept is None or any(a <= start and end <= b for a, b in self.kept)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passages at hand for one question, best first."""

    question: str
    items: tuple[Retrieved, ...] = ()
    notes: tuple[str, ...] = ()
    """What the reader should know of the search: a fallback taken, an embedder out of reach."""
    day: date | None = None
    """On which the passages have to be in force; `None`: today."""
    then: bool = False
    """The question asks about another time: passages no longer in force belong here."""
    timeless: str = ""
    """The question without its words about time, where the passages are of versions of that time,
    which answer for it; no passage of an old policy says "previous"."""
    earlier: int = 0
    """So many of the items, the last ones, are answers of earlier turns: no mark names them."""

    def __iter__(self) -> Iterator[Retrieved]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(item.passage for item in self.items)

    @property
    def wanted(self) -> str:
        """The question as passages can answer it."""
        return self.timeless or self.question

    @property
    def sources(self) -> tuple[Passage, ...]:
        """The passages that marks number, in their order."""
        return self.passages[: len(self.items) - self.earlier]

    @property
    def removed(self) -> float:
        """The share of the passages' characters that no drafter reads."""
        total = sum(len(item.passage.text) for item in self.items)
        cut = (item for item in self.items if item.kept is not None)
        left_out = sum(
            len(item.passage.text) - sum(end - start for start, end in item.kept or ())
            for item in cut
        )
        return left_out / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing the gate looked at: its value, and the number it was held against."""

    name: str
    value: float | None
    threshold: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A passage the gate did not count, and why."""

    passage: Passage
    reason: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two passages that cannot both be right, in their own words. `ambiguous`: they speak of
    different things of one name, which is no conflict but must be said."""

    first: Passage
    second: Passage
    first_quote: str
    second_quote: str
    score: float
    reason: str = ""
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The decision before generation, with its reasons and what is missing."""

    level: Level
    score: float
    policy: str
    reasons: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    tier: str | None = None
    signals: tuple[Signal, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    next_steps: tuple[str, ...] = ()
    record: str = field(default="", compare=False)
    """The id of its record in the log, where it was recorded by itself."""

    @property
    def open(self) -> bool:
        """Whether a draft may be written from this evidence."""
        return self.level in (Level.SUFFICIENT, Level.PARTIAL)


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered source of an answer: `n` is the mark `[n]` in the text."""

    n: int
    passage: Passage
    quote: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement of a draft: `draft.text[start:end] == text`."""

    text: str
    start: int
    end: int
    cites: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """What a drafter wrote. Untrusted until the checks have read it. Empty text: it declined."""

    text: str
    claims: tuple[Claim, ...] = ()
    citations: tuple[Citation, ...] = ()
    drafter: str = ""
    cut: bool = False
    """Whether the writing broke off before its end."""
    notes: tuple[str, ...] = ()
    """What the reader should know of the writing: why it broke off, what the writer was not shown,
    which passages try to instruct."""
    tokens: int = 0
    """What the writing cost, prompt and reply together."""
    answers: float | None = None
    """The probability that what is quoted answers the question; `None`: nobody judged that."""
    unanswered: tuple[str, ...] = ()
    """Of several questions asked at once, those that the drafter found no answer to."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One of several facts that a claim states, judged by itself."""

    text: str
    support: Support


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's judgement of one claim."""

    claim: Claim
    check: str
    support: Support
    score: float | None = None
    passage_id: str | None = None
    span: tuple[int, int] | None = None
    """Where in the passage's text the support stands."""
    reason: str = ""
    code: Code | None = None
    kind: Hallucination | None = None
    """What sort of hallucination this is, where it is one."""
    facts: tuple[Fact, ...] = ()
    """The claim's facts one by one, where it states several and the check judges facts."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document named to the reader of a refusal."""

    document: str
    title: str
    version: str
    heading: tuple[str, ...] = ()
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A draft on the way, what the checks found of it, and the row of the routing table it fits."""

    draft: Draft
    findings: tuple[Finding, ...] = ()
    route: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What leaves, and why. `released` is the only text a user may be shown as an answer."""

    question: str
    action: Action
    reason: str
    gate: GateDecision
    evidence: Evidence
    draft: Draft | None = None
    released: str = ""
    findings: tuple[Finding, ...] = ()
    citations: tuple[Citation, ...] = ()
    missing: tuple[str, ...] = ()
    nearest: tuple[Source, ...] = ()
    share_read: float = 0.0
    """The share of the draft's claim characters that some checker actually read."""
    notes: tuple[str, ...] = field(default=())
    faithfulness: float | None = None
    """The share of the draft's claims that are backed; `None`: nothing was drafted."""
    fact_score: float | None = None
    """The share of their atomic facts that are backed."""
    grade: Grade | None = None
    route: str = ""
    """The row of the routing table that decided."""
    rescue: Rescue | None = None
    attempts: tuple[Attempt, ...] = ()
    """Every draft that was written on the way, first to last."""
    confidence: float | None = None
    """The probability that the answer is right: that it answers the question, and that its weakest
    claims are supported. `None`: nobody gave one."""
    record: str = field(default="", compare=False)
    """The id of its record in the log; empty where none is kept."""

    @property
    def served(self) -> bool:
        return self.action in (Action.SERVE, Action.CAVEAT, Action.CONFLICT)

    @property
    def fabricated(self) -> int:
        """How many claims named a source that does not exist, in any draft on the way."""
        every = (*self.findings, *(one for attempt in self.attempts for one in attempt.findings))
        return len({finding for finding in every if finding.code is Code.FABRICATED})

    @property
    def gap(self) -> bool:
        """Whether the documents lack an answer: too little was found, or nothing to back one."""
        unsupported = self.grade is Grade.UNSUPPORTED or self.draft is None
        return self.action is Action.WITHHOLD and unsupported
