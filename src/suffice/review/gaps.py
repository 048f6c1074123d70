"""Gaps: questions that the documents could not answer, by wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from suffice.access.visibility import Reader
from suffice.log.decision import GAP, subject_of, value_of
from suffice.log.follower import ERASURE
from suffice.log.record import Entry
from suffice.log.stored import RecordFilter, entry_of, find, has_record_about, subject_in
from suffice.log.tables import RECORDS
from suffice.review.case import DECIDED, Act
from suffice.sql import sa
from suffice.types import Source

_SUFFIX = f".{GAP}"
LOOKED_AT = 10_000
"""The number of gap records to group, newest first; older ones are ignored."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A question in its latest wording, how often it was asked, what was missing, and the nearest
    sources at the time. `records` are the ids of the decisions, and `times` their times, newest
    first."""

    question: str
    count: int
    first: str
    last: str
    missing: tuple[str, ...]
    nearest: tuple[Source, ...]
    records: tuple[str, ...]
    times: tuple[str, ...] = ()


def last_change(connection: sa.Connection) -> int:
    """The number of the last record that may change the gaps; 0 if there is none."""
    number = RECORDS.c.sequence
    newest = (
        connection.scalar(
            sa.select(number).where(RECORDS.c.kind == kind).order_by(number.desc()).limit(1)
        )
        for kind in (GAP, *DECIDED, ERASURE)
    )
    return max((number for number in newest if number is not None), default=0)


def gaps(
    connection: sa.Connection,
    choice: RecordFilter,
    most: int,
    reader: Reader | None = None,
    looked_at: int = LOOKED_AT,
) -> list[Gap]:
    """The unsettled gaps among the newest records (`looked_at`); opening, releasing or dismissing
    the decision settles a gap."""
    settled = has_record_about(subject_in(RECORDS, _SUFFIX), DECIDED, but=Act.CONFIRM.value)
    query = choice.narrowed(sa.select(RECORDS)).where(RECORDS.c.kind == GAP, sa.not_(settled))
    rows = connection.execute(query.order_by(RECORDS.c.sequence.desc()))
    # The limit counts only records that the reader may know of.
    readable = (entry for entry in map(entry_of, rows) if _knows(connection, entry, reader))
    groups: dict[str, list[Entry]] = {}
    for entry in islice(readable, looked_at):
        groups.setdefault(_same(entry.fields().get("question", "")), []).append(entry)
    largest = sorted(groups.values(), key=lambda group: (-len(group), -group[0].sequence))
    return [_gap(group) for group in largest[:most]]


def _knows(connection: sa.Connection, gap: Entry, reader: Reader | None) -> bool:
    return reader is None or reader.may_know(find(connection, subject_of(gap.id)))


def _same(question: str) -> str:
    """The key under which questions are grouped: their words, ignoring case and punctuation."""
    return " ".join(question.casefold().split()).rstrip("?!. ")


def _gap(group: Sequence[Entry]) -> Gap:
    newest = group[0]
    fields = newest.fields()
    return Gap(
        question=fields.get("question", ""),
        count=len(group),
        first=group[-1].time,
        last=newest.time,
        missing=tuple(fields.get("missing", ())),
        nearest=value_of(tuple[Source, ...], fields.get("nearest", ())),
        records=tuple(subject_of(entry.id) for entry in group),
        times=tuple(entry.time for entry in group),
    )
