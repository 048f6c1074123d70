"""Decisions for the queue: a served answer, one that is held for review, and one of a label."""

from __future__ import annotations

from dataclasses import replace

from suffice.log.log import Log
from suffice.review.review import Review
from suffice.settings import RecordSettings
from suffice.types import (
    Action,
    Citation,
    Claim,
    Code,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Level,
    Passage,
    Retrieved,
    Signal,
    Support,
    Verdict,
)

QUESTION = "How many days may I work remotely?"
REMOTE = Passage(
    "remote@1#0-66",
    "You may work remotely 3 days per week. Managers approve the days.",
    "remote.md",
    "1",
    "Remote work",
)
TEXT = "You may work remotely 4 days per week [1]. Managers approve the days [1]."
FIRST, SECOND = Claim(TEXT[:42], 0, 42, (1,)), Claim(TEXT[43:], 43, len(TEXT), (1,))
DRAFT = Draft(TEXT, (FIRST, SECOND), (Citation(1, REMOTE, ""),), "model")
FINDINGS = (
    Finding(
        FIRST,
        "literals",
        Support.CONTRADICTED,
        0.1,
        REMOTE.id,
        (0, 38),
        "3, not 4",
        Code.CHANGED,
    ),
    Finding(SECOND, "entailment", Support.BACKED, 0.9, REMOTE.id, (39, 65)),
)
GATE = GateDecision(Level.SUFFICIENT, 0.8, "learned", signals=(Signal("enough", 0.8, 0.3),))
EVIDENCE = Evidence(QUESTION, (Retrieved(REMOTE, 0.8),))
HELD = Verdict(QUESTION, Action.REVIEW, "A person must look.", GATE, EVIDENCE, DRAFT, "", FINDINGS)
SERVED = replace(
    HELD, action=Action.SERVE, reason="", released=TEXT, citations=(Citation(1, REMOTE, ""),)
)


def labelled(verdict: Verdict, label: str, collection: str = "default") -> Verdict:
    """The same decision on a passage with an access label."""
    passage = replace(REMOTE, access=frozenset({label}), collection=collection)
    cited = Citation(1, passage, "")
    draft = replace(DRAFT, citations=(cited,))
    evidence = replace(EVIDENCE, items=(Retrieved(passage, 0.8),))
    citations = (cited,) if verdict.citations else ()
    return replace(verdict, evidence=evidence, draft=draft, citations=citations)


def at_rate(review: Review, rate: float) -> Review:
    """The same store with another sampling rate."""
    return Review(Log(review.log.database, RecordSettings(review_sample=rate, review_borderline=0)))
