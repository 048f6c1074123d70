"""The citations of an answer: passages as retrieved, with quotes of the deciding sentences."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.text.sentences import sentences
from suffice.text.words import content_words
from suffice.types import Citation, Claim, Draft, Evidence, Finding, Passage, Support

Span = tuple[int, int]


def citations_of(
    draft: Draft, evidence: Evidence, findings: Sequence[Finding]
) -> tuple[Citation, ...]:
    """Each passage that the answer cites, with its deciding sentences, regardless of what the draft
    claims to quote. For an answer without citations, the passages that back it."""
    retrieved = {passage.id: passage for passage in evidence.passages}
    if any(claim.cites for claim in draft.claims):
        named = {
            one.n: ([c for c in draft.claims if one.n in c.cites], one.passage.id)
            for one in draft.citations
        }
    else:
        named = _backing(evidence, findings)
    return tuple(
        Citation(n, retrieved[id], _quoted(retrieved[id], claims, findings))
        for n, (claims, id) in named.items()
        if claims and id in retrieved
    )


def _backing(evidence: Evidence, findings: Sequence[Finding]) -> dict[int, tuple[list[Claim], str]]:
    found: dict[int, tuple[list[Claim], str]] = {}
    for n, passage in enumerate(evidence.passages, 1):
        claims = [
            one.claim
            for one in findings
            if one.passage_id == passage.id and one.support is Support.BACKED and one.span
        ]
        if claims:
            found[n] = list(dict.fromkeys(claims)), passage.id
    return found


def _quoted(passage: Passage, claims: Sequence[Claim], findings: Sequence[Finding]) -> str:
    text = passage.text
    places = {span for claim in claims if (span := _place(passage, claim, findings))}
    parts: list[Span] = []
    for a, b in sentences(text):
        if any(a < end and start < b for start, end in places):
            apart = not parts or text[parts[-1][1] : a].strip()
            parts = [*parts, (a, b)] if apart else [*parts[:-1], (parts[-1][0], b)]
    return " … ".join(text[start:end].strip() for start, end in parts)


def _place(passage: Passage, claim: Claim, findings: Sequence[Finding]) -> Span | None:
    """The span of the passage that a check found to support the claim; otherwise the sentence that
    shares most words with it."""
    own = [one for one in findings if one.claim == claim and one.passage_id == passage.id]
    located = [one for one in own if one.span]
    if located:
        backing = [one for one in located if one.support is Support.BACKED]
        return (backing or located)[0].span
    words = set(content_words(claim.text))
    shared = [
        (len(words & set(content_words(passage.text[start:end]))), -start, end)
        for start, end in sentences(passage.text)
    ]
    most, start, end = max(shared, default=(0, 0, 0))
    return (-start, end) if most else None
