"""The values that all parts of Suffice share, in the order of the main path. All are frozen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

_DIGEST = re.compile(r"[0-9a-f]{8}")
Readings = Mapping[int, float | None]
"""What a verifier said of passages, by their numbers in the index (`Retrieved.answers`)."""
CARRIED, INDEXED = "carried", "indexed"


class Kind(StrEnum):
    """The kind of text in a document."""

    FACT = "fact"
    QA = "qa"
    PROCEDURE = "procedure"
    DISCUSSION = "discussion"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document version. `source[start:end] == text` for the source text as stored.

    The id encodes document, version and position; the same file always gives the same ids. The
    passage is in force from `since` (`None`: always) until the day before `until`, when it expires,
    is superseded or retired (`None`: not known). Versions of one document share a `family` (empty
    if only document and title identify them). The coverage policy uses `summary` and `temperature`
    (a source's own measure of how much it is used) if the retriever supplies them.
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
    carried: bool = False
    """Whether a caller supplied the passage, as text or in a request; `False`: a search found it.
    The document, title and version of a carried passage are the caller's words."""

    @property
    def name(self) -> str:
        """What a reader calls the passage: its title, its document or, without both, its id."""
        return self.title or self.document or self.id

    @property
    def origin(self) -> str:
        """Where the passage comes from: `carried` or `indexed`."""
        return CARRIED if self.carried else INDEXED

    @property
    def edition(self) -> tuple[bool, str, str]:
        """Identifies the version of a document. A carried passage never shares it with an indexed
        one, even if their document and version have the same names."""
        return self.carried, self.document, self.version

    def holds(self, other: Passage) -> bool:
        """Whether the other passage is a part of this one."""
        same = (self.collection, *self.edition) == (other.collection, *other.edition)
        within = self.start <= other.start < other.end <= self.end
        return self.id == other.id or (same and within)

    @property
    def declared(self) -> str:
        """The version that the document declares; empty if the store assigned a digest, which means
        nothing to a reader."""
        made_up = _DIGEST.fullmatch(self.version) and f"@{self.version}#" in self.id
        return "" if made_up else self.version

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings without table headers."""
        return tuple(part for part in self.heading if not part.startswith("|"))

    @property
    def place(self) -> str:
        """The position in the document: "Leave > Parental, page 3"."""
        parts = [" > ".join(self.headings)] if self.headings else []
        if self.page is not None:
            parts.append(f"page {self.page}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Instruction:
    """The words of a passage that try to instruct the model, and whether that is certain. Without a
    quote, the passage holds none."""

    quote: str = ""
    certain: bool = False
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Of an uncertain instruction, where the suspicious sentences stand (`evidence.sanitize`)."""

    def __bool__(self) -> bool:
        return bool(self.quote)


