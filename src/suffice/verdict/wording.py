"""What the reader is told, in one place."""

from __future__ import annotations

from suffice.types import GateDecision, Level

QUOTED = "Every statement is quoted from the document it cites."
LIMITED = "Based on available information; the evidence covers the question only in part."
THIN = "The evidence was judged too little to answer from; what it says is quoted all the same."
NOTHING_FOUND = "Nothing in the documents matches this question."
NOT_ENOUGH = "The documents do not hold enough to answer this question"
NO_STATEMENT = (
    "Documents on the subject were found, but no statement in them answers this question."
)
NOT_BACKED = "The draft says something the documents were not found to say."

NEXT_STEPS = "Rephrase the question, name the document you have in mind, or ask its owner."


def caveat(gate: GateDecision) -> str:
    """What to bear in mind with an answer from evidence that is not enough."""
    return LIMITED if gate.level is Level.PARTIAL else THIN


def shut(gate: GateDecision, found: int) -> str:
    """Why the gate stayed shut."""
    if not found:
        return NOTHING_FOUND
    return f"{NOT_ENOUGH}: {'; '.join(gate.reasons)}."
