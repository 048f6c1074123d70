"""The public JSON: what the command line, the gateway and the MCP server write, and which requests
they read.

Every object is declared once. Encoding, the validation of request bodies, the OpenAPI document, the
result schemas of the MCP tools and docs/reference/schemas.md come from these declarations. Objects
are open: readers ignore fields that they do not know. Of OpenAI's and Anthropic's objects, only the
fields that Suffice reads or sets are declared; the others pass through.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from suffice import types
from suffice.evidence.rows import VersionInfo, VersionStatus
from suffice.types import Action, Code, Grade, Hallucination, Kind, Level, Rescue, Support
from suffice.verdict.assess import claim_statuses

if TYPE_CHECKING:
    from suffice.evidence.ingest import Report
    from suffice.verdict.assess import ClaimStatus

REFERENCE = "#/components/schemas/{name}"
"""The form of a reference to another schema in the OpenAPI document."""


def tree(value: Any) -> Any:
    """The value as plain dictionaries, sequences, texts and numbers."""
    return msgspec.to_builtins(value)


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


class Origin(Struct, frozen=True, kw_only=True):
    """Where a passage comes from. `passage` is its id; dates are in ISO format."""

    document: str
    title: str
    version: str
    passage: str
    origin: Literal["indexed", "carried"]
    heading: tuple[str, ...]
    page: int | None
    effective: str | None
    expires: str | None


def origin(passage: types.Passage) -> dict[str, Any]:
    """The fields of `Origin`."""
    return {
        "document": passage.document,
        "title": passage.title,
        "version": passage.version,
        "passage": passage.id,
        "origin": passage.origin,
        "heading": passage.heading,
        "page": passage.page,
        "effective": _iso(passage.effective),
        "expires": _iso(passage.expires),
    }


class Quoted(Origin, frozen=True, kw_only=True):
    """A source with a quotation from it."""

    quote: str


class Citation(Quoted, frozen=True, kw_only=True):
    """The source that [n] cites."""

    n: int

    @classmethod
    def of(cls, value: types.Citation) -> Citation:
        return cls(n=value.n, **origin(value.passage), quote=value.quote)


class Excluded(Origin, frozen=True, kw_only=True):
    """A passage that was left out, whole or `partly`, with the reason."""

    reason: str
    partly: bool

    @classmethod
    def of(cls, value: types.Exclusion) -> Excluded:
        return cls(**origin(value.passage), reason=value.reason, partly=value.partly)


class FoundPassage(Origin, frozen=True, kw_only=True):
    """A passage that a search found, with its raw scores."""

    kind: Kind
    text: str
    relevance: float | None
    keywords: float | None
    score: float | None

    @classmethod
    def of(cls, value: types.Retrieved) -> FoundPassage:
        return cls(
            **origin(value.passage),
            kind=value.passage.kind,
            text=value.passage.text,
            relevance=rounded(value.relevance),
            keywords=rounded(value.keywords),
            score=rounded(value.score),
        )


class CheckedPassage(Origin, frozen=True, kw_only=True):
    """A passage that an answer was checked against; [n] cites it."""

    n: int
    text: str


class Evidence(Struct, frozen=True, kw_only=True):
    """The passages found for a question."""

    question: str
    passages: tuple[FoundPassage, ...]
    notes: tuple[str, ...]
    excluded: tuple[Excluded, ...] | UnsetType = UNSET

    @classmethod
    def of(cls, value: types.Evidence) -> Evidence:
        return cls(
            question=value.question,
            passages=tuple(map(FoundPassage.of, value)),
            notes=value.notes,
        )


class Nearest(Struct, frozen=True):
    """A document related to the question."""

    document: str
    title: str
    version: str
    heading: tuple[str, ...]
    origin: Literal["indexed", "carried"]
    relevance: float | None

    @classmethod
    def of(cls, value: types.Source) -> Nearest:
        return cls(
            value.document,
            value.title,
            value.version,
            value.heading,
            "carried" if value.carried else "indexed",
            rounded(value.relevance),
        )


class Conflict(Struct, frozen=True):
    """Two sources that disagree."""

    score: float
    ambiguous: bool
    reason: str
    sources: tuple[Quoted, ...]

    @classmethod
    def of(cls, value: types.Conflict) -> Conflict:
        return cls(
            round(value.score, 4),
            value.ambiguous,
            value.reason,
            (
                Quoted(**origin(value.first), quote=value.first_quote),
                Quoted(**origin(value.second), quote=value.second_quote),
            ),
        )


class Signal(Struct, frozen=True):
    """A number on which the gate's decision is based."""

    name: str
    value: float | None
    threshold: float | None
    note: str

    @classmethod
    def of(cls, value: types.Signal) -> Signal:
        return cls(value.name, rounded(value.value), rounded(value.threshold), value.note)


