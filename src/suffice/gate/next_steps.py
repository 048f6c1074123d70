"""What somebody can do whose question stays open: in other words, with more context, in which
document to look, whom to ask."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.text.words import content_words
from suffice.types import Evidence, Exclusion, GateDecision, Passage

_FEW_WORDS = 2


def next_steps(
    decision: GateDecision, evidence: Evidence, contact: str = "", stale: Sequence[Exclusion] = ()
) -> tuple[str, ...]:
    """Steps for the reader, the likeliest to help first. `stale`: left out for their dates."""
    near = _nearest(evidence)
    steps = [_rephrase(decision), _context(evidence.question), _other_time(stale)]
    if near:
        steps.append(f"Look into {_named(near)}, the nearest document.")
    steps.append(_ask(contact, near))
    return tuple(step for step in steps if step)


def _rephrase(decision: GateDecision) -> str:
    about = [phrase.removeprefix("nothing about ") for phrase in decision.missing]
    about = [phrase for phrase, said in zip(about, decision.missing, strict=True) if phrase != said]
    if about:
        return f"Put {_listed(about)} in other words; the documents may call it something else."
    return "Put the question in other words."


def _context(question: str) -> str:
    if len(content_words(question)) > _FEW_WORDS:
        return ""
    return "Say more: which document, place, group of people or time you have in mind."


def _other_time(stale: Sequence[Exclusion]) -> str:
    """A version that was left out may be what was meant."""
    for p in (one.passage for one in stale):
        if p.since or p.until or p.expires or p.effective:
            label = f", version {p.declared}" if p.declared else ""
            return f"If you mean {p.title or p.document}{label}, name its time."
    return ""


def _nearest(evidence: Evidence) -> Passage | None:
    return evidence.passages[0] if evidence.passages else None


def _named(passage: Passage) -> str:
    titled = passage.title and passage.title != passage.document
    return f"{passage.title} ({passage.document})" if titled else passage.document


def _ask(contact: str, near: Passage | None) -> str:
    if contact:
        return f"Ask {contact}."
    return f"Ask whoever is responsible for {near.title or near.document}." if near else ""


def _listed(names: list[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
