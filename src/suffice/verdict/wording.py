"""What the reader is told, in one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suffice.gate.freshness import left_out
from suffice.types import Conflict, GateDecision, Level, Verdict

DISAGREE = "The documents contradict each other; both are quoted, and neither was chosen."
QUOTED = "Every statement is quoted from the document it cites."
LIMITED = "Based on available information; the evidence covers the question only in part."
THIN = "The evidence was judged too little to answer from; what it says is quoted all the same."
NOTHING_FOUND = "Nothing in the documents matches this question."
ONLY_LEFT_OUT = "What matches this question does not count for the time it asks about"
NOT_ENOUGH = "The documents do not hold enough to answer this question"
NO_STATEMENT = (
    "Documents on the subject were found, but no statement in them answers this question."
)
NOT_BACKED = "The draft says something the documents were not found to say."

NEXT_STEPS = ("Rephrase the question, name the document you have in mind, or ask its owner.",)


def caveat(gate: GateDecision) -> str:
    """What to bear in mind with an answer from evidence that is not enough."""
    return LIMITED if gate.level is Level.PARTIAL else THIN


def both_sides(conflicts: Sequence[Conflict], numbered: Mapping[str, int]) -> str:
    """What each side says, a line a side."""
    lines: list[str] = []
    for conflict in conflicts:
        for passage, quote in (
            (conflict.first, conflict.first_quote),
            (conflict.second, conflict.second_quote),
        ):
            dated = f", version {passage.version}" if passage.version else ""
            since = f", in force since {passage.effective}" if passage.effective else ""
            name = passage.title or passage.document
            lines.append(f"- {name}{dated}{since}: “{quote.strip()}” [{numbered[passage.id]}]")
    return "\n".join(dict.fromkeys(lines))


def shut(gate: GateDecision, found: int) -> str:
    """Why the gate stayed shut."""
    if not found and not gate.excluded:
        return NOTHING_FOUND
    return f"{NOT_ENOUGH if found else ONLY_LEFT_OUT}: {'; '.join(gate.reasons)}."


def unanswered(gate: GateDecision) -> str:
    """Why an open gate led to no answer; what was left out may have been it."""
    lines = left_out(gate.excluded)
    return f"{NO_STATEMENT} Left out: {'; '.join(lines)}." if lines else NO_STATEMENT


def steps(gate: GateDecision) -> tuple[str, ...]:
    """What to do next; where a gate names nothing, the general advice."""
    return gate.next_steps or NEXT_STEPS


def refusal(verdict: Verdict) -> str:
    """A refusal as one text: why, what is missing, the nearest sources, what to do next."""
    return "\n\n".join(_refusal(verdict))


def _refusal(verdict: Verdict) -> Iterator[str]:
    yield verdict.reason
    if verdict.missing:
        yield f"Missing: {'; '.join(verdict.missing)}."
    if verdict.nearest:
        named = (f"- {source.title or source.document}" for source in verdict.nearest)
        yield "\n".join(("Nearest sources:", *named))
    yield "\n".join(("Next steps:", *(f"- {step}" for step in steps(verdict.gate))))
