"""Converts values to JSON for the command line and the gateway; see docs/reference/cli.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from suffice.evidence.rows import VersionInfo
from suffice.types import (
    CARRIED,
    INDEXED,
    Citation,
    Conflict,
    Evidence,
    Exclusion,
    Finding,
    GateDecision,
    Passage,
    Source,
    Verdict,
)
from suffice.verdict.assess import claim_statuses

if TYPE_CHECKING:
    from suffice.evidence.ingest import Report


def verdict(value: Verdict) -> dict[str, Any]:
    return {
        "question": value.question,
        "verdict": value.action.value,
        "answer": value.released or None,
        "highlight": list(highlights(value)),
        "citations": [citation(entry) for entry in value.citations],
        "gate": gate(value.gate),
        "reason": value.reason,
        "missing": list(value.missing),
        "nearest": [source(entry) for entry in value.nearest],
        "next_steps": list(value.gate.next_steps),
        "confidence": rounded(value.confidence),
        "faithfulness": rounded(value.faithfulness),
        "fact_score": rounded(value.fact_score),
        "grade": value.grade.value if value.grade else None,
        "route": value.route or None,
        "rescue": value.rescue.value if value.rescue else None,
        "drafts": len(value.attempts),
        "share_read": round(value.share_read, 4),
        "removed": round(value.evidence.removed, 4),
        "notes": list(value.notes),
        "record": value.record or None,
    }


def highlights(value: Verdict) -> tuple[str, ...]:
    """The sentences of a quoted answer that answer the question."""
    lit = value.draft.highlights if value.draft else ()
    return tuple(text for text in lit if text in value.released)


def checked(value: Verdict) -> dict[str, Any]:
    """The verdict of `check` on an existing answer, claim by claim."""
    numbers = {passage.id: n for n, passage in enumerate(value.evidence.passages, 1)}
    return {
        "question": value.question or None,
        "answer": value.draft.text if value.draft else "",
        "verdict": value.action.value,
        "reason": value.reason,
        "grade": value.grade.value if value.grade else None,
        "confidence": rounded(value.confidence),
        "faithfulness": rounded(value.faithfulness),
        "fact_score": rounded(value.fact_score),
        "share_read": round(value.share_read, 4),
        "route": value.route,
        "claims": [
            {
                "text": status.claim.text,
                "span": [status.claim.start, status.claim.end],
                "cites": list(status.claim.cites),
                "support": status.support.value,
                "reason": status.reason,
                "findings": [finding(found, numbers) for found in status.findings],
            }
            for status in claim_statuses(value)
        ],
        "passages": [
            {"n": n, **origin(item.passage), "text": item.passage.text}
            for n, item in enumerate(value.evidence, 1)
        ],
        "excluded": excluded(value.gate.excluded),
        "notes": list(value.notes),
        "record": value.record or None,
    }


def finding(value: Finding, numbers: Mapping[str, int]) -> dict[str, Any]:
    """A finding; `passage` is its number in citations, `span` a range in that passage's text."""
    return {
        "check": value.check,
        "support": value.support.value,
        "code": value.code.value if value.code else None,
        "kind": value.kind.value if value.kind else None,
        "score": rounded(value.score),
        "passage": numbers.get(value.passage_id) if value.passage_id else None,
        "span": list(value.span) if value.span else None,
        "reason": value.reason,
        "facts": [{"text": fact.text, "support": fact.support.value} for fact in value.facts],
    }


def citation(value: Citation) -> dict[str, Any]:
    return {"n": value.n, **origin(value.passage), "quote": value.quote}


def gate(value: GateDecision) -> dict[str, Any]:
    return {
        "level": value.level.value,
        "score": round(value.score, 4),
        "policy": value.policy,
        "tier": value.tier,
        "reasons": list(value.reasons),
        "factors": list(value.factors),
        "missing": list(value.missing),
        "signals": [
            {
                "name": signal.name,
                "value": rounded(signal.value),
                "threshold": rounded(signal.threshold),
                "note": signal.note,
            }
            for signal in value.signals
        ],
        "excluded": excluded(value.excluded),
        "conflicts": [conflict(entry) for entry in value.conflicts],
        "next_steps": list(value.next_steps),
    }


def excluded(value: Iterable[Exclusion]) -> list[dict[str, Any]]:
    """The passages that were left out, whole or `partly`, each with the reason."""
    return [
        {**origin(entry.passage), "reason": entry.reason, "partly": entry.partly} for entry in value
    ]


def conflict(value: Conflict) -> dict[str, Any]:
    return {
        "score": round(value.score, 4),
        "ambiguous": value.ambiguous,
        "reason": value.reason,
        "sources": [
            {**origin(value.first), "quote": value.first_quote},
            {**origin(value.second), "quote": value.second_quote},
        ],
    }


def source(value: Source) -> dict[str, Any]:
    return {
        "document": value.document,
        "title": value.title,
        "version": value.version,
        "heading": list(value.heading),
        "origin": CARRIED if value.carried else INDEXED,
        "relevance": rounded(value.relevance),
    }


def evidence(value: Evidence) -> dict[str, Any]:
    return {
        "question": value.question,
        "passages": [
            {
                **origin(item.passage),
                "kind": item.passage.kind.value,
                "text": item.passage.text,
                "relevance": rounded(item.relevance),
                "keywords": rounded(item.keywords),
                "score": rounded(item.score),
            }
            for item in value
        ],
        "notes": list(value.notes),
    }


def report(value: Report) -> dict[str, Any]:
    return {
        "added": value.added,
        "changed": value.changed,
        "unchanged": value.unchanged,
        "retired": value.retired,
        "embedded": value.embedded,
        "failures": [{"document": f.document, "reason": f.reason} for f in value.failures],
        "unread": [{"document": document, "key": key} for document, key in value.unread],
    }


def version(value: VersionInfo, day: date) -> dict[str, Any]:
    return {
        "document": value.document,
        "collection": value.collection,
        "title": value.title,
        "version": value.version,
        "key": value.key,
        "status": value.status(day),
        "kind": value.kind.value,
        "effective": _iso(value.effective),
        "expires": _iso(value.expires),
        "seen": _iso(value.seen),
        "file_date": _iso(value.file_date),
        "access": sorted(value.access),
        "passages": value.passages,
    }


def origin(passage: Passage) -> dict[str, Any]:
    return {
        "document": passage.document,
        "title": passage.title,
        "version": passage.version,
        "passage": passage.id,
        "origin": passage.origin,
        "heading": list(passage.heading),
        "page": passage.page,
        "effective": _iso(passage.effective),
        "expires": _iso(passage.expires),
    }


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
