"""Human review of recorded decisions.

>>> review = Review(log)
>>> [case.entry.id for case in review.queue()]
['01jcq…']
>>> review.decide("01jcq…", Act.WITHDRAW, reason="The figure is from last year.", by="Ada")
'01jcq….withdraw.01jcr…'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from suffice.access.visibility import Reader
from suffice.errors import ReviewError, ReviewTaken, StoreError
from suffice.log.entry import Choice, Entry, find
from suffice.log.record import Record
from suffice.record.about import (
    QUEUE,
    about,
    all_about,
    find_decision,
    record_missing,
    role_of,
    subject_of,
)
from suffice.record.decision import Decision, Filing, decision_of, of_verdict
from suffice.record.log import NOWHERE, PAGE, Log
from suffice.record.sampling import Why
from suffice.record.trace import Trace
from suffice.review import gaps
from suffice.review.actions import Action
from suffice.review.case import DECIDED, FEEDBACK, Act, Case, Rating, case_of, note
from suffice.review.estimate import Estimate, estimate
from suffice.review.judged import Marked
from suffice.review.labels import labelled
from suffice.review.marks import marked_passages
from suffice.review.queue import Counts, Wanted, counted, following, refresh, selected
from suffice.review.rules import check_allowed, check_length, check_reason
from suffice.review.sample import strata
from suffice.sql.toolkit import Connection
from suffice.types import Verdict

Writes = Callable[[Decision, str], tuple[Verdict, Trace]]
"""Writes and checks an answer from the evidence of a decision; receives a note to add to it."""

Takes = Callable[[Entry], bool]
"""Whether a record that a reviewer has not seen prevents the reviewer's action."""


