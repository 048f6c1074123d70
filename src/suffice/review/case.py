"""A case: a recorded decision with its reviews and feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from suffice.access.visibility import Reader, Seen, seen
from suffice.errors import StoreError
from suffice.log.entry import Entry
from suffice.record.about import QUEUE, role_of
from suffice.record.decision import decision_of
from suffice.types import Verdict
from suffice.verdict.override import released, withdrawn

OVERRIDE, REVIEW, FEEDBACK = "override", "review", "feedback"
DECIDED = (OVERRIDE, REVIEW)
"""The kinds of records that remove a decision from the queue."""


class Act(StrEnum):
    """A reviewer's decision on a record."""

    RELEASE = "release"
    """Release a withheld answer, with a caveat."""
    WITHDRAW = "withdraw"
    """Withdraw a released answer that was wrong."""
    OPEN = "open"
    """The gate was wrongly closed: have an answer written and checked."""
    CONFIRM = "confirm"
    """The decision was right."""
    DISMISS = "dismiss"
    """Remove from the queue without a judgement."""

    @property
    def kind(self) -> str:
        return REVIEW if self in (Act.CONFIRM, Act.DISMISS) else OVERRIDE


class Rating(StrEnum):
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Decided:
    """A reviewer's decision. `result` is the id of the new verdict's record if a gate was opened.
    Erased values are empty."""

    id: str
    time: str
    act: Act
    by: str
    reason: str = ""
    result: str = ""

    @property
    def note(self) -> str:
        return note(self.act, self.by, self.reason)


@dataclass(frozen=True, slots=True)
class Feedback:
    """A rating of an answer; `rating` is `None` if it was erased."""

    id: str
    time: str
    by: str
    rating: Rating | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A decision and the records about it. `why` and `probability` say why it was queued, if it
    was. `seen` is the current decision as the reader may see it; if the record is incomplete, it is
    `None`, and `lacking` says what is missing."""

    entry: Entry
    why: tuple[str, ...] = ()
    probability: float | None = None
    decided: tuple[Decided, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    seen: Seen | None = None
    lacking: str = ""

    @property
    def queued(self) -> bool:
        return bool(self.why)

    @property
    def open(self) -> bool:
        """Whether the case awaits review."""
        return self.queued and not self.decided

    @property
    def verdict(self) -> Verdict | None:
        return self.seen.verdict if self.seen else None


def note(act: Act, by: str, reason: str) -> str:
    """The note on a decision, such as "Released by Ada: the source says so"."""
    past = {Act.RELEASE: "Released", Act.WITHDRAW: "Withdrawn", Act.OPEN: "Gate opened"}
    past |= {Act.CONFIRM: "Confirmed", Act.DISMISS: "Dismissed"}
    return f"{past[act]} by {by or 'unknown'}: {reason}" if reason else f"{past[act]} by {by}."


def case_of(entry: Entry, concerning: Sequence[Entry], reader: Reader | None = None) -> Case:
    """Build a case from a record and the records about it."""
    queue = next((item.fields() for item in concerning if item.kind == QUEUE), None)
    acts = tuple(_decided(item) for item in concerning if item.kind in DECIDED)
    why = tuple(queue.get("why", ("erased",))) if queue is not None else ()
    found, lacking = None, ""
    try:
        decision = decision_of(entry)
        found = seen(decision, now(decision.verdict, acts), reader)
    except StoreError as problem:
        lacking = problem.message
    return Case(
        entry,
        why,
        queue.get("probability") if queue else None,
        acts,
        tuple(_feedback(item) for item in concerning if item.kind == FEEDBACK),
        found,
        lacking,
    )


def now(verdict: Verdict | None, acts: Sequence[Decided]) -> Verdict | None:
    """The verdict after all reviewer decisions, of which the last counts."""
    last = [item for item in acts if item.act in (Act.RELEASE, Act.WITHDRAW)][-1:]
    if verdict is None or not last:
        return verdict
    made = released if last[0].act is Act.RELEASE else withdrawn
    return made(verdict, last[0].note)


def _decided(entry: Entry) -> Decided:
    fields = entry.fields()
    act = Act(role_of(entry.id))
    reason, result = fields.get("reason", ""), fields.get("result", "")
    return Decided(entry.id, entry.time, act, entry.caller, reason, result)


def _feedback(entry: Entry) -> Feedback:
    fields = entry.fields()
    rating = Rating(fields["rating"]) if "rating" in fields else None
    return Feedback(entry.id, entry.time, entry.caller, rating, fields.get("comment", ""))
