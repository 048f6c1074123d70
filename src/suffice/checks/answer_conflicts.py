"""Selects the conflicts in the evidence that concern an answer, because it states one side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from suffice.checks.claim_text import alone
from suffice.checks.entailment import Sentences, roots
from suffice.types import Conflict, Draft, Evidence, Passage

_SHARED = 0.6
"""A claim states a side if it shares this part of the words of the shorter of the two texts."""
_LONG = 4_000
"""In a longer passage, only this many characters near the answer are searched."""


def covered_evidence(draft: Draft, evidence: Evidence) -> Evidence:
    """The evidence with long passages reduced to what the draft covers."""
    long = [passage for passage in evidence.passages if len(passage.text) > _LONG]
    if not long:
        return evidence
    claims = [roots(text) for text in alone(draft)]
    short = {passage.id: _near(claims, passage) for passage in long}
    return replace(
        evidence,
        items=tuple(
            replace(item, passage=short.get(item.passage.id, item.passage)) for item in evidence
        ),
    )


def _near(claims: Sequence[frozenset[str]], passage: Passage) -> Passage:
    """The passage reduced to the sentences nearest to the claims, in order."""
    sentences = Sentences.of([passage])
    shared: dict[tuple[int, int], float] = defaultdict(float)
    for words in claims:
        if words and (one := sentences.nearest(words)):
            span = one.start, one.end
            shared[span] = max(shared[span], len(words & one.roots) / len(words))
    kept, room = [], _LONG
    for start, end in sorted(shared, key=lambda span: (-shared[span], span)):
        if end - start <= room:
            kept.append((start, end))
            room -= end - start
    return replace(passage, text="\n\n".join(passage.text[a:b] for a, b in sorted(kept)))


def stated_conflicts(
    draft: Draft, conflicts: Sequence[Conflict], evidence: Evidence
) -> tuple[Conflict, ...]:
    """The conflicts in which the draft states a side, in order, with complete passages."""
    if not conflicts:
        return ()
    whole = {passage.id: passage for passage in evidence.passages}
    claims = [words for text in alone(draft) if (words := roots(text))]
    return tuple(
        replace(conflict, first=whole[conflict.first.id], second=whole[conflict.second.id])
        for conflict in conflicts
        if any(
            _takes(words, roots(quote))
            for quote in (conflict.first_quote, conflict.second_quote)
            for words in claims
        )
    )


def _takes(claim: frozenset[str], quote: frozenset[str]) -> bool:
    return len(claim & quote) >= _SHARED * max(1, min(len(claim), len(quote)))
