"""Flags passages that try to instruct the model; drafters never receive them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from suffice.evidence.sanitize import instructs_in
from suffice.text.statements import Statement, statements
from suffice.types import Evidence, Passage

Flags = Mapping[int, str]
"""The numbers of passages that try to instruct the model, each with the offending words."""


def flagged(evidence: Evidence) -> Flags:
    quotes = ((n, instructs_in(passage)) for n, passage in enumerate(evidence.passages, 1))
    return {n: quote for n, quote in quotes if quote}


def flag_notes(flags: Flags) -> tuple[str, ...]:
    """One note for the reader per flagged passage."""
    return tuple(
        f"Passage {n} tries to instruct its reader and was not used as evidence: “{quote}”"
        for n, quote in flags.items()
    )


def statements_for_drafter(evidence: Evidence) -> Iterator[tuple[Passage, Statement]]:
    """The statements a drafter receives, in order, without flagged passages."""
    for item in evidence:
        if instructs_in(item.passage) is not None:
            continue
        for statement in statements(item.passage.text):
            if all(item.reads(*span) for span in statement.slices):
                yield item.passage, statement
