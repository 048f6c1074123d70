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
from suffice.log.decision import (
    QUEUE,
    Decision,
    Filing,
    about,
    decision_of,
    of_verdict,
    record_missing,
    role_of,
    subject_of,
)
from suffice.log.log import NOWHERE, PAGE, Log, Why
from suffice.log.record import Entry, Record
from suffice.log.stored import RecordFilter, all_about, entry_of, find, find_decision
from suffice.log.tables import RECORDS
from suffice.log.trace import Trace
from suffice.review.actions import LONGEST, MARK, Mark, Marked, ReviewAction
from suffice.review.case import DECIDED, FEEDBACK, Act, Case, Rating, case_of, note
from suffice.review.gaps import Gap, gaps
from suffice.review.labels import Estimate, estimate, labelled, strata
from suffice.review.queue import CaseFilter, Counts, Queue, counted, following, selected
from suffice.sql import sa
from suffice.types import Verdict


def check_reason(act: Act, reason: str, by: str) -> None:
    """Raise if a decision lacks a reason or a name."""
    for what, text in (("a reason", reason), ("a name", by)):
        if not text.strip():
            raise ReviewError(
                f"The decision '{act.value}' requires {what}.",
                remedy="Give a reason and the name of the reviewer.",
            )
    check_length("reason", reason)


def check_length(what: str, text: str) -> None:
    """Raise if a person's words are too long for a record."""
    if len(text) > LONGEST:
        raise ReviewError(
            f"The {what} has {len(text):,} characters.",
            remedy=f"Use at most {LONGEST:,} characters.",
        )


def check_allowed(case: Case, act: Act, text: str = "") -> None:
    """Raise if the decision does not apply to the current state of the case."""
    _not_against_claims(case, act)
    if act in (Act.CONFIRM, Act.DISMISS):
        return
    name, recorded = case.entry.id, case.recorded
    if recorded is None:
        raise ReviewError(case.lacking, remedy="Confirm or dismiss it.")
    if act is Act.CORRECT:
        _correctable(case, recorded.verdict, text)
    if act is Act.WITHDRAW and not case.released:
        raise ReviewError(
            f"Record {name} has no released answer to withdraw.", remedy="Confirm or dismiss it."
        )
    if act is Act.RELEASE and case.released:
        raise ReviewError(f"The answer of record {name} is already released.", remedy="Confirm it.")
    if act is Act.RELEASE and not case.drafted:
        raise ReviewError(
            f"Record {name} has no answer to release.",
            remedy=f"To have an answer written, run: suffice review decide {name} open",
        )
    if act is Act.OPEN and (case.drafted or recorded.gate.open):
        raise ReviewError(
            f"The gate of record {name} was already open.",
            remedy="Release or withdraw the answer instead.",
        )


def _correctable(case: Case, first: Verdict | None, text: str) -> None:
    check_length("answer", text)
    if first is None:
        raise ReviewError(
            f"Record {case.entry.id} is a gate decision without an answer.",
            remedy="Confirm or dismiss it.",
        )
    if not text.strip():
        raise ReviewError("The corrected answer is empty.", remedy="Write the answer to release.")