NOT_RECORDED = {"recorded": False}
"""Metadata of fields that are derived from others and left out of records."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage found for a question, with its raw scores.

    `relevance` is the cosine similarity to the question (`None` without vectors), `keywords` the
    BM25 score, `score` the fusion of both. No score is normalised across results.
    """

    passage: Passage
    relevance: float | None
    keywords: float = 0.0
    score: float = 0.0
    kept: tuple[tuple[int, int], ...] | None = None
    """The spans of the text that a drafter reads, in order and disjoint; `None`: all of it.
    Checks and citations use the whole passage."""
    answers: float | None = None
    """The log-odds that the passage answers the question, by the verifier that ordered the search
    (`Evidence.read_by`); `None` if it was not read. Of joined passages, those of the best."""
    number: int = 0
    """The number of the best of the joined passages in the index; 0 without an index."""
    instruction: Instruction | None = field(
        default=None, compare=False, repr=False, metadata=NOT_RECORDED
    )
    """What the search for planted instructions found in the passage (`evidence.sanitize`); `None`:
    the passage was not searched yet."""

    @property
    def reading(self) -> str:
        """The text that a drafter reads."""
        if self.kept is None:
            return self.passage.text
        return "\n".join(self.passage.text[start:end] for start, end in self.kept)

    def reads(self, start: int, end: int) -> bool:
        """Whether a drafter reads this span of the text."""
        return self.kept is None or any(a <= start and end <= b for a, b in self.kept)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passages retrieved for one question, best first."""

    question: str
    items: tuple[Retrieved, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes about the search for the reader, for example that the embedder was unreachable."""
    day: date | None = None
    """The date on which the passages must be in force; `None`: today."""
    then: bool = False
    """Whether the question asks about another time, so that passages no longer in force are
    allowed."""
    timeless: str = ""
    """The question without its words about time, if the passages are versions from that time. An
    old policy does not contain the word "previous"."""
    subject: str = ""
    """What the documents are about, if the question does not name it: "Frigate"."""
    earlier: int = 0
    """Number of trailing items that are earlier answers; citations never refer to them."""
    read_by: str = ""
    """The verifier that has read the items for this question; empty if none has."""
    readings: Readings = field(default_factory=dict, compare=False, repr=False)
    """All that it said, also of passages that are not among the items."""
    without_vectors: str = ""
    """Why the search was by keywords only; empty if it was not. A note says so too."""

    def __iter__(self) -> Iterator[Retrieved]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(item.passage for item in self.items)

    @property
    def wanted(self) -> str:
        """The question in the form that passages can answer."""
        return self.timeless or self.question

    def in_context(self, question: str) -> str:
        """A question as search and verifier read it: with the subject of the documents."""
        return f"{self.subject}: {question}" if self.subject else question

    @property
    def sources(self) -> tuple[Passage, ...]:
        """The passages that citation numbers refer to, in order."""
        return self.passages[: len(self.items) - self.earlier]

    @property
    def removed(self) -> float:
        """The share of the passages' characters that is filtered out for drafters."""
        total = sum(len(item.passage.text) for item in self.items)
        cut = (item for item in self.items if item.kept is not None)
        left_out = sum(
            len(item.passage.text) - sum(end - start for start, end in item.kept or ())
            for item in cut
        )
        return left_out / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered source of an answer: `n` appears as `[n]` in the text."""

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
    """The output of a drafter, untrusted until checked. An empty text means that it declined."""

    text: str
    claims: tuple[Claim, ...] = ()
    citations: tuple[Citation, ...] = ()
    drafter: str = ""
    cut: bool = False
    """Whether the draft was cut off."""
    notes: tuple[str, ...] = ()
    """Notes for the reader: why the draft was cut off, which evidence the drafter did not receive,
    and which passages try to instruct the model."""
    tokens: int = 0
    """The tokens used by prompt and reply together."""
    answers: float | None = None
    """The probability that the quotations answer the question; `None`: not judged."""
    unanswered: tuple[str, ...] = ()
    """The parts of a multi-part question that the drafter could not answer."""
    unread: int = 0
    """The number of characters outside the text that no check reads: those removed because they are
    not shown as text, such as comments, and those of a tool call that state nothing."""
    highlights: tuple[str, ...] = ()
    """Of quoted blocks, the sentences that answer the question, as they stand in the text."""
    claimed: int = 0
    """The number of different claims before the draft was trimmed; 0 if it was not trimmed."""


RULES_ON_MEANING = frozenset({"literals", "omission"})
"""The checks whose rules in code judge what a claim means. Other rules report what they can prove,
such as a citation that does not exist."""


class Support(StrEnum):
    """A check's judgement of one claim. A claim that was not checked is UNCHECKED, never BACKED."""

    BACKED = "BACKED"
    CONTRADICTED = "CONTRADICTED"
    UNBACKED = "UNBACKED"
    UNCHECKED = "UNCHECKED"


class Hallucination(StrEnum):
    """The kinds of hallucination."""

    FAITHFULNESS = "faithfulness"
    """The claim contradicts the evidence."""
    FACTUALITY = "factuality"
    """The claim is in no passage and likely comes from the model's training."""
    ATTRIBUTION = "attribution"
    """The cited source does not exist or is the wrong one."""
    OMISSION = "omission"
    """The claim omits a condition without which it is not true."""


