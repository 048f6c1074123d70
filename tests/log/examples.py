"""Example decisions for the log, with every field of every value set."""

from __future__ import annotations

from datetime import date

from suffice.log.record import Record
from suffice.log.trace import Trace
from suffice.text.when import TimeAsked, When
from suffice.types import (
    Action,
    Attempt,
    Citation,
    Claim,
    Code,
    Conflict,
    Draft,
    Evidence,
    Exclusion,
    Fact,
    Finding,
    GateDecision,
    Grade,
    Hallucination,
    Kind,
    Level,
    Passage,
    Reason,
    ReasonCode,
    Rescue,
    Retrieved,
    Signal,
    Source,
    Support,
    Verdict,
)

LEAVE = Passage(
    "leave@2#0-30", "Parental leave lasts 18 weeks.", "leave.md", "2", "Leave", Kind.PROCEDURE,
    ("Leave", "Parental"), 0, 30, 3, "abc", date(2026, 1, 1), date(2027, 1, 1), date(2026, 1, 1),
    date(2027, 1, 1), "hr", frozenset({"staff", "all"}), "on leave", 0.5, "leave", True,
)  # fmt: skip
OLD = Passage("leave@1#0-30", "Parental leave lasts 16 weeks.", "leave.md", "1", "Leave")
FOUND = Evidence(
    "How long is leave?",
    (Retrieved(LEAVE, 0.71, 3.5, 0.6), Retrieved(OLD, None)),
    ("Searched a second time.",),
)
COUNTED = Evidence(
    FOUND.question, (Retrieved(LEAVE, 0.71, 3.5, 0.6, ((0, 30),)),), day=date(2026, 5, 1)
)
GATE = GateDecision(
    Level.PARTIAL, 0.62, "learned", ("one passage",), ("a figure for 2025",), ("age",), "fast",
    (Signal("enough", 0.62, 0.5, "near"), Signal("count", 1.0)), (Exclusion(OLD, "superseded"),),
    (Conflict(LEAVE, OLD, "18 weeks", "16 weeks", 0.9, "they differ", True),), ("Ask HR.",), True,
)  # fmt: skip
CLAIM = Claim("Leave lasts 18 weeks [1].", 0, 25, (1,))
DRAFT = Draft(
    CLAIM.text,
    (CLAIM,),
    (Citation(1, LEAVE, "18 weeks"),),
    "m",
    True,
    ("cut",),
    9,
    0.8,
    ("who pays",),
    3,
    ("18 weeks",),
    2,
)
FINDING = Finding(
    CLAIM, "literals", Support.CONTRADICTED, 0.1, LEAVE.id, (15, 30), "it differs", Code.CHANGED,
    Hallucination.FAITHFULNESS, (Fact("18 weeks", Support.BACKED),),
)  # fmt: skip
VERDICT = Verdict(
    FOUND.question, Action.CAVEAT, "Based on little.", GATE, COUNTED, DRAFT, DRAFT.text, (FINDING,),
    (Citation(1, LEAVE, "18 weeks"),), ("a figure for 2025",),
    (Source("leave.md", "Leave", "2", ("Leave",), 0.7, True),), 0.9, ("a note",), 0.5, 0.25,
    Grade.PARTIAL, "else -> CAVEAT", Rescue.TRIMMED,
    (Attempt(Draft("A first one."), (FINDING,), "else -> WITHHOLD"), Attempt(DRAFT)), 0.7,
    repeats="01jcq", reasons=(Reason(ReasonCode.TEXT, values=("Based on little.",)),),
    remarks=(Reason(ReasonCode.CONDITION_OMITTED, (CLAIM,), ("the source adds “if”",)),),
)  # fmt: skip
TRACE = Trace(
    FOUND,
    When(TimeAsked.THEN, date(2026, 1, 1), date(2027, 1, 1), "in 2026", firm=True),
    date(2026, 5, 1),
    (Retrieved(Passage("turn-1", "It is paid.", "earlier answer"), None),),
    (("find", 0.01), ("draft", 0.5)),
)
GAP = Verdict("Who is king?", Action.WITHHOLD, "Nothing.", GATE, Evidence("Who is king?"))


def note(n: int = 0, caller: str = "", tag: str = "") -> Record:
    """A small record."""
    return Record("note", {"question": f"Question {n}?", "outcome": {"n": n}}, caller, tag)
