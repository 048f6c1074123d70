"""What a reviewer can do with a case, apart from deciding it. Each action is a record about the
case.

>>> review.act("01jcq…", Judge(2, Judgement.OVERRULE, comment="Section 3 says so."), by="Ada")
'01jcq….judge.01jcr…'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import ClassVar

from suffice.errors import ReviewError
from suffice.log.decision import Decision
from suffice.log.record import Entry
from suffice.text.marks import citations
from suffice.types import Draft, Passage, Support
from suffice.verdict.assess import claim_statuses

LONGEST = 10_000
LONGEST_NAME = 100
JUDGEMENT, MARK, ASSIGNMENT, PRIORITY, COMMENT = (
    "judgement",
    "mark",
    "assignment",
    "priority",
    "comment",
)
"""The kinds of the records."""


class Judgement(StrEnum):
    """A reviewer's judgement of what the checks found about one claim."""

    ACCEPT = "accept"
    """The finding is right."""
    OVERRULE = "overrule"
    """The finding is wrong."""
    CORRECT = "correct"
    """The claim is wrong as drafted; the reviewer gives the right words, or none to remove it."""


class Mark(StrEnum):
    """What is wrong with a passage."""

    WRONG = "wrong"
    STALE = "stale"
    NONE = "none"
    """Nothing: an earlier mark is removed."""


