"""The value types that all parts of Suffice share. All are frozen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

_DIGEST = re.compile(r"[0-9a-f]{8}")
CARRIED, INDEXED = "carried", "indexed"


class Kind(StrEnum):
    """The kind of text in a document."""

    FACT = "fact"
    QA = "qa"
    PROCEDURE = "procedure"
    DISCUSSION = "discussion"


class Level(StrEnum):
    """The gate's assessment of the evidence, before anything is drafted."""

    SUFFICIENT = "SUFFICIENT"
    PARTIAL = "PARTIAL"
    INSUFFICIENT = "INSUFFICIENT"
    CONFLICT = "CONFLICT"
    REVIEW = "REVIEW"


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
    """What exactly a check found, in addition to its judgement."""

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
    """The claim says that it does not come from the evidence."""
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

    UNSURE = "unsure"
    """The words are in the source, but the verifier cannot tell whether they support the claim."""

    OMITTED = "omitted"

    BESIDE = "beside the question"
    """The answer does not address the question."""
    UNANSWERED = "unanswered"
    """The answer leaves one of several questions unanswered."""
    FAR = "far"
    """The claim is not similar to any cited passage; this does not mean that it is wrong."""


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
    def origin(self) -> str:
        """Where the passage comes from: `carried` or `indexed`."""
        return CARRIED if self.carried else INDEXED

    @property
    def edition(self) -> tuple[bool, str, str]:
        """What identifies the version of a document. A carried passage never shares it with an
        indexed one, whatever it calls itself."""
        return self.carried, self.document, self.version

    @property
    def declared(self) -> str:
        """The version that the document declares; empty if the store assigned a digest instead,
        which means nothing to a reader."""
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
class Retrieved:
    """A passage found for a question, with its raw scores.

    `relevance` is the cosine similarity to the question (`None` without vectors), `keywords` the
    BM25 score, `score` the fusion of both. None is normalised across results.
    """

    passage: Passage
    relevance: float | None
    keywords: float = 0.0
    score: float = 0.0
    kept: tuple[tuple[int, int], ...] | None = None
    """The spans of the text that a drafter reads, in order and disjoint; `None`: all of it. The
    passage itself stays whole for checks and citations."""

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
    """Notes on the search for the reader: a fallback used, an embedder not reachable."""
    day: date | None = None
    """The date on which the passages must be in force; `None`: today."""
    then: bool = False
    """The question asks about another time, so passages no longer in force are allowed."""
    timeless: str = ""
    """The question without its words about time, if the passages are versions of that time: no
    passage of an old policy contains the word "previous"."""
    earlier: int = 0
    """Number of trailing items that are earlier answers; citations never refer to them."""

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
class Signal:
    """One measurement of the gate, with the threshold it was compared with."""

    name: str
    value: float | None
    threshold: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A passage that the gate excluded, and why."""

    passage: Passage
    reason: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two passages that cannot both be right, with quotes. `ambiguous`: they are about different
    things of the same name, which is not a conflict but must be disclosed."""

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
    signals: tuple[Signal, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    next_steps: tuple[str, ...] = ()
    record: str = field(default="", compare=False)
    """The id of its record in the log, if it was recorded without a verdict."""

    @property
    def open(self) -> bool:
        """Whether a draft may be written."""
        return self.level in (Level.SUFFICIENT, Level.PARTIAL)


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
    which passages try to instruct."""
    tokens: int = 0
    """The tokens used, prompt and reply together."""
    answers: float | None = None
    """The probability that the quotations answer the question; `None`: not judged."""
    unanswered: tuple[str, ...] = ()
    """Those of several questions that the drafter found no answer to."""


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
    """The kind of hallucination, if it is one."""
    facts: tuple[Fact, ...] = ()
    """The facts of the claim, if it has several and the check judges facts."""


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

    @property
    def served(self) -> bool:
        return self.action in (Action.SERVE, Action.CAVEAT, Action.CONFLICT)

    @property
    def fabricated(self) -> int:
        """The number of claims that cite a source which does not exist, in any draft."""
        every = (*self.findings, *(one for attempt in self.attempts for one in attempt.findings))
        return len({finding for finding in every if finding.code is Code.FABRICATED})

    @property
    def gap(self) -> bool:
        """Whether the documents lack an answer: too little evidence, or no support for a draft."""
        unsupported = self.grade is Grade.UNSUPPORTED or self.draft is None
        return self.action is Action.WITHHOLD and unsupported
