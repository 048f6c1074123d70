"""From findings to what leaves. What no check has backed does not leave."""

from __future__ import annotations

import re
from collections.abc import Sequence

from suffice.checks.check import share_read
from suffice.types import (
    Action,
    Citation,
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

_BETWEEN_CLAIMS = re.compile(r"(?:\s|\[\d+\])*")


def withhold(
    evidence: Evidence,
    gate: GateDecision,
    reason: str,
    draft: Draft | None = None,
    findings: Sequence[Finding] = (),
    action: Action = Action.WITHHOLD,
) -> Verdict:
    """No answer leaves; the reader is told why, what is missing and what is nearest."""
    return Verdict(
        question=evidence.question,
        action=action,
        reason=reason,
        gate=gate,
        evidence=evidence,
        draft=draft,
        findings=tuple(findings),
        missing=gate.missing,
        nearest=nearest(evidence),
        share_read=share_read(draft, findings) if draft else 0.0,
        notes=evidence.notes,
    )


def shut(evidence: Evidence, gate: GateDecision) -> Verdict:
    """The gate stayed shut: withheld, or left to a person where it could not tell."""
    action = Action.REVIEW if gate.level is Level.REVIEW else Action.WITHHOLD
    return withhold(evidence, gate, wording.shut(gate, len(evidence)), action=action)


def disagree(evidence: Evidence, gate: GateDecision) -> Verdict:
    """The documents contradict each other: both are quoted, and neither is chosen."""
    opposed = [conflict for conflict in gate.conflicts if not conflict.ambiguous]
    sides = [
        side
        for conflict in opposed
        for side in (
            (conflict.first, conflict.first_quote),
            (conflict.second, conflict.second_quote),
        )
    ]
    numbered = {passage.id: n for n, (passage, _) in enumerate(dict(sides).items(), 1)}
    return Verdict(
        question=evidence.question,
        action=Action.CONFLICT,
        reason=wording.DISAGREE,
        gate=gate,
        evidence=evidence,
        released=wording.both_sides(opposed, numbered),
        citations=tuple(
            Citation(numbered[passage.id], passage, quote) for passage, quote in dict(sides).items()
        ),
        missing=gate.missing,
        share_read=0.0,
        notes=evidence.notes,
    )


def decide(
    evidence: Evidence, gate: GateDecision, draft: Draft, findings: Sequence[Finding]
) -> Verdict:
    """Serves a draft whose every claim is backed, by all that judged it; withholds any other."""
    if not draft.claims:
        return withhold(evidence, gate, wording.unanswered(gate), draft)
    if not _all_claimed(draft) or not _all_backed(draft, findings):
        return withhold(evidence, gate, wording.NOT_BACKED, draft, findings)
    enough = gate.level is Level.SUFFICIENT
    return Verdict(
        question=evidence.question,
        action=Action.SERVE if enough else Action.CAVEAT,
        reason=wording.QUOTED if enough else wording.caveat(gate),
        gate=gate,
        evidence=evidence,
        draft=draft,
        released=draft.text,
        findings=tuple(findings),
        citations=_citations(draft, evidence),
        missing=gate.missing,
        share_read=share_read(draft, findings),
        notes=evidence.notes,
    )


def _all_claimed(draft: Draft) -> bool:
    """Whether the claims are the text: nothing but marks and white space stands outside them."""
    place = 0
    for claim in sorted(draft.claims, key=lambda claim: claim.start):
        between = draft.text[place : claim.start]
        exact = draft.text[claim.start : claim.end] == claim.text
        if claim.start < place or not exact or not _BETWEEN_CLAIMS.fullmatch(between):
            return False
        place = claim.end
    return bool(_BETWEEN_CLAIMS.fullmatch(draft.text[place:]))


def _all_backed(draft: Draft, findings: Sequence[Finding]) -> bool:
    backed = {finding.claim for finding in findings if finding.support is Support.BACKED}
    against = (Support.CONTRADICTED, Support.UNBACKED)
    return backed.issuperset(draft.claims) and not any(f.support in against for f in findings)


def _citations(draft: Draft, evidence: Evidence) -> tuple[Citation, ...]:
    """The sources as retrieved, with what the answer takes from each; the draft's word is not."""
    retrieved = {passage.id: passage for passage in evidence.passages}
    return tuple(
        Citation(cited.n, retrieved[cited.passage.id], " … ".join(quotes))
        for cited in draft.citations
        if (quotes := [claim.text for claim in draft.claims if cited.n in claim.cites])
        and cited.passage.id in retrieved
    )


def nearest(evidence: Evidence, most: int = 3) -> tuple[Source, ...]:
    """The documents nearest to the question, each once."""
    found: dict[str, Source] = {}
    for item in evidence:
        passage = item.passage
        source = Source(
            passage.document, passage.title, passage.version, passage.heading, item.relevance
        )
        found.setdefault(passage.document, source)
    return tuple(found.values())[:most]
