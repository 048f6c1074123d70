"""A case: a recorded decision with its reviews and feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from suffice.errors import StoreError
from suffice.log.decision import GAP, QUEUE, Decision, decision_of, role_of
from suffice.log.log import Why
from suffice.log.record import Entry
from suffice.review.actions import (
    ASSIGNMENT,
    COMMENT,
    JUDGEMENT,
    MARK,
    PRIORITY,
    Judged,
    Mark,
    Marked,
    PersonalAct,
    Priority,
    edited,
    signed,
)
from suffice.types import Verdict
from suffice.verdict.decide import corrected, released, withdrawn

_RATED = {"up": "Rated up", "down": "Rated down"}
_JUDGED = {"accept": "finding accepted", "overrule": "finding overruled", "correct": "corrected"}
_DECIDED = {
    "release": "Answer released",
    "correct": "Answer corrected",
    "withdraw": "Answer withdrawn",
    "open": "Gate opened",
    "confirm": "Decision confirmed",
    "dismiss": "Dismissed",
}


@dataclass(frozen=True, slots=True)
class Event:
    """What happened; `by` is empty for what Suffice did. `detail` are a person's own words."""

    time: str
    by: str
    what: str
    detail: str = ""
    result: str = ""


def event_of(entry: Entry) -> Event:
    """One record about a case; the details of an erased record are missing."""
    fields = entry.fields()
    by = "" if entry.kind in (QUEUE, GAP) else entry.caller
    detail = str(fields.get("comment") or fields.get("reason") or "")
    if entry.kind == GAP:
        detail = ""
    return Event(entry.time, by, _what(entry, fields), detail, str(fields.get("result", "")))


def _what(entry: Entry, fields: dict[str, Any]) -> str:
    if entry.kind == QUEUE:
        return f"Queued: {', '.join(fields.get('why', ()))}"
    if entry.kind == GAP:
        return "Recorded as a knowledge gap"
    if entry.kind == JUDGEMENT:
        return f"Claim {fields.get('claim', '?')}: {_JUDGED.get(fields.get('judgement', ''), '?')}"
    if entry.kind == MARK:
        mark, title = fields.get("mark", "?"), fields.get("title") or fields.get("document", "?")
        return f"Mark removed: {title}" if mark == Mark.NONE else f"Passage marked {mark}: {title}"
    if entry.kind == ASSIGNMENT:
        return f"Assigned to {name}" if (name := fields.get("assignee")) else "Assignment removed"
    if entry.kind == PRIORITY:
        return f"Priority set to {Priority(fields.get('priority', 1)).name.lower()}"
    if entry.kind == COMMENT:
        return "Commented"
    role = role_of(entry.id)
    return _DECIDED.get(role) or _RATED.get(fields.get("rating", ""), "Rated")


OVERRIDE, REVIEW, FEEDBACK = "override", "review", "feedback"
DECIDED = (OVERRIDE, REVIEW)
"""The kinds of records that remove a decision from the queue."""


class Act(StrEnum):
    """A reviewer's decision on a record."""

    RELEASE = "release"
    """Release a withheld answer, with a caveat."""
    CORRECT = "correct"
    """Release an answer in the reviewer's words."""
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


class State(StrEnum):
    """The state of a case. A decided or dismissed case never reopens."""

    OPEN = "open"
    ASSIGNED = "assigned"
    DECIDED = "decided"
    DISMISSED = "dismissed"


class Rating(StrEnum):
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Decided(PersonalAct):
    """A reviewer's decision. `result` is the id of the new verdict's record if a gate was opened,
    `text` the answer in the reviewer's words if it was corrected. Erased values are empty."""

    act: Act
    reason: str = ""
    result: str = ""
    text: str = ""

    @property
    def note(self) -> str:
        return note(self.act, self.by, self.reason)


@dataclass(frozen=True, slots=True)
class Feedback(PersonalAct):
    """A rating of an answer; `rating` is `None` if it was erased."""

    rating: Rating | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A decision and the records about it: what reviewers see, on pages, in the terminal and in
    JSON. `why` and `probability` say why it was queued, if it was. `recorded` is the decision as it
    was recorded, and `verdict` the one after all reviews; if the record is incomplete, both are
    `None`, and `lacking` says what is missing. `latest` is the number of records about it; a
    reviewer who decides passes the number that was shown."""

    entry: Entry
    why: tuple[str, ...] = ()
    probability: float | None = None
    decided: tuple[Decided, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    recorded: Decision | None = None
    verdict: Verdict | None = None
    lacking: str = ""
    queued_at: str = ""
    state: State = State.OPEN
    assignee: str = ""
    priority: Priority = Priority.NORMAL
    judged: tuple[Judged, ...] = ()
    marks: tuple[Marked, ...] = ()
    history: tuple[Event, ...] = ()
    latest: int = 0

    @property
    def queued(self) -> bool:
        return bool(self.why)

    @property
    def open(self) -> bool:
        """Whether the case awaits review."""
        return self.queued and not self.decided

    @property
    def question(self) -> str:
        """The question; empty if it is not stored."""
        return str(self.entry.fields().get("question", ""))

    @property
    def outcome(self) -> str:
        """The current verdict, or the gate's level if there is no verdict."""
        if self.recorded is None:
            return ""
        return self.verdict.action.value if self.verdict else self.recorded.gate.level.value

    @property
    def released(self) -> bool:
        """Whether an answer is released now."""
        return self.verdict is not None and self.verdict.served

    @property
    def drafted(self) -> str:
        """The answer as it was released at first, or as it was drafted."""
        first = self.recorded.verdict if self.recorded else None
        if first is None:
            return ""
        return first.released or (first.draft.text if first.draft else "")

    @property
    def proposed(self) -> str:
        """The answer that a release would give: what is released after a decision, the draft with
        the reviewer's corrections, or the text as it is."""
        first = self.recorded.verdict if self.recorded else None
        if first is None:
            return ""
        if self.decided and self.verdict and self.verdict.released:
            return self.verdict.released
        if first.draft is None:
            return first.released
        corrected = edited(first.draft, self.judgements)
        return first.released or corrected if corrected == first.draft.text else corrected

    @property
    def judgements(self) -> dict[int, Judged]:
        """The last judgement of each claim."""
        return {judged.claim: judged for judged in self.judged}


