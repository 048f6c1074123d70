"""Passages that try to instruct: they are flagged, and what instructs in them is never quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from suffice.text.instructions import instructs
from suffice.text.statements import Statement, statements
from suffice.types import Evidence, Passage

Flags = Mapping[int, str]
"""The numbers of passages that try to instruct, each with the words that do."""


def flagged(evidence: Evidence) -> Flags:
    quotes = ((n, _instructs(passage)) for n, passage in enumerate(evidence.passages, 1))
    return {n: quote for n, quote in quotes if quote}


def flag_notes(flags: Flags) -> tuple[str, ...]:
    """What a reader is told of them."""
    return tuple(
        f"Passage {n} tries to instruct its reader, which is no evidence: “{quote}”"
        for n, quote in flags.items()
    )


def told(evidence: Evidence) -> Iterator[tuple[Passage, Statement]]:
    """What a drafter is given of the evidence, in order, without what instructs."""
    for item in evidence:
        suspect = _instructs(item.passage) is not None
        for statement in statements(item.passage.text):
            given = all(item.reads(*span) for span in statement.slices)
            if given and not (suspect and instructs(statement.wording)):
                yield item.passage, statement


def cleared(evidence: Evidence) -> Evidence:
    """The evidence as checks may hold a claim against it: what instructs is blank, and every other
    character stands where it stood."""
    return replace(
        evidence,
        items=tuple(replace(item, passage=_cleared(item.passage)) for item in evidence),
    )


def _cleared(passage: Passage) -> Passage:
    if _instructs(passage) is None:
        return passage
    kept = list(passage.text)
    for statement in statements(passage.text):
        if instructs(statement.wording):
            for start, end in statement.slices:
                kept[start:end] = " " * (end - start)
    title = "" if instructs(passage.title) else passage.title
    return replace(passage, text="".join(kept), title=title)


def _instructs(passage: Passage) -> str | None:
    return instructs(passage.text) or instructs(passage.title)