def _not_against_claims(case: Case, act: Act) -> None:
    """Raise if an answer would be released, or called right, as it was drafted, although a reviewer
    found one of its claims unsupported."""
    verdict = case.verdict
    drafted = verdict.draft.text.strip() if verdict and verdict.draft else ""
    right = act is Act.CONFIRM and verdict is not None and verdict.released.strip() == drafted != ""
    wrong = [str(n) for n, judged in sorted(case.judgements.items()) if not judged.supported]
    if wrong and (right or act is Act.RELEASE):
        raise ReviewError(
            f"Claim {', '.join(wrong)} is judged as not supported, so the answer cannot be "
            "released as it was drafted.",
            remedy="Correct or withdraw the answer, or change the judgement of the claim.",
        )


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
        self, wanted: CaseFilter | None = None, most: int = PAGE, reader: Reader | None = None
    ) -> list[Case]:
        """A selection of the review queue; with a reader, only cases that it may read."""
        Queue(self.log.database).catch_up()
        with self.log.database.reading() as connection:
            ids = selected(connection, wanted or CaseFilter(), most, reader)
            entries = [find(connection, id) for id in ids]
            return [case_of(entry, all_about(connection, entry.id)) for entry in entries]

    def counts(self, reader: Reader | None = None) -> Counts:
        """The number of cases by state, reason and assignee."""
        Queue(self.log.database).catch_up()
        with self.log.database.reading() as connection:
            return counted(connection, reader)

    def next(
        self, name: str, wanted: CaseFilter | None = None, reader: Reader | None = None
    ) -> str:
        """The id of the case after this one in a selection; empty if there is no other."""
        Queue(self.log.database).catch_up()
        with self.log.database.reading() as connection:
            return following(connection, name, wanted or CaseFilter(), reader)

    def marked_passages(
        self, reader: Reader | None = None, *, collection: str = "", document: str = ""
    ) -> list[Marked]:
        """The passages whose last mark says that they are wrong or stale, newest mark first. A
        passage belongs to one version, so a new version of the document starts without marks."""
        query = sa.select(RECORDS).where(RECORDS.c.kind == MARK).order_by(RECORDS.c.sequence)
        last: dict[tuple[str, str], Marked] = {}
        with self.log.database.reading() as connection:
            for entry in map(entry_of, connection.execute(query)):
                if entry.payload:  # empty: erased
                    mark = Marked.of(entry)
                    last.pop((mark.collection, mark.passage), None)
                    last[mark.collection, mark.passage] = mark
        return [
            mark
            for mark in reversed(last.values())
            if mark.mark is not Mark.NONE
            and (not collection or mark.collection == collection)
            and (not document or mark.document == document)
            and (reader is None or reader.may_use(mark.collection, mark.access))
        ]

    def case(self, name: str, reader: Reader | None = None) -> Case:
        """The case of a decision, by its id or number; it need not be in the queue."""
        with self.log.database.reading() as connection:
            entry = _find(connection, name, reader)
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
        action: ReviewAction,
        *,
        by: str,
        reader: Reader | None = None,
        seen: int | None = None,
    ) -> str:
        """Record a reviewer's action on a case, other than a decision; return the record's id."""
        case = self.case(name, reader)
        if not by.strip():
            raise ReviewError("The action requires a name.", remedy="Give the reviewer's name.")
        if case.recorded is None:
            raise ReviewError(case.lacking, remedy="Confirm or dismiss it.")
        role = type(action).__name__.lower().removesuffix("passage")
        record = about(case.entry, action.kind, action.fields(case.recorded), by=by, role=role)
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
            entry = _find(connection, name, reader)
        record = about(entry, FEEDBACK, {"rating": rating.value, "comment": comment}, by=by)
        self.log.append(record, *([_complaint(entry)] if rating is Rating.DOWN else ()))
        return record.id

    def gaps(
        self, choice: RecordFilter | None = None, most: int = PAGE, reader: Reader | None = None
    ) -> list[Gap]:
        """Questions that the documents cannot answer, most frequent first."""
        with self.log.database.reading() as connection:
            return gaps(connection, choice or RecordFilter(), most, reader)

    def errors(self, choice: RecordFilter | None = None, confidence: float = 0.95) -> Estimate:
        """Estimate the error rate of served answers from the judged sample."""
        with self.log.database.reading() as connection:
            return estimate(strata(connection, choice or RecordFilter()), confidence)

    def labels(
        self, choice: RecordFilter | None = None, reader: Reader | None = None
    ) -> list[dict[str, Any]]:
        """The answers drawn for review as labelled rows for a calibration."""
        with self.log.database.reading() as connection:
            return labelled(connection, choice or RecordFilter(), self.log.review_rate, reader)

    def _not_taken(self, case: Case, seen: int | None) -> None:
        """Raise early if the reviewer saw an old state, before another rule refuses the action."""
        with self.log.database.reading() as connection:
            _first(case.entry, case.latest if seen is None else seen, _decides, connection)

    def _append_if_first(
        self, case: Case, seen: int | None, takes: Takes, *records: Record
    ) -> None:
        seen = case.latest if seen is None else seen
        self.log.append_if(partial(_first, case.entry, seen, takes), *records)


def _first(entry: Entry, seen: int, takes: Takes, connection: sa.Connection) -> None:
    """Raise if another reviewer acted first."""
    later = [record for record in all_about(connection, entry.id)[seen:] if takes(record)]
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


def _find(connection: sa.Connection, name: str, reader: Reader | None) -> Entry:
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