class FullGate(Struct, frozen=True, kw_only=True):
    """The decision whether the evidence is sufficient, with its reasons."""

    level: Level
    score: float
    policy: str
    tier: str | None
    reasons: tuple[str, ...]
    factors: tuple[str, ...]
    missing: tuple[str, ...]
    signals: tuple[Signal, ...]
    excluded: tuple[Excluded, ...]
    conflicts: tuple[Conflict, ...]
    next_steps: tuple[str, ...]

    @classmethod
    def of(cls, value: types.GateDecision) -> FullGate:
        return cls(**gate_fields(value))


def gate_fields(value: types.GateDecision) -> dict[str, Any]:
    """The fields of `FullGate`."""
    return {
        "level": value.level,
        "score": round(value.score, 4),
        "policy": value.policy,
        "tier": value.tier,
        "reasons": value.reasons,
        "factors": value.factors,
        "missing": value.missing,
        "signals": tuple(map(Signal.of, value.signals)),
        "excluded": tuple(map(Excluded.of, value.excluded)),
        "conflicts": tuple(map(Conflict.of, value.conflicts)),
        "next_steps": value.next_steps,
    }


class Fact(Struct, frozen=True):
    """A part of a claim."""

    text: str
    support: Support


class Finding(Struct, frozen=True, kw_only=True):
    """One check's judgement of a claim. `passage` is the number of a passage in citations, `span` a
    range of that passage's text."""

    check: str
    support: Support
    code: Code | None
    kind: Hallucination | None
    score: float | None
    passage: int | None
    span: tuple[int, int] | None
    reason: Annotated[str | None, Meta(description="`null`: withheld from this caller.")]
    facts: tuple[Fact, ...]

    @classmethod
    def of(
        cls, value: types.Finding, numbers: Mapping[str, int], *, secret: bool = False
    ) -> Finding:
        """`numbers` are those of the passages by id. `secret` leaves out what repeats the words
        and values of the claim."""
        return cls(
            check=value.check,
            support=value.support,
            code=value.code,
            kind=value.kind,
            score=rounded(value.score),
            passage=numbers.get(value.passage_id) if value.passage_id else None,
            span=value.span or None,
            reason=None if secret else value.reason,
            facts=() if secret else tuple(Fact(one.text, one.support) for one in value.facts),
        )


class CheckedClaim(Struct, frozen=True, kw_only=True):
    """A statement of an answer, with its character range."""

    text: str
    span: tuple[int, int]
    cites: tuple[int, ...]
    support: Support
    reason: str
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, value: ClaimStatus, numbers: Mapping[str, int]) -> CheckedClaim:
        return cls(
            text=value.claim.text,
            span=(value.claim.start, value.claim.end),
            cites=value.claim.cites,
            support=value.support,
            reason=value.reason,
            findings=tuple(Finding.of(finding, numbers) for finding in value.findings),
        )


class Draft(Struct, frozen=True):
    """A draft that waits for a person, with the passages behind its claims."""

    text: str
    claims: tuple[CheckedClaim, ...]
    passages: tuple[CheckedPassage, ...]


class Answer(Struct, frozen=True, kw_only=True):
    """The verdict on an answer. Only `answer` may be shown; if it is null, nothing may be shown."""

    question: str
    verdict: Action
    answer: str | None
    highlight: tuple[str, ...]
    citations: tuple[Citation, ...]
    gate: FullGate
    reason: str
    missing: tuple[str, ...]
    nearest: tuple[Nearest, ...]
    next_steps: tuple[str, ...]
    confidence: float | None
    faithfulness: float | None
    fact_score: float | None
    grade: Grade | None
    route: str | None
    rescue: Rescue | None
    drafts: int
    share_read: float
    removed: float
    notes: tuple[str, ...]
    record: str | None

    @classmethod
    def of(cls, value: types.Verdict) -> Answer:
        return cls(
            question=value.question,
            verdict=value.action,
            answer=value.released or None,
            highlight=highlights(value),
            citations=tuple(map(Citation.of, value.citations)),
            gate=FullGate.of(value.gate),
            reason=value.reason,
            missing=value.missing,
            nearest=tuple(map(Nearest.of, value.nearest)),
            next_steps=value.gate.next_steps,
            confidence=rounded(value.confidence),
            faithfulness=rounded(value.faithfulness),
            fact_score=rounded(value.fact_score),
            grade=value.grade,
            route=value.route or None,
            rescue=value.rescue,
            drafts=len(value.attempts),
            share_read=round(value.share_read, 4),
            removed=round(value.evidence.removed, 4),
            notes=value.notes,
            record=value.record or None,
        )


def highlights(value: types.Verdict) -> tuple[str, ...]:
    """The sentences of a quoted answer that answer the question."""
    quoted = value.draft.highlights if value.draft else ()
    return tuple(text for text in quoted if text in value.released)


class Judgement(Struct, frozen=True, kw_only=True):
    """The verdict of `check` on an existing answer, without claims and passages."""

    question: str | None
    answer: str
    verdict: Action
    reason: str
    grade: Grade | None
    confidence: float | None
    faithfulness: float | None
    fact_score: float | None
    share_read: float
    route: str | None
    excluded: tuple[Excluded, ...]
    notes: tuple[str, ...]
    record: str | None