class Code(StrEnum):
    """The specific result of a check, in addition to its judgement."""

    CLEAR = "clear"
    """The check found no problem in what it examines; the rest of the claim may be wrong."""
    OFF = "off"
    """The check is switched off in the settings."""
    FAILED = "failed"
    """The check failed on this claim, so its result is unknown."""

    UNCITED = "uncited"
    SHORT = "short"
    CUT_OFF = "cut off"
    TRAINING = "training"
    """The claim itself says that it does not come from the evidence."""
    ABSTAINED = "abstained"

    VERIFIED = "verified"
    """The source exists, was retrieved, is current, in force, and supports the claim."""
    RESOLVED = "resolved"
    """As VERIFIED, except that support for the claim was not determined."""
    FABRICATED = "fabricated"
    NOT_RETRIEVED = "not retrieved"
    STALE = "stale"
    EXPIRED = "expired"
    MISATTRIBUTED = "misattributed"

    DERIVED = "derived"
    """A value computed from two values in the source."""
    CHANGED = "changed"
    """The source has a different value for the same thing."""
    ABSENT = "absent"
    MISCALCULATED = "miscalculated"
    """A calculation that the claim writes out has another result."""

    UNSURE = "unsure"
    """The words are in the source, but the verifier cannot tell whether they support the claim."""

    MARKED = "marked"
    """The only source also holds words that look like an instruction to the model."""

    DOUBTED = "doubted"
    """The source has another value or none, but the verifier finds the claim supported."""

    OMITTED = "omitted"

    BESIDE = "beside the question"
    """The answer does not address the question."""
    UNANSWERED = "unanswered"
    """The answer leaves one of several questions unanswered."""
    FAR = "far"
    """The claim is not similar to any cited passage; this does not mean that it is wrong."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One of several facts in a claim, judged separately."""

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
    """The relevant span of the passage's text."""
    reason: str = ""
    code: Code | None = None
    kind: Hallucination | None = None
    """The kind of hallucination, if the claim is one."""
    facts: tuple[Fact, ...] = ()
    """The facts of the claim, if it has several and the check judges facts."""


class ReasonCode(StrEnum):
    """What a reason says. `verdict.wording` has the words."""

    TEXT = "text"
    """Words that quote no draft: those of a setting, a person or another part."""
    UNKNOWN = "unknown"
    """Words of which is not known whether they quote a draft."""

    QUOTED = "quoted"
    CHECKED = "checked"
    LIMITED = "limited"
    POSSIBLY_LIMITED = "possibly limited"
    THIN = "thin"
    NOT_VERIFIED = "not verified"
    UNREAD = "unread"
    BESIDE = "beside"
    LEFT_OPEN = "left open"
    ANSWERED_IN_PART = "answered in part"
    OTHER_KIND = "other kind"
    MARKS_UNVERIFIED = "marks unverified"
    MARKED = "marked"
    VALUE_DOUBTED = "value doubted"
    UNSURE = "unsure"

    UNSURE_REVIEW = "unsure, review"
    WRONG_SOURCE = "wrong source"

    NOTHING_FOUND = "nothing found"
    ONLY_LEFT_OUT = "only left out"
    NOT_ENOUGH = "not enough"
    NO_STATEMENT = "no statement"
    OTHER_QUESTION = "other question"
    CONTRADICTED = "contradicted"
    NO_SUCH_SOURCE = "no such source"
    NO_SOURCE = "no source"
    NOT_ANSWERED = "not answered"
    NOT_BACKED = "not backed"
    OTHER_VALUE = "other value"
    UNLIKELY = "unlikely"
    NOT_WRITTEN = "not written"
    CHECK_FAILED = "check failed"
    CHECK_LATE = "check late"
    TOO_LONG = "too long"
    ABANDONED = "abandoned"

    DISAGREE = "disagree"

    SHORTENED = "shortened"
    CITATION_CORRECTED = "citation corrected"
    QUOTED_INSTEAD = "quoted instead"
    QUOTED_UNWRITTEN = "quoted, unwritten"

    OVERRIDDEN = "overridden"
    RELEASED = "released"
    CORRECTED = "corrected"
    WITHDRAWN = "withdrawn"

    CONDITION_OMITTED = "condition omitted"
    """A note: the source has a condition that a claim leaves out."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One statement about a verdict, as data: what it says, which claims it quotes, and the values
    that its words take in. Only `verdict.wording` turns it into words, and takes withheld claims
    out of it."""

    code: ReasonCode
    claims: tuple[Claim, ...] = ()
    values: tuple[str, ...] = ()
    withheld: int = 0
    """The number of claims that were taken out, because the reader may not see them."""


