"""A case: a recorded decision with all that people said and did about it since."""

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
"""The kinds of records that take a decision from the queue."""


class Act(StrEnum):
    """What a person may decide of a record."""

    RELEASE = "release"
    """The answer leaves after all, with a caveat."""
    WITHDRAW = "withdraw"
    """An answer that left was wrong: it holds no longer."""
    OPEN = "open"
    """The gate was wrong to stay shut: an answer is written and checked."""
    CONFIRM = "confirm"
    """It was decided rightly."""
    DISMISS = "dismiss"
    """Nobody can or need tell: off the queue, and nothing was judged."""

    @property
    def kind(self) -> str:
        return REVIEW if self in (Act.CONFIRM, Act.DISMISS) else OVERRIDE


class Rating(StrEnum):
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person decided. `result` is the record of what was written, where a gate was opened.
    What was erased is empty."""

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
    """What somebody thought of it; `None`: erased since."""

    id: str
    time: str
    by: str
    rating: Rating | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """`why` and `probability` tell how it came into the queue; it may never have. `seen` is the
    decision as it holds now and as its reader may see it, `None` where not all of it is stored:
    `lacking` says so."""

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
        """Whether it waits for somebody."""
        return self.queued and not self.decided

    @property
    def verdict(self) -> Verdict | None:
        return self.seen.verdict if self.seen else None


def note(act: Act, by: str, reason: str) -> str:
    """ "Released by Ada: the source says so." """
    past = {Act.RELEASE: "Released", Act.WITHDRAW: "Withdrawn", Act.OPEN: "Gate opened"}
    past |= {Act.CONFIRM: "Confirmed", Act.DISMISS: "Dismissed"}
    return f"{past[act]} by {by or 'somebody'}: {reason}" if reason else f"{past[act]} by {by}."


def case_of(entry: Entry, concerning: Sequence[Entry], reader: Reader | None = None) -> Case:
    """A record and those about it, put together."""
    queue = next((one.fields() for one in concerning if one.kind == QUEUE), None)
    acts = tuple(_decided(one) for one in concerning if one.kind in DECIDED)
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
        tuple(_feedback(one) for one in concerning if one.kind == FEEDBACK),
        found,
        lacking,
    )


def now(verdict: Verdict | None, acts: Sequence[Decided]) -> Verdict | None:
    """What holds of a verdict after what people decided: the last word counts."""
    last = [one for one in acts if one.act in (Act.RELEASE, Act.WITHDRAW)][-1:]
    if verdict is None or not last:
        return verdict
    made = released if last[0].act is Act.RELEASE else withdrawn
    return made(verdict, last[0].note)


def _decided(entry: Entry) -> Decided:
    said = entry.fields()
    act = Act(role_of(entry.id))
    reason, result = said.get("reason", ""), said.get("result", "")
    return Decided(entry.id, entry.time, act, entry.caller, reason, result)


def _feedback(entry: Entry) -> Feedback:
    said = entry.fields()
    rating = Rating(said["rating"]) if "rating" in said else None
    return Feedback(entry.id, entry.time, entry.caller, rating, said.get("comment", ""))
