"""Verdicts after a person overrides a decision; an overridden answer is CAVEAT at best."""

from __future__ import annotations

from dataclasses import replace

from suffice.text.marks import citations
from suffice.types import Action, Citation, Draft, Verdict
from suffice.verdict import wording
from suffice.verdict.sources import citations_of


def overridden(verdict: Verdict, note: str) -> Verdict:
    """The verdict on a draft written after a person overrode the gate."""
    action = Action.CAVEAT if verdict.action is Action.SERVE else verdict.action
    reason = f"{wording.OPENED} {verdict.reason}" if verdict.served else verdict.reason
    return replace(verdict, action=action, reason=reason, notes=(*verdict.notes, note))


def released(verdict: Verdict, note: str) -> Verdict:
    """The answer as drafted, after a person released it."""
    draft = verdict.draft
    if draft is None or verdict.released:  # served before, or quotes both sides of a conflict
        text, citations = verdict.released, verdict.citations
    else:
        text, citations = draft.text, citations_of(draft, verdict.evidence, verdict.findings)
    return replace(
        verdict,
        action=Action.CAVEAT,
        reason=f"{wording.RELEASED} {verdict.reason}",
        released=text,
        citations=citations,
        notes=(*verdict.notes, note),
    )


def corrected(verdict: Verdict, text: str, note: str) -> Verdict:
    """The answer in a person's words. Its sources are those that it cites by number."""
    sources = enumerate(verdict.evidence.sources, 1)
    cited = {n for _, numbers in citations(text) for n in numbers}
    draft = verdict.draft or Draft("")
    known = {one.n: one for one in citations_of(draft, verdict.evidence, verdict.findings)}
    return replace(
        verdict,
        action=Action.CAVEAT,
        reason=wording.CORRECTED_BY_PERSON,
        released=text,
        citations=tuple(
            known.get(n, Citation(n, passage, "")) for n, passage in sources if n in cited
        ),
        notes=(*verdict.notes, note),
    )


def withdrawn(verdict: Verdict, note: str) -> Verdict:
    """The verdict after a person withdrew an answer."""
    return replace(
        verdict,
        action=Action.WITHHOLD,
        reason=wording.WITHDRAWN,
        released="",
        citations=(),
        notes=(*verdict.notes, note),
    )
