"""Which conflicts of the evidence an answer is drawn into: it says what one side of them says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from suffice.checks.aligned import Sentences, roots
from suffice.checks.claim_text import alone
from suffice.types import Conflict, Draft, Evidence, Passage

_SHARED = 0.6
"""A claim takes a side where it shares so much of the words of whichever is the shorter."""
_LONG = 4_000
"""A longer passage is read for conflicts only where the answer is, so many characters of it."""


def touched(draft: Draft, evidence: Evidence) -> Evidence:
    """The evidence as far as the draft speaks of it; passages of usual length whole."""
    long = [passage for passage in evidence.passages if len(passage.text) > _LONG]
    if not long:
        return evidence
    said = [roots(one) for one in alone(draft)]
    short = {passage.id: _near(said, passage) for passage in long}
    return replace(
        evidence,
        items=tuple(
            replace(item, passage=short.get(item.passage.id, item.passage)) for item in evidence
        ),
    )


def _near(said: Sequence[frozenset[str]], passage: Passage) -> Passage:
    """Its sentences that claims are nearest to, in their order."""
    sentences = Sentences.of([passage])
    shared: dict[tuple[int, int], float] = defaultdict(float)
    for words in said:
        if words and (one := sentences.nearest(words)):
            span = one.start, one.end
            shared[span] = max(shared[span], len(words & one.roots) / len(words))
    kept, room = [], _LONG
    for start, end in sorted(shared, key=lambda span: (-shared[span], span)):
        if end - start <= room:
            kept.append((start, end))
            room -= end - start
    return replace(passage, text="\n\n".join(passage.text[a:b] for a, b in sorted(kept)))


def concerned(
    draft: Draft, conflicts: Sequence[Conflict], evidence: Evidence
) -> tuple[Conflict, ...]:
    """The conflicts of which some claim of the draft says a side, in their order, between the
    passages as the evidence has them."""
    if not conflicts:
        return ()
    whole = {passage.id: passage for passage in evidence.passages}
    said = [words for one in alone(draft) if (words := roots(one))]
    return tuple(
        replace(conflict, first=whole[conflict.first.id], second=whole[conflict.second.id])
        for conflict in conflicts
        if any(
            _takes(words, roots(quote))
            for quote in (conflict.first_quote, conflict.second_quote)
            for words in said
        )
    )


def _takes(said: frozenset[str], quote: frozenset[str]) -> bool:
    return len(said & quote) >= _SHARED * max(1, min(len(said), len(quote)))