def note(act: Act, by: str, reason: str) -> str:
    """The note on a decision, such as "Released by Ada: the source says so"."""
    past = {Act.RELEASE: "Released", Act.WITHDRAW: "Withdrawn", Act.OPEN: "Gate opened"}
    past |= {Act.CONFIRM: "Confirmed", Act.DISMISS: "Dismissed", Act.CORRECT: "Corrected"}
    return f"{past[act]} by {by or 'unknown'}: {reason}" if reason else f"{past[act]} by {by}."


def case_of(entry: Entry, concerning: Sequence[Entry]) -> Case:
    """Build a case from a record and the records about it."""

    def of(*kinds: str) -> list[Entry]:
        return [item for item in concerning if item.kind in kinds]

    queue = next(iter(of(QUEUE)), None)
    entered = queue.fields() if queue else {}
    acts = tuple(_decided(item) for item in of(*DECIDED))
    recorded, lacking = None, ""
    try:
        recorded = decision_of(entry)
    except StoreError as problem:
        lacking = problem.message
    return Case(
        entry,
        why_of(concerning),
        entered.get("probability"),
        acts,
        tuple(_feedback(item) for item in of(FEEDBACK)),
        recorded,
        now(recorded.verdict, acts) if recorded else None,
        lacking,
        queue.time if queue else "",
        state_of(concerning),
        assignee_of(concerning),
        priority_of(concerning),
        tuple(Judged.of(item) for item in of(JUDGEMENT) if item.payload),
        tuple(Marked.of(item) for item in of(MARK) if item.payload),
        tuple(event_of(item) for item in concerning),
        len(concerning),
    )


def state_of(concerning: Sequence[Entry]) -> State:
    """The state of a case. Decisions count even if their content was erased."""
    acts = [role_of(item.id) for item in concerning if item.kind in DECIDED]
    if acts:
        judged = any(act != Act.DISMISS for act in acts)
        return State.DECIDED if judged else State.DISMISSED
    return State.ASSIGNED if assignee_of(concerning) else State.OPEN


def assignee_of(concerning: Sequence[Entry]) -> str:
    """The person that the case was last assigned to; empty: nobody."""
    names = [item.fields().get("assignee", "") for item in concerning if item.kind == ASSIGNMENT]
    return str(names[-1]) if names else ""


def why_of(concerning: Sequence[Entry]) -> tuple[str, ...]:
    """Why a case is queued; empty if it is not."""
    queue = next((item for item in concerning if item.kind == QUEUE), None)
    if queue is None:
        return ()
    why = tuple(queue.fields().get("why", ("erased",)))
    ratings = (item.fields().get("rating") for item in concerning if item.kind == FEEDBACK)
    complained = Rating.DOWN in ratings and Why.FEEDBACK not in why
    return (*why, Why.FEEDBACK.value) if complained else why


def priority_of(concerning: Sequence[Entry]) -> Priority:
    """The priority that a person set, otherwise the one implied by why the case is queued."""
    values = [item.fields().get("priority") for item in concerning if item.kind == PRIORITY]
    if values and values[-1] is not None:
        return Priority(values[-1])
    return max((_PRIORITIES.get(why, Priority.LOW) for why in why_of(concerning)), default=_USUAL)


_USUAL = Priority.NORMAL
_PRIORITIES = {
    Why.REVIEW.value: Priority.HIGH,  # somebody waits for an answer
    Why.FEEDBACK.value: Priority.HIGH,
    Why.FABRICATED.value: Priority.HIGH,
    Why.CONFLICT.value: Priority.NORMAL,
    Why.BORDERLINE.value: Priority.NORMAL,
}


def now(verdict: Verdict | None, acts: Sequence[Decided]) -> Verdict | None:
    """The verdict after all reviewer decisions, of which the last counts."""
    changes = (Act.RELEASE, Act.WITHDRAW, Act.CORRECT)
    last = next((item for item in reversed(acts) if item.act in changes), None)
    if verdict is None or last is None:
        return verdict
    if last.act is Act.CORRECT:
        # Without its text, which was erased, nothing of the correction can be shown.
        answer = corrected(verdict, last.text, last.note)
        return answer if last.text else withdrawn(verdict, last.note)
    return (released if last.act is Act.RELEASE else withdrawn)(verdict, last.note)


def _decided(entry: Entry) -> Decided:
    words = (entry.fields().get(name, "") for name in ("reason", "result", "text"))
    return Decided(*signed(entry), Act(role_of(entry.id)), *words)


def _feedback(entry: Entry) -> Feedback:
    fields = entry.fields()
    rating = Rating(fields["rating"]) if "rating" in fields else None
    return Feedback(*signed(entry), rating, fields.get("comment", ""))
