"""Reviewers' judgements of claims and marks on passages, as read from their records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from suffice.log.entry import Entry
from suffice.review.actions import Judgement, Mark
from suffice.text.marks import citations
from suffice.types import Draft


@dataclass(frozen=True, slots=True)
class Judged:
    """A reviewer's judgement of one claim. `supported`: the claim holds as drafted. `text` replaces
    a corrected claim; if it is empty, the claim is removed."""

    id: str
    time: str
    by: str
    claim: int
    judgement: Judgement
    supported: bool
    text: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Marked:
    """A mark that a reviewer put on a passage; `record` is the decision that used the passage."""

    id: str
    time: str
    by: str
    record: str
    mark: Mark
    passage: str
    document: str
    version: str
    title: str
    collection: str
    access: frozenset[str]
    comment: str = ""


def judged(entry: Entry) -> Judged:
    fields = entry.fields()
    return Judged(
        entry.id,
        entry.time,
        entry.caller,
        fields["claim"],
        Judgement(fields["judgement"]),
        fields["supported"],
        fields.get("text", ""),
        fields.get("comment", ""),
    )


def marked(entry: Entry) -> Marked:
    fields = entry.fields()
    return Marked(
        entry.id,
        entry.time,
        entry.caller,
        fields["record"],
        Mark(fields["mark"]),
        fields["passage"],
        fields["document"],
        fields["version"],
        fields["title"],
        fields["collection"],
        frozenset(fields["access"]),
        fields.get("comment", ""),
    )


def edited(draft: Draft, judgements: Mapping[int, Judged]) -> str:
    """The draft after the judgements: corrected claims in the reviewer's words, and without the
    claims that the reviewer found unsupported. A corrected claim keeps its citation marks unless
    the reviewer's words have their own."""
    return "".join(_pieces(draft, judgements)).strip()


def _pieces(draft: Draft, judgements: Mapping[int, Judged]) -> Iterator[str]:
    text, place = draft.text, 0
    marks = [span for span, _ in citations(text)]
    for n, claim in enumerate(sorted(draft.claims, key=lambda one: one.start), 1):
        one = judgements.get(n)
        if one is None or one.supported or claim.start < place:
            continue
        end = _with_marks(text, claim.end, marks)
        before = text[place : claim.start]
        yield before if one.text else before.rstrip(" ")
        yield one.text
        keeps = one.text and not citations(one.text)
        yield text[claim.end : end] if keeps else ""
        place = end
    yield text[place:]


def _with_marks(text: str, end: int, marks: Sequence[tuple[int, int]]) -> int:
    """The end of a claim with the citation marks after it."""
    for first, last in marks:
        if first >= end and not text[end:first].strip():
            end = last
    return end
