"""Review: what people see of decisions, and what they decide otherwise.

>>> review = Review(log)
>>> [case.entry.id for case in review.queue()]
['01jcq…']
>>> review.decide("01jcq…", Act.WITHDRAW, reason="The figure is of last year.", by="Ada")
'01jcq….withdraw.01jcr…'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from suffice.access.visibility import Reader
from suffice.errors import ReviewError
from suffice.log.entry import Choice, Entry, find
from suffice.record.about import about, all_about, decided, missing, subject_of
from suffice.record.decision import Decision, Filing, decision_of, of_verdict
from suffice.record.log import NOWHERE, PAGE, Log
from suffice.record.trace import Trace
from suffice.review import gaps
from suffice.review.case import FEEDBACK, Act, Case, Rating, case_of, note
from suffice.review.estimate import Estimate, estimate
from suffice.review.queue import Wanted, strata, waiting
from suffice.types import Verdict

LONGEST = 10_000
Writes = Callable[[Decision, str], tuple[Verdict, Trace]]
"""Writes and checks an answer on the evidence of a decision; is given what to note in it."""


@dataclass(frozen=True, slots=True)
class Review:
    """The review of one log. Whoever decides is named, and says why."""

    log: Log

    def queue(
        self, wanted: Wanted | None = None, most: int = PAGE, reader: Reader | None = None
    ) -> list[Case]:
        """What waits for a person, newest first; for a reader, of its collections."""
        with self.log.database.reading() as connection:

            def known(place: Entry) -> bool:
                return reader is None or reader.may_know(find(connection, subject_of(place.id)))

            places = waiting(connection, wanted or Wanted(), most, known)
            found = [find(connection, subject_of(place.id)) for place in places]
            return [case_of(one, all_about(connection, one.id), reader) for one in found]

    def case(self, name: str, reader: Reader | None = None) -> Case:
        """A decision with all about it, by its id or number; it need not be in the queue."""
        with self.log.database.reading() as connection:
            entry = _known(connection, name, reader)
            return case_of(entry, all_about(connection, entry.id), reader)

    def decide(
        self, name: str, act: Act, *, reason: str, by: str, reader: Reader | None = None
    ) -> str:
        """Records what a person decides; the id of that record. A reader decides on what it may
        read as a whole, and on nothing else."""
        case = self._whole(name, reader)
        _check(act, reason, by)
        if act is Act.OPEN:
            raise ReviewError("An answer has to be written for that.", remedy="Call Review.open.")
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
        """Has an answer written and checked although the gate stayed shut. What came of it is a
        record of its own, sealed together with that of the decision; the verdict, and its id."""
        case = self._whole(name, reader)
        _check(Act.OPEN, reason, by)
        _allowed(case, Act.OPEN)
        said = f"{note(Act.OPEN, by, reason)} (record {case.entry.id})"
        verdict, trace = write(decision_of(case.entry), said)
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
        """Records what somebody thinks of a decision; the id of that record."""
        _length("comment", comment)
        with self.log.database.reading() as connection:
            entry = _known(connection, name, reader)
        record = about(entry, FEEDBACK, {"rating": rating.value, "comment": comment}, by=by)
        self.log.append(record)
        return record.id

    def gaps(
        self, choice: Choice | None = None, most: int = PAGE, reader: Reader | None = None
    ) -> list[gaps.Gap]:
        """What was asked and the documents cannot answer, the most asked first."""
        with self.log.database.reading() as connection:
            return gaps.gaps(connection, choice or Choice(), most, reader)

    def errors(self, choice: Choice | None = None, confidence: float = 0.95) -> Estimate:
        """How often served answers were wrong, by those that were looked at."""
        with self.log.database.reading() as connection:
            return estimate(strata(connection, choice or Choice()), confidence)

    def _whole(self, name: str, reader: Reader | None) -> Case:
        """A case that its reader sees all of."""
        case = self.case(name, reader)
        if reader is not None and (case.seen is None or case.seen.hidden):
            raise ReviewError(
                f"Record {case.entry.id} rests on passages that you may not read.",
                remedy="Leave it to somebody who may.",
            )
        return case

    def _append(self, entry: Entry, act: Act, reason: str, by: str) -> str:
        record = about(entry, act.kind, {"reason": reason}, by=by, role=act.value)
        self.log.append(record)
        return record.id


def _known(connection: Connection, name: str, reader: Reader | None) -> Entry:
    """The record of a decision. Of one that a reader may not know of, it is told as of none."""
    entry = decided(connection, name)
    if reader is not None and not reader.may_know(entry):
        raise missing(name)
    return entry


def _check(act: Act, reason: str, by: str) -> None:
    for what, said in (("a reason", reason), ("a name", by)):
        if not said.strip():
            raise ReviewError(
                f"To {act.value} takes {what}.", remedy="Say why, and who decides it."
            )
    _length("reason", reason)


def _length(what: str, text: str) -> None:
    if len(text) > LONGEST:
        raise ReviewError(
            f"The {what} has {len(text):,} characters.", remedy=f"Use at most {LONGEST:,}."
        )


def _allowed(case: Case, act: Act) -> None:
    """Whether what is decided makes sense of what holds now."""
    if act in (Act.CONFIRM, Act.DISMISS):
        return
    name, seen = case.entry.id, case.seen
    if seen is None:
        raise ReviewError(case.lacking, remedy="Confirm or dismiss it.")
    first = decision_of(case.entry).verdict
    out = seen.verdict is not None and seen.verdict.served
    answered = first is not None and bool(first.released or (first.draft and first.draft.text))
    if act is Act.WITHDRAW and not out:
        raise ReviewError(f"No answer of {name} is out.", remedy="Confirm or dismiss it.")
    if act is Act.RELEASE and out:
        raise ReviewError(f"The answer of {name} is out already.", remedy="Confirm it.")
    if act is Act.RELEASE and not answered:
        raise ReviewError(
            f"There is no answer of {name} to release.",
            remedy=f"Have one written: suffice review decide {name} open",
        )
    if act is Act.OPEN and (answered or seen.gate.open):
        raise ReviewError(
            f"The gate of {name} was open.", remedy="Release the answer, or withdraw it."
        )
