"""Passages that try to instruct: they are flagged, and no drafter is given them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from suffice.evidence.sanitize import instructs_in
from suffice.text.statements import Statement, statements
from suffice.types import Evidence, Passage

Flags = Mapping[int, str]
"""The numbers of passages that try to instruct, each with the words that do."""


def flagged(evidence: Evidence) -> Flags:
    quotes = ((n, instructs_in(passage)) for n, passage in enumerate(evidence.passages, 1))
    return {n: quote for n, quote in quotes if quote}


def flag_notes(flags: Flags) -> tuple[str, ...]:
    """What a reader is told of them."""
    return tuple(
        f"Passage {n} tries to instruct its reader, which is no evidence: “{quote}”"
        for n, quote in flags.items()
    )


def told(evidence: Evidence) -> Iterator[tuple[Passage, Statement]]:
    """What a drafter is given of the evidence, in order, without passages that instruct."""
    for item in evidence:
        if instructs_in(item.passage) is not None:
            continue
        for statement in statements(item.passage.text):
            if all(item.reads(*span) for span in statement.slices):
                yield item.passage, statement