def judgement_fields(value: types.Verdict) -> dict[str, Any]:
    """The fields of `Judgement`."""
    return {
        "question": value.question or None,
        "answer": value.draft.text if value.draft else "",
        "verdict": value.action,
        "reason": value.reason,
        "grade": value.grade,
        "confidence": rounded(value.confidence),
        "faithfulness": rounded(value.faithfulness),
        "fact_score": rounded(value.fact_score),
        "share_read": round(value.share_read, 4),
        "route": value.route,
        "excluded": tuple(map(Excluded.of, value.gate.excluded)),
        "notes": value.notes,
        "record": value.record or None,
    }


class CheckedAnswer(Judgement, frozen=True, kw_only=True):
    """The verdict of `check` on an existing answer, claim by claim."""

    claims: tuple[CheckedClaim, ...]
    passages: tuple[CheckedPassage, ...]

    @classmethod
    def of(cls, value: types.Verdict) -> CheckedAnswer:
        return cls(**checked_fields(value))


def checked_fields(value: types.Verdict) -> dict[str, Any]:
    """The fields of `CheckedAnswer`."""
    numbers = {passage.id: n for n, passage in enumerate(value.evidence.passages, 1)}
    return {
        **judgement_fields(value),
        "claims": tuple(CheckedClaim.of(one, numbers) for one in claim_statuses(value)),
        "passages": tuple(
            CheckedPassage(n=n, **origin(item.passage), text=item.passage.text)
            for n, item in enumerate(value.evidence, 1)
        ),
    }


class Version(Struct, frozen=True, kw_only=True):
    """A version of a document."""

    document: str
    collection: str
    title: str
    version: str
    key: str
    status: VersionStatus
    kind: Kind
    effective: str | None
    expires: str | None
    seen: str | None
    file_date: str | None
    access: tuple[str, ...]
    passages: int

    @classmethod
    def of(cls, value: VersionInfo, day: date) -> Version:
        return cls(**version_fields(value, day))


def version_fields(value: VersionInfo, day: date) -> dict[str, Any]:
    """The fields of `Version`, with the status on this day."""
    return {
        "document": value.document,
        "collection": value.collection,
        "title": value.title,
        "version": value.version,
        "key": value.key,
        "status": value.status(day),
        "kind": value.kind,
        "effective": _iso(value.effective),
        "expires": _iso(value.expires),
        "seen": _iso(value.seen),
        "file_date": _iso(value.file_date),
        "access": tuple(sorted(value.access)),
        "passages": value.passages,
    }


class FailedDocument(Struct, frozen=True):
    """A document that could not be read, with the reason."""

    document: str
    reason: str


class UnusedKey(Struct, frozen=True):
    """A key of a document's front matter that looks related to validity but is not used."""

    document: str
    key: str


class IndexReport(Struct, frozen=True, kw_only=True):
    """The result of an indexing run."""

    added: int
    changed: int
    unchanged: int
    retired: int
    embedded: int
    failures: tuple[FailedDocument, ...]
    unread: tuple[UnusedKey, ...]

    @classmethod
    def of(cls, value: Report) -> IndexReport:
        return cls(
            added=value.added,
            changed=value.changed,
            unchanged=value.unchanged,
            retired=value.retired,
            embedded=value.embedded,
            failures=tuple(FailedDocument(one.document, one.reason) for one in value.failures),
            unread=tuple(UnusedKey(document, key) for document, key in value.unread),
        )


# The results of the MCP tools.


class SearchResult(Struct, frozen=True, kw_only=True):
    """Passages and the gate's decision on them."""

    gate: FullGate
    advice: str
    question: str
    passages: tuple[FoundPassage, ...]
    notes: tuple[str, ...]
    record: str | None


class Validation(CheckedAnswer, frozen=True, kw_only=True):
    """The verdict on a draft, claim by claim. `gate` is null if the passages were given."""

    gate: FullGate | None


class ShownPassage(Origin, frozen=True, kw_only=True):
    """The full text of a passage; `of` is the version of its document."""

    text: str
    kind: Kind
    span: tuple[int, int]
    of: Version | None


class VersionName(Struct, frozen=True):
    """A version in the history of a document."""

    version: str
    key: str
    status: VersionStatus


class ShownDocument(Version, frozen=True, kw_only=True):
    """A version with a page of its text; `next_start` is the start of the next page."""

    text: str
    characters: int
    next_start: int | None
    versions: tuple[VersionName, ...]


class StoredFeedback(Struct, frozen=True):
    """`record` is the id of the stored feedback."""

    record: str


class Document(Version, frozen=True, kw_only=True):
    """A version of a document; `result` and `unread` after an upload, `versions` and `text` where
    it is shown."""

    result: Literal["added", "changed", "unchanged"] | UnsetType = UNSET
    unread: tuple[str, ...] | UnsetType = UNSET
    versions: tuple[Version, ...] | UnsetType = UNSET
    text: str | UnsetType = UNSET