class Priority(IntEnum):
    """How urgent a case is."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    URGENT = 3


@dataclass(frozen=True, slots=True)
class Judge:
    """Judge one claim, counted from 1 in the order of the draft."""

    claim: int
    judgement: Judgement
    text: str = ""
    comment: str = ""
    kind: ClassVar[str] = JUDGEMENT

    def fields(self, seen: Decision) -> Mapping[str, object]:
        """`supported` says whether the claim holds as drafted, according to the reviewer."""
        claims = claim_statuses(seen.verdict) if seen.verdict else []
        if not 1 <= self.claim <= len(claims):
            raise ReviewError(
                f"The draft has no claim {self.claim}.", remedy="Reload the case and try again."
            )
        support = claims[self.claim - 1].support
        backed = support is Support.BACKED
        holds = {Judgement.ACCEPT: backed, Judgement.OVERRULE: not backed}
        return {
            "claim": self.claim,
            "judgement": self.judgement.value,
            "found": support.value,
            "supported": holds.get(self.judgement, False),
            "text": _checked("text", self.text.strip()),
            "comment": _checked("comment", self.comment.strip()),
        }

    def taken_by(self, later: Entry) -> bool:
        """Whether a record that the reviewer has not seen yet concerns the same claim."""
        return later.kind == self.kind and later.fields().get("claim") == self.claim


@dataclass(frozen=True, slots=True)
class MarkPassage:
    """Mark a passage of the evidence, for the people who maintain the documents."""

    passage: str
    mark: Mark
    comment: str = ""
    kind: ClassVar[str] = MARK

    def fields(self, seen: Decision) -> Mapping[str, object]:
        passage = next((item for item in _passages(seen) if item.id == self.passage), None)
        if passage is None:
            raise ReviewError(
                "The case has no such passage.", remedy="Reload the case and try again."
            )
        return {
            "mark": self.mark.value,
            "passage": passage.id,
            "document": passage.document,
            "version": passage.version,
            "title": passage.title,
            "collection": passage.collection,
            "access": sorted(passage.access),
            "comment": _checked("comment", self.comment.strip()),
        }

    def taken_by(self, later: Entry) -> bool:
        return later.kind == self.kind and later.fields().get("passage") == self.passage


@dataclass(frozen=True, slots=True)
class Assign:
    """Assign the case to a person; an empty name removes the assignment."""

    to: str
    kind: ClassVar[str] = ASSIGNMENT

    def fields(self, seen: Decision) -> Mapping[str, object]:
        return {"assignee": _checked("name", self.to.strip(), LONGEST_NAME)}

    def taken_by(self, later: Entry) -> bool:
        return later.kind == self.kind


@dataclass(frozen=True, slots=True)
class Prioritize:
    priority: Priority
    kind: ClassVar[str] = PRIORITY

    def fields(self, seen: Decision) -> Mapping[str, object]:
        return {"priority": self.priority.value}

    def taken_by(self, later: Entry) -> bool:
        return later.kind == self.kind


@dataclass(frozen=True, slots=True)
class Remark:
    """Comment on the whole case."""

    comment: str
    kind: ClassVar[str] = COMMENT

    def fields(self, seen: Decision) -> Mapping[str, object]:
        if not self.comment.strip():
            raise ReviewError("The comment is empty.", remedy="Write a comment.")
        return {"comment": _checked("comment", self.comment.strip())}

    def taken_by(self, later: Entry) -> bool:
        return False  # comments stand beside each other


ReviewAction = Judge | MarkPassage | Assign | Prioritize | Remark


def _passages(seen: Decision) -> tuple[Passage, ...]:
    sides = [side for conflict in seen.gate.conflicts for side in (conflict.first, conflict.second)]
    return (*seen.evidence.passages, *sides)


def _checked(what: str, text: str, most: int = LONGEST) -> str:
    if len(text) > most:
        raise ReviewError(
            f"The {what} has {len(text):,} characters.", remedy=f"Use at most {most:,} characters."
        )
    return text


@dataclass(frozen=True, slots=True)
class PersonalAct:
    """What a person did with a case: the record of it, and whose it is."""

    id: str
    time: str
    by: str


@dataclass(frozen=True, slots=True)
class Judged(PersonalAct):
    """A reviewer's judgement of one claim. `supported`: the claim holds as drafted. `text` replaces
    a corrected claim; if it is empty, the claim is removed."""

    claim: int
    judgement: Judgement
    supported: bool
    text: str = ""
    comment: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Judged:
        fields = entry.fields()
        judgement, supported = Judgement(fields["judgement"]), fields["supported"]
        words = fields.get("text", ""), fields.get("comment", "")
        return cls(*signed(entry), fields["claim"], judgement, supported, *words)


@dataclass(frozen=True, slots=True)
class Marked(PersonalAct):
    """A mark that a reviewer put on a passage; `record` is the decision that used the passage."""

    record: str
    mark: Mark
    passage: str
    document: str
    version: str
    title: str
    collection: str
    access: frozenset[str]
    comment: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Marked:
        fields = entry.fields()
        return cls(
            *signed(entry),
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


def signed(entry: Entry) -> tuple[str, str, str]:
    """The first fields of a `PersonalAct`."""
    return entry.id, entry.time, entry.caller


def edited(draft: Draft, judgements: Mapping[int, Judged]) -> str:
    """The draft after the judgements: corrected claims in the reviewer's words, and without the
    claims that the reviewer found unsupported. A corrected claim keeps its citation marks unless
    the reviewer's words have their own."""
    return "".join(_pieces(draft, judgements)).strip()


def _pieces(draft: Draft, judgements: Mapping[int, Judged]) -> Iterator[str]:
    text, at = draft.text, 0
    marks = [span for span, _ in citations(text)]
    for n, claim in enumerate(sorted(draft.claims, key=lambda claim: claim.start), 1):
        judged = judgements.get(n)
        if judged is None or judged.supported or claim.start < at:
            continue
        end = _with_marks(text, claim.end, marks)
        before = text[at : claim.start]
        yield before if judged.text else before.rstrip(" ")
        yield judged.text
        keeps = judged.text and not citations(judged.text)
        yield text[claim.end : end] if keeps else ""
        at = end
    yield text[at:]


def _with_marks(text: str, end: int, marks: Sequence[tuple[int, int]]) -> int:
    """The end of a claim with the citation marks after it."""
    for first, last in marks:
        if first >= end and not text[end:first].strip():
            end = last
    return end