class Level(StrEnum):
    """The gate's assessment of the evidence, before anything is drafted."""

    SUFFICIENT = "SUFFICIENT"
    PARTIAL = "PARTIAL"
    INSUFFICIENT = "INSUFFICIENT"
    CONFLICT = "CONFLICT"
    REVIEW = "REVIEW"


@dataclass(frozen=True, slots=True)
class Signal:
    """One measurement of the gate, with the threshold it was compared with."""

    name: str
    value: float | None
    threshold: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A passage that was left out, and why."""

    passage: Passage
    reason: str
    partly: bool = False
    """Whether only some words of it were left out; the rest is evidence."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two passages that cannot both be right, with quotes. `ambiguous`: they are about different
    things with the same name, which is not a conflict but must be disclosed."""

    first: Passage
    second: Passage
    first_quote: str
    second_quote: str
    score: float
    reason: str = ""
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The decision before generation, with its reasons and what the documents do not cover."""

    level: Level
    score: float
    policy: str
    reasons: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    tier: str | None = None
    """The similarity tier that opened, or the tier of the verifier that judged."""
    signals: tuple[Signal, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    next_steps: tuple[str, ...] = ()
    compares: bool = False
    """Whether the reader has to compare several versions, which no single passage does."""
    record: str = field(default="", compare=False)
    """The id of its record in the log, if it was recorded without a verdict."""

    @property
    def open(self) -> bool:
        """Whether a draft may be written."""
        return self.level in (Level.SUFFICIENT, Level.PARTIAL)


class Grade(StrEnum):
    """The grade of an answer, by the share of its claims that are backed."""

    SUPPORTED = "supported"
    PARTIAL = "partially supported"
    WEAK = "weakly supported"
    UNSUPPORTED = "unsupported"


class Rescue(StrEnum):
    """How a draft that could not be released was made releasable."""

    REVISED = "revised"
    REATTRIBUTED = "reattributed"
    TRIMMED = "trimmed"
    EXTRACTIVE = "extractive"


class Action(StrEnum):
    """What is released to the user."""

    SERVE = "SERVE"
    CAVEAT = "CAVEAT"
    CONFLICT = "CONFLICT"
    WITHHOLD = "WITHHOLD"
    REVIEW = "REVIEW"


@dataclass(frozen=True, slots=True)
class Source:
    """A document listed in a refusal."""

    document: str
    title: str
    version: str
    heading: tuple[str, ...] = ()
    relevance: float | None = None
    carried: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """An intermediate draft, its findings, and the row of the routing table that it matches."""

    draft: Draft
    findings: tuple[Finding, ...] = ()
    route: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on an answer, and why. `released` is the only text to show as an answer."""

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
    """The share of the draft's characters that at least one check judged."""
    notes: tuple[str, ...] = field(default=())
    faithfulness: float | None = None
    """The share of the draft's claims that are backed; `None`: nothing was drafted."""
    fact_score: float | None = None
    """The share of the claims' atomic facts that are backed."""
    grade: Grade | None = None
    route: str = ""
    """The row of the routing table that decided."""
    rescue: Rescue | None = None
    attempts: tuple[Attempt, ...] = ()
    """Every draft that was written, first to last."""
    confidence: float | None = None
    """The probability that the answer is correct: that it answers the question and that its weakest
    claims are supported. `None`: not available."""
    record: str = field(default="", compare=False)
    """The id of its record in the log; empty if nothing is recorded."""
    repeats: str = field(default="", compare=False)
    """The id of the record whose verdict this one repeats from a cache; empty if it is new."""
    reasons: tuple[Reason, ...] = ()
    """`reason` as data. Empty: not known what it quotes, so that only those who may see all of the
    draft may read it."""
    remarks: tuple[Reason, ...] = ()
    """The notes that quote claims, as data."""

    @property
    def served(self) -> bool:
        return self.action in (Action.SERVE, Action.CAVEAT, Action.CONFLICT)

    @property
    def fabricated(self) -> int:
        """The number of claims in all drafts that cite a source that does not exist."""
        every = (*self.findings, *(one for attempt in self.attempts for one in attempt.findings))
        return len({finding for finding in every if finding.code is Code.FABRICATED})

    @property
    def gap(self) -> bool:
        """Whether the documents lack an answer: too little evidence, or no support for a draft."""
        unsupported = self.grade is Grade.UNSUPPORTED or self.draft is None
        return self.action is Action.WITHHOLD and unsupported