@dataclass(frozen=True, slots=True)
class Review:
    """Review of the decisions in one log. Each decision needs a reviewer's name and a reason.

    `seen` is the number of records about the case that the reviewer saw (`Case.latest`). If
    somebody decided in between, the call raises `ReviewTaken` and records nothing. Without it, all
    records at the time of the call count as seen. A record that the reader may not read is reported
    as missing."""

    log: Log

    def queue(
        self, wanted: Wanted | None = None, most: int = PAGE, reader: Reader | None = None
    ) -> list[Case]:
        """A selection of the review queue; with a reader, only cases that it may read."""
        refresh(self.log.database)
        with self.log.database.reading() as connection:
            ids = selected(connection, wanted or Wanted(), most, reader)
            found = [find(connection, id) for id in ids]
            return [case_of(entry, all_about(connection, entry.id)) for entry in found]

    def counts(self, reader: Reader | None = None) -> Counts:
        """The number of cases by state, reason and assignee."""
        refresh(self.log.database)
        with self.log.database.reading() as connection:
            return counted(connection, reader)

    def next(self, name: str, wanted: Wanted | None = None, reader: Reader | None = None) -> str:
        """The id of the case after this one in a selection; empty if there is no other."""
        refresh(self.log.database)
        with self.log.database.reading() as connection:
            return following(connection, name, wanted or Wanted(), reader)

    def marked_passages(
        self, reader: Reader | None = None, *, collection: str = "", document: str = ""
    ) -> list[Marked]:
        """The passages that reviewers marked as wrong or stale, newest mark first."""
        with self.log.database.reading() as connection:
            return marked_passages(connection, reader, collection=collection, document=document)

    def case(self, name: str, reader: Reader | None = None) -> Case:
        """The case of a decision, by its id or number; it need not be in the queue."""
        with self.log.database.reading() as connection:
            entry = _known(connection, name, reader)
            return case_of(entry, all_about(connection, entry.id))

    def decide(
        self,
        name: str,
        act: Act,
        *,
        reason: str,
        by: str,
        text: str = "",
        reader: Reader | None = None,
        seen: int | None = None,
    ) -> str:
        """Record a reviewer's decision and return the id of its record. `text` is the answer in the
        reviewer's words, for `Act.CORRECT`."""
        case = self.case(name, reader)
        check_reason(act, reason, by)
        if act is Act.OPEN:
            raise ReviewError(
                "Opening a gate requires writing an answer.", remedy="Call Review.open."
            )
        self._not_taken(case, seen)
        check_allowed(case, act, text)
        corrected = {"text": text.strip()} if act is Act.CORRECT else {}
        fields = {"reason": reason, **corrected}
        record = about(case.entry, act.kind, fields, by=by, role=act.value)
        self._append_if_first(case, seen, _decides, record)
        return record.id

    def act(
        self,
        name: str,
        action: Action,
        *,
        by: str,
        reader: Reader | None = None,
        seen: int | None = None,
    ) -> str:
        """Record a reviewer's action on a case, other than a decision; return the record's id."""
        case = self.case(name, reader)
        if not by.strip():
            raise ReviewError("The action requires a name.", remedy="Give the reviewer's name.")
        if case.seen is None:
            raise ReviewError(case.lacking, remedy="Confirm or dismiss it.")
        role = type(action).__name__.lower().removesuffix("passage")
        record = about(case.entry, action.kind, action.fields(case.seen), by=by, role=role)
        self._append_if_first(case, seen, action.taken_by, record)
        return record.id

    def open(
        self,
        name: str,
        write: Writes,
        *,
        reason: str,
        by: str,
        filing: Filing = NOWHERE,
        reader: Reader | None = None,
        seen: int | None = None,
    ) -> tuple[Verdict, str]:
        """Write and check an answer although the gate was closed. The new verdict is a separate
        record, sealed together with the decision. Return the verdict and its record's id."""
        case = self.case(name, reader)
        check_reason(Act.OPEN, reason, by)
        self._not_taken(case, seen)
        check_allowed(case, Act.OPEN)
        text = f"{note(Act.OPEN, by, reason)} (record {case.entry.id})"
        verdict, trace = write(decision_of(case.entry), text)
        records = of_verdict(verdict, trace, filing)
        fields = {"reason": reason, "result": records[0].id}
        decision = about(case.entry, Act.OPEN.kind, fields, by=by, role=Act.OPEN.value)
        setup = [filing.setup] if filing.setup else []
        self._append_if_first(case, seen, _decides, *setup, *records, decision)
        return verdict, records[0].id

    def feedback(
        self,
        name: str,
        rating: Rating,
        comment: str = "",
        by: str = "",
        reader: Reader | None = None,
    ) -> str:
        """Record a rating of a decision and return the id of its record. An answer that is rated
        down is queued for review."""
        check_length("comment", comment)
        with self.log.database.reading() as connection:
            entry = _known(connection, name, reader)
        record = about(entry, FEEDBACK, {"rating": rating.value, "comment": comment}, by=by)
        self.log.append(record, *([_complaint(entry)] if rating is Rating.DOWN else ()))
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

    def labels(
        self, choice: Choice | None = None, reader: Reader | None = None
    ) -> list[dict[str, Any]]:
        """The answers drawn for review as labelled rows for a calibration."""
        with self.log.database.reading() as connection:
            return labelled(connection, choice or Choice(), self.log.review_rate, reader)

    def _not_taken(self, case: Case, seen: int | None) -> None:
        """Raise early if the reviewer saw an old state, before another rule refuses the action."""
        with self.log.database.reading() as connection:
            _first(case.entry, case.latest if seen is None else seen, _decides, connection)

    def _append_if_first(
        self, case: Case, seen: int | None, takes: Takes, *records: Record
    ) -> None:
        seen = case.latest if seen is None else seen
        self.log.append_if(partial(_first, case.entry, seen, takes), *records)


def _first(entry: Entry, seen: int, takes: Takes, connection: Connection) -> None:
    """Raise if another reviewer acted first."""
    later = [one for one in all_about(connection, entry.id)[seen:] if takes(one)]
    if later:
        other = later[-1]
        who = other.caller or "Somebody"
        raise ReviewTaken(
            f"{who} acted first: {role_of(other.id)} at {other.time[11:16]} UTC. Your action was "
            "not recorded.",
            remedy="Look at the case again, and repeat the action if it is still right.",
        )


def _decides(entry: Entry) -> bool:
    return entry.kind in DECIDED


def _complaint(entry: Entry) -> Record:
    """The record that queues a decision for review, unless it is already queued. A user selected
    it, so the probability of its selection is unknown."""
    fields = {
        "record": entry.id,
        "question": entry.fields().get("question", ""),
        "why": [Why.FEEDBACK.value],
        "probability": None,
    }
    return Record(QUEUE, fields, entry.caller, entry.tag, f"{entry.id}.{QUEUE}", once=True)


def _known(connection: Connection, name: str, reader: Reader | None) -> Entry:
    """The record of a decision. If the reader may not know about it, it is reported as missing, as
    if there were no such record. Only those who audit the log find records by their numbers."""
    if reader is None:
        return find_decision(connection, name)
    try:
        entry = find_decision(connection, name)
    except StoreError as problem:
        raise record_missing(name) if type(problem) is StoreError else problem from None
    if not reader.may_know(entry) or (subject_of(name).isdecimal() and not reader.audits):
        raise record_missing(name)
    return entry
