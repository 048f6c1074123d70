"""The result types of the MCP tools. The SDK derives the output schemas from them and validates
every result. Additional fields are allowed."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

OPEN = with_config(ConfigDict(extra="allow"))
Level = Literal["SUFFICIENT", "PARTIAL", "INSUFFICIENT", "CONFLICT", "REVIEW"]
Action = Literal["SERVE", "CAVEAT", "CONFLICT", "WITHHOLD", "REVIEW"]
Support = Literal["BACKED", "CONTRADICTED", "UNBACKED", "UNCHECKED"]
Status = Literal["current", "superseded", "expired", "not yet effective", "retired"]


@OPEN
class Origin(TypedDict):
    """Where a passage comes from. `passage` is its id, dates are in ISO format."""

    document: str
    title: str
    version: str
    passage: str
    origin: Literal["indexed", "carried"]
    heading: list[str]
    page: int | None
    effective: str | None
    expires: str | None


@OPEN
class Quoted(Origin):
    """A source with a quotation from it."""

    quote: str


@OPEN
class Citation(Quoted):
    """The source that [n] cites."""

    n: int


@OPEN
class Excluded(Origin):
    """A passage that was left out, whole or partly, and why."""

    reason: str
    partly: bool


@OPEN
class Conflict(TypedDict):
    """Two sources that disagree."""

    score: float
    ambiguous: bool
    reason: str
    sources: list[Quoted]


@OPEN
class Signal(TypedDict):
    """A number on which the gate's decision is based."""

    name: str
    value: float | None
    threshold: float | None
    note: str


@OPEN
class Gate(TypedDict):
    """The decision whether the evidence is sufficient."""

    level: Level
    score: float
    policy: str
    tier: str | None
    reasons: list[str]
    factors: list[str]
    missing: list[str]
    signals: list[Signal]
    excluded: list[Excluded]
    conflicts: list[Conflict]
    next_steps: list[str]


@OPEN
class FoundPassage(Origin):
    """A passage that a search found."""

    kind: str
    text: str
    relevance: float | None
    keywords: float | None
    score: float | None


@OPEN
class SearchResult(TypedDict):
    """Passages and the gate's decision on them."""

    gate: Gate
    advice: str
    question: str
    passages: list[FoundPassage]
    notes: list[str]
    record: str | None


@OPEN
class Nearest(TypedDict):
    """A document related to the question."""

    document: str
    title: str
    version: str
    heading: list[str]
    origin: Literal["indexed", "carried"]
    relevance: float | None


@OPEN
class Answer(TypedDict):
    """The verdict on an answer. Only `answer` may be shown; if it is null, nothing may be shown."""

    question: str
    verdict: Action
    answer: str | None
    highlight: list[str]
    citations: list[Citation]
    gate: Gate
    reason: str
    missing: list[str]
    nearest: list[Nearest]
    next_steps: list[str]
    confidence: float | None
    faithfulness: float | None
    fact_score: float | None
    grade: str | None
    route: str | None
    rescue: str | None
    drafts: int
    share_read: float
    removed: float
    notes: list[str]
    record: str | None


@OPEN
class Fact(TypedDict):
    """A part of a claim."""

    text: str
    support: Support


@OPEN
class Finding(TypedDict):
    """One check's judgement of a claim. `passage` is the number used in citations."""

    check: str
    support: Support
    code: str | None
    kind: str | None
    score: float | None
    passage: int | None
    span: list[int] | None
    reason: str
    facts: list[Fact]


@OPEN
class Claim(TypedDict):
    """A statement of a draft, with its character range."""

    text: str
    span: list[int]
    cites: list[int]
    support: Support
    reason: str
    findings: list[Finding]


@OPEN
class CheckedPassage(Origin):
    """A passage that a draft was checked against."""

    n: int
    text: str


@OPEN
class Validation(TypedDict):
    """The verdict on a draft, claim by claim."""

    question: str | None
    answer: str
    verdict: Action
    reason: str
    grade: str | None
    confidence: float | None
    faithfulness: float | None
    fact_score: float | None
    share_read: float
    route: str | None
    claims: list[Claim]
    passages: list[CheckedPassage]
    excluded: list[Excluded]
    notes: list[str]
    record: str | None
    gate: Gate | None


@OPEN
class Version(TypedDict):
    """A version of a document."""

    document: str
    collection: str
    title: str
    version: str
    key: str
    status: Status
    kind: str
    effective: str | None
    expires: str | None
    seen: str | None
    file_date: str | None
    access: list[str]
    passages: int


@OPEN
class ShownPassage(Origin):
    """The full text of a passage; `of` is the version of its document."""

    text: str
    kind: str
    span: list[int]
    of: Version | None


@OPEN
class VersionName(TypedDict):
    """A version in the history of a document."""

    version: str
    key: str
    status: Status


@OPEN
class ShownDocument(Version):
    """A version with a page of its text; `next_start` is the start of the next page."""

    text: str
    characters: int
    next_start: int | None
    versions: list[VersionName]


@OPEN
class Feedback(TypedDict):
    """`record` is the id of the stored feedback."""

    record: str
