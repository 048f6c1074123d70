"""Suggests next steps after a refusal, such as rephrasing or reading the nearest document."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.text.words import content_words
from suffice.types import Evidence, Exclusion, GateDecision, Passage

_FEW_WORDS = 2


def next_steps(
    decision: GateDecision, evidence: Evidence, contact: str = "", stale: Sequence[Exclusion] = ()
) -> tuple[str, ...]:
    """Suggestions for the reader, most helpful first. `stale` holds passages excluded by date."""
    near = _nearest(evidence)
    question = evidence.question
    steps = [_rephrase(decision, question), _context(question), _other_time(stale)]
    if near:
        steps.append(f"Check {_named(near)}, the nearest document.")
    steps.append(_ask(contact, near))
    return tuple(step for step in steps if step)


def _rephrase(decision: GateDecision, question: str) -> str:
    # Only the reader's own words can be rephrased. "a figure for 2025" is our wording.
    own = [phrase for phrase in decision.missing if phrase.lower() in question.lower()]
    if own:
        return f"Try other words for {_listed(own)}; the documents may use a different term."
    return "Rephrase the question."


def _context(question: str) -> str:
    if len(content_words(question)) > _FEW_WORDS:
        return ""
    return "Add context: which document, place, group of people or time you mean."


def _other_time(stale: Sequence[Exclusion]) -> str:
    """A hint for readers who meant an excluded version."""
    for p in (one.passage for one in stale):
        if p.since or p.until or p.expires or p.effective:
            label = f", version {p.declared}" if p.declared else ""
            name = f"{p.title or p.document}{label}"
            return f"To ask about {name}, add a date, for example “in 2024”."
    return ""


def _nearest(evidence: Evidence) -> Passage | None:
    return evidence.passages[0] if evidence.passages else None


def _named(passage: Passage) -> str:
    titled = passage.title and passage.title != passage.document
    return f"{passage.title} ({passage.document})" if titled else passage.document


def _ask(contact: str, near: Passage | None) -> str:
    if contact:
        return f"Ask {contact}."
    return f"Ask the owner of {near.title or near.document}." if near else ""


def _listed(names: list[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
