"""From findings to what leaves. What no check has backed does not leave."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.checks.check import share_read
from suffice.types import (
    Action,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Level,
    Source,
    Support,
    Verdict,
)
from suffice.verdict import wording


def withhold(
    evidence: Evidence, gate: GateDecision, reason: str, draft: Draft | None = None
) -> Verdict:
    """No answer leaves; the reader is told why, what is missing and what is nearest."""
    return Verdict(
        question=evidence.question,
        action=Action.WITHHOLD,
        reason=reason,
        gate=gate,
        evidence=evidence,
        draft=draft,
        missing=gate.missing,
        nearest=nearest(evidence),
        notes=evidence.notes,
    )


def decide(
    evidence: Evidence, gate: GateDecision, draft: Draft, findings: Sequence[Finding]
) -> Verdict:
    """Serves a draft whose every claim is backed; anything else is withheld."""
    if not draft.claims:
        return withhold(evidence, gate, wording.NO_STATEMENT, draft)
    backed = {finding.claim for finding in findings if finding.support is Support.BACKED}
    if not backed.issuperset(draft.claims):
        return withhold(evidence, gate, wording.NOT_BACKED, draft)
    partial = gate.level is Level.PARTIAL
    return Verdict(
        question=evidence.question,
        action=Action.CAVEAT if partial else Action.SERVE,
        reason=wording.LIMITED if partial else wording.QUOTED,
        gate=gate,
        evidence=evidence,
        draft=draft,
        released=draft.text,
        findings=tuple(findings),
        citations=draft.citations,
        share_read=share_read(draft, findings),
        notes=evidence.notes,
    )


def nearest(evidence: Evidence, most: int = 3) -> tuple[Source, ...]:
    """The documents nearest to the question, each once."""
    found: dict[str, Source] = {}
    for item in evidence:
        passage = item.passage
        found.setdefault(
            passage.document,
            Source(
                passage.document, passage.title, passage.version, passage.heading, item.relevance
            ),
        )
    return tuple(found.values())[:most]
