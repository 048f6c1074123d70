"""The value types that all parts of Suffice share, one module per step. All are frozen."""

from __future__ import annotations

from suffice.types.draft import Citation, Claim, Draft
from suffice.types.evidence import CARRIED, INDEXED, Evidence, Kind, Passage, Readings, Retrieved
from suffice.types.finding import RULES_ON_MEANING, Code, Fact, Finding, Hallucination, Support
from suffice.types.gate import Conflict, Exclusion, GateDecision, Level, Signal
from suffice.types.verdict import Action, Attempt, Grade, Rescue, Source, Verdict

__all__ = [
    "CARRIED",
    "INDEXED",
    "RULES_ON_MEANING",
    "Action",
    "Attempt",
    "Citation",
    "Claim",
    "Code",
    "Conflict",
    "Draft",
    "Evidence",
    "Exclusion",
    "Fact",
    "Finding",
    "GateDecision",
    "Grade",
    "Hallucination",
    "Kind",
    "Level",
    "Passage",
    "Readings",
    "Rescue",
    "Retrieved",
    "Signal",
    "Source",
    "Support",
    "Verdict",
]
