"""Human review of recorded decisions.

>>> review = Review(log)
>>> [case.entry.id for case in review.queue()]
['01jcq…']
>>> review.decide("01jcq…", Act.WITHDRAW, reason="The figure is of last year.", by="Ada")
'01jcq….withdraw.01jcr…'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from suffice.access.visibility import Reader
from suffice.errors import ReviewError
from suffice.log.entry import Choice, Entry, find
from suffice.record.about import about, all_about, find_decision, record_missing, subject_of
from suffice.record.decision import Decision, Filing, decision_of, of_verdict
from suffice.record.log import NOWHERE, PAGE, Log
from suffice.record.trace import Trace
from suffice.review import gaps
from suffice.review.case import FEEDBACK, Act, Case, Rating, case_of, note
from suffice.review.estimate import Estimate, estimate
from suffice.review.labels import labelled
from suffice.review.queue import Wanted, strata, waiting
from suffice.types import Verdict

LONGEST = 10_000
Writes = Callable[[Decision, str], tuple[Verdict, Trace]]
"""Writes and checks an answer from the evidence of a decision; receives a note to add to it."""


@dataclass(frozen=True, slots=True)
class Review:
    """Review of the decisions in one log. Each decision needs a reviewer's name and a reason."""

    log: Log

    def queue(
        self, wanted: Wanted | None = None, most: int = PAGE, reader: Reader | None = None
    ) -> list[Case]:
        """The review queue, newest first; with a reader, only the reader's collections."""
        with self.log.database.reading() as connection:

            def known(place: Entry) -> bool:
                return reader is None or reader.may_know(find(connection, subject_of(place.id)))

            places = waiting(connection, wanted or Wanted(), most, known)
            found = [find(connection, subject_of(place.id)) for place in places]
            return [case_of(entry, all_about(connection, entry.id), reader) for entry in found]

    def case(self, name: str, reader: Reader | None = None) -> Case:
        """The case of a decision, by its id or number; it need not be in the queue."""
        with self.log.database.reading() as connection:
            entry = _known(connection, name, reader)
            return case_of(entry, all_about(connection, entry.id), reader)

    def decide(
        self, name: str, act: Act, *, reason: str, by: str, reader: Reader | None = None
    ) -> str:
        """Record a reviewer's decision and return the id of its record. A reader may decide only on
        records it may read completely."""
        case = self._whole(name, reader)
        _check(act, reason, by)
        if act is Act.OPEN:
            raise ReviewError(
                "Opening a gate requires writing an answer.", remedy="Call Review.open."
            )
        _allowed(case, act)
        return self._append(case.entry, act, reason, by)

    def open(
        self,
        name: str,
        write: Writes,
        *,
        reason: str,
        by: str,
        filing: Filing = NOWHERE,
        reader: Reader | None = None,
    ) -> tuple[Verdict, str]:
        """Write and check an answer although the gate was closed. The new verdict is a separate
        record, sealed together with the decision. Return the verdict and its record's id."""
        case = self._whole(name, reader)
        _check(Act.OPEN, reason, by)
        _allowed(case, Act.OPEN)
        text = f"{note(Act.OPEN, by, reason)} (record {case.entry.id})"
        verdict, trace = write(decision_of(case.entry), text)
        records = of_verdict(verdict, trace, filing)
        fields = {"reason": reason, "result": records[0].id}
        decision = about(case.entry, Act.OPEN.kind, fields, by=by, role=Act.OPEN.value)
        return verdict, self.log.file([*records, decision], filing)

    def feedback(
        self,
        name: str,
        rating: Rating,
        comment: str = "",
        by: str = "",
        reader: Reader | None = None,
    ) -> str:
        """Record a rating of a decision and return the id of its record."""
        _length("comment", comment)
        with self.log.database.reading() as connection:
            entry = _known(connection, name, reader)
        record = about(entry, FEEDBACK, {"rating": rating.value, "comment": comment}, by=by)
        self.log.append(record)
        return record.id

    def gaps(
        self, choice: Choice | None = None, most: int = PAGE, reader: Reader | None = None
    ) -> list[gaps.Gap]:
        """Questions that the documents cannot answer, most frequent first."""
        with self.log.database.reading() as connection:
            return gaps.gaps(connection, choice or Choice(), most, reader)

    def errors(self, choice: Choice | None = None, confidence: float = 0.95) -> Estimate:
        """Estimate the error rate of served answers from the judged sample."""
        with self.log.database.reading() as connection:
            return estimate(strata(connection, choice or Choice()), confidence)

    def labels(self, choice: Choice | None = None) -> list[dict[str, Any]]:
        """The answers drawn for review as labelled rows for a calibration."""
        with self.log.database.reading() as connection:
            return labelled(connection, choice or Choice(), self.log.review_rate)

    def _whole(self, name: str, reader: Reader | None) -> Case:
        """The case, provided that the reader may read all of it."""
        case = self.case(name, reader)
        if reader is not None and (case.seen is None or case.seen.hidden):
            raise ReviewError(
                f"Record {case.entry.id} is based on passages that you may not read.",
                remedy="Ask a reviewer with access to them.",
            )
        return case

    def _append(self, entry: Entry, act: Act, reason: str, by: str) -> str:
        record = about(entry, act.kind, {"reason": reason}, by=by, role=act.value)
        self.log.append(record)
        return record.id


def _known(connection: Connection, name: str, reader: Reader | None) -> Entry:
    """The record of a decision. If the reader may not know about it, it is reported as missing."""
    entry = find_decision(connection, name)
    if reader is not None and not reader.may_know(entry):
        raise record_missing(name)
    return entry


def _check(act: Act, reason: str, by: str) -> None:
    for what, text in (("a reason", reason), ("a name", by)):
        if not text.strip():
            raise ReviewError(
                f"The decision '{act.value}' requires {what}.",
                remedy="Give a reason and the name of the reviewer.",
            )
    _length("reason", reason)


def _length(what: str, text: str) -> None:
    if len(text) > LONGEST:
        raise ReviewError(
            f"The {what} has {len(text):,} characters.",
            remedy=f"Use at most {LONGEST:,} characters.",
        )


def _allowed(case: Case, act: Act) -> None:
    """Raise if the decision does not apply to the current state of the case."""
    if act in (Act.CONFIRM, Act.DISMISS):
        return
    name, seen = case.entry.id, case.seen
    if seen is None:
        raise ReviewError(case.lacking, remedy="Confirm or dismiss it.")
    first = decision_of(case.entry).verdict
    out = seen.verdict is not None and seen.verdict.served
    answered = first is not None and bool(first.released or (first.draft and first.draft.text))
    if act is Act.WITHDRAW and not out:
        raise ReviewError(
            f"Record {name} has no released answer to withdraw.", remedy="Confirm or dismiss it."
        )
    if act is Act.RELEASE and out:
        raise ReviewError(f"The answer of record {name} is already released.", remedy="Confirm it.")
    if act is Act.RELEASE and not answered:
        raise ReviewError(
            f"Record {name} has no answer to release.",
            remedy=f"To have an answer written, run: suffice review decide {name} open",
        )
    if act is Act.OPEN and (answered or seen.gate.open):
        raise ReviewError(
            f"The gate of record {name} was already open.",
            remedy="Release or withdraw the answer instead.",
        )
