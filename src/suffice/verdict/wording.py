"""What the reader is told, in one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suffice.gate.freshness import left_out
from suffice.text.marks import bare
from suffice.text.readable import readable
from suffice.types import (
    Action,
    Claim,
    Code,
    Conflict,
    Finding,
    GateDecision,
    Level,
    Support,
    Verdict,
)
from suffice.verdict.assess import UNVERIFIED, Assessment

DISAGREE = "The documents contradict each other; both are quoted, and neither was chosen."
QUOTED = "Every statement is quoted from the document it cites."
LIMITED = "Based on available information; the evidence covers the question only in part."
DOUBTED = "Based on available information; the evidence may not answer the question in full."
THIN = "The evidence was judged too little to answer from; read this with caution."
NOTHING_FOUND = "Nothing in the documents matches this question."
ONLY_LEFT_OUT = "What matches this question does not count for the time it asks about"
NOT_ENOUGH = "The documents do not hold enough to answer this question"
NO_STATEMENT = (
    "Documents on the subject were found, but no statement in them answers this question."
)
CHECKED = "Every statement was checked against the documents it rests on."
NOT_BACKED = "The draft says something the documents were not found to say"
NOT_ANSWERED = "This question could not be fully answered from available documents"
SAYS_OTHERWISE = "The draft says something that the documents contradict"
NO_SOURCE = "The draft names no source for what it says, so that it could not be verified"
NO_SUCH_SOURCE = "The draft names a source that does not exist"
WRONG_SOURCE = "The draft names sources that do not hold as named; a person has to look at it"
UNSURE = "The answer found is right with probability {:.2f}"
UNLIKELY = "What the documents say may not answer this question"
OF_ANOTHER_SORT = "The answer does not give what is asked for: {}."
ANOTHER_QUESTION = "The draft does not speak of what was asked."
NOT_VERIFIED = "Not all of this could be verified against the documents"
UNREAD = "Not everything it says was checked against the documents"
MARKS = "The numbers of sources in it were not looked up: that check is switched off."
NOT_WRITTEN = "The model that writes answers could not be reached."
SHORTENED = "What the documents do not back was left out"
CORRECTED = "A wrong source was named; the mark now names the passage that says it"
REPLACED = "No answer could be verified; this is quoted from the documents instead."
UNWRITTEN = "No answer could be written; this is quoted from the documents instead."
OPENED = "A person had this written."
RELEASED = "A person released this."
WITHDRAWN = "A person withdrew this answer."
_LONGEST = 120
_SOURCES = frozenset(code.value for code in (Code.STALE, Code.EXPIRED, Code.MISATTRIBUTED))

NEXT_STEPS = ("Rephrase the question, name the document you have in mind, or ask its owner.",)


def caveat(gate: GateDecision) -> str:
    """What to bear in mind with an answer from evidence that is not enough."""
    if gate.level is Level.PARTIAL:
        return LIMITED if gate.missing else DOUBTED
    return THIN


def told(
    action: Action,
    gate: GateDecision,
    found: Assessment,
    *,
    quoted: bool,
    lacks: str = "",
    left: str = "",
) -> str:
    """Why a draft leaves as it does; the weak claim is named. `lacks`: the sort of answer that it
    does not give; `left`: which of several questions it leaves without one."""
    against = found.claims_with(Support.CONTRADICTED)
    weak = found.claims_with(Support.UNBACKED, Support.UNCHECKED)
    if action is Action.REVIEW and found.flags & _SOURCES:
        return f"{WRONG_SOURCE}."
    if action is Action.REVIEW:
        return f"{unsure(found)}; a person has to look at it."
    invented = Code.FABRICATED.value in found.flags
    if action is Action.WITHHOLD and Code.BESIDE.value in found.flags and not invented:
        return ANOTHER_QUESTION
    if action is Action.WITHHOLD and against:
        return naming(SAYS_OTHERWISE, against)
    if (
        action is Action.WITHHOLD
        and not weak
        and found.flags <= {Code.FAR.value}
        and found.confidence
    ):
        return f"{UNLIKELY}: {_lower(unsure(found))}."
    if action is Action.WITHHOLD:
        return naming(_lack(found), weak)
    parts = [] if gate.level is Level.SUFFICIENT else [caveat(gate)]
    if weak:
        parts.append(naming(NOT_VERIFIED, weak))
    elif found.unread:
        parts.append(f"{UNREAD}: “{_short(found.unread[0])}”.")
    if left:
        parts.append(f"{left}.")
    elif lacks:
        parts.append(OF_ANOTHER_SORT.format(lacks))
    if UNVERIFIED in found.flags:
        parts.append(MARKS)
    if action is Action.CAVEAT and not parts and found.confidence is not None:
        parts.append(f"{unsure(found)}.")
    return " ".join(parts) or (QUOTED if quoted else CHECKED)


def unsure(found: Assessment) -> str:
    return UNSURE.format(found.confidence or 0.0)


def _lower(said: str) -> str:
    return f"{said[:1].lower()}{said[1:]}"


def adds(findings: Sequence[Finding]) -> list[str]:
    """The conditions of the source that a draft leaves out. They decide nothing."""
    left_out = (f for f in findings if f.code is Code.OMITTED and f.support is Support.UNBACKED)
    return list(dict.fromkeys(f"“{_short(one.claim.text)}”: {one.reason}." for one in left_out))


def _lack(found: Assessment) -> str:
    """What a draft lacks that is withheld and that nothing contradicts."""
    if Code.FABRICATED.value in found.flags:
        return NO_SUCH_SOURCE
    if Code.UNCITED.value in found.flags and not found.faithfulness:
        return NO_SOURCE
    return NOT_ANSWERED if found.faithfulness >= 0.4 else NOT_BACKED


def naming(said: str, claims: Sequence[Claim]) -> str:
    """What is said, with the first of the claims it is said of."""
    if not claims:
        return f"{said}."
    more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
    return f"{said}: “{_short(claims[0].text)}”{more}."


def _short(said: str) -> str:
    text = bare(" ".join(readable(said).split())).rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"


def both_sides(conflicts: Sequence[Conflict], numbered: Mapping[str, int]) -> str:
    """What each side says, a line a side."""
    lines: list[str] = []
    for conflict in conflicts:
        for passage, quote in (
            (conflict.first, conflict.first_quote),
            (conflict.second, conflict.second_quote),
        ):
            dated = f", version {passage.declared}" if passage.declared else ""
            since = f", in force since {passage.effective}" if passage.effective else ""
            name = passage.title or passage.document
            lines.append(
                f"- {name}{dated}{since}: “{readable(quote).strip()}” [{numbered[passage.id]}]"
            )
    return "\n".join(dict.fromkeys(lines))


def shut(gate: GateDecision, found: int) -> str:
    """Why the gate stayed shut."""
    if not found and not gate.excluded:
        return NOTHING_FOUND
    # Sources that seem to speak of different things are no reason: there was too little before.
    apart = {conflict.reason for conflict in gate.conflicts if conflict.ambiguous}
    reasons = [one for one in gate.reasons if one not in apart]
    return f"{NOT_ENOUGH if found else ONLY_LEFT_OUT}: {'; '.join(reasons)}."


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
