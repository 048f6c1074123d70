"""The drafting prompt: numbered, fenced evidence only, citations required, declining allowed.

Passages are data, each inside a fence. What tries to instruct the model is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from suffice.draft.extractive import Ranked
from suffice.draft.reading import Brief
from suffice.evidence.sanitize import Flags
from suffice.models.chat import Message, described, fence, fenced, quoted
from suffice.models.llm.prompts import read_prompt
from suffice.text.sentences import Span, apart
from suffice.types import Code, Conflict, Evidence, Finding, Passage, Support

Rank = Callable[[Evidence], Sequence[Ranked]]
"""Returns the statements of the evidence, best first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A numbered passage with the text that the prompt shows of it."""

    n: int
    passage: Passage
    text: str


def shown(evidence: Evidence, room: int, rank: Rank) -> tuple[Shown, ...]:
    """The evidence cut to `room` characters: best passages first, text in its original order."""
    passages = evidence.passages
    if sum(len(passage.text) for passage in passages) <= room:
        return tuple(Shown(n, passage, passage.text) for n, passage in enumerate(passages, 1))
    return excerpts(evidence, rank(evidence), room)


def excerpts(evidence: Evidence, ranked: Iterable[Ranked], room: int) -> tuple[Shown, ...]:
    """The best statements that fit, by passage. The best one is always included, cut if needed."""
    numbers = {passage.id: n for n, passage in enumerate(evidence.passages, 1)}
    chosen: dict[int, set[Span]] = {}
    left = room
    for entry in ranked:
        held = chosen.get(numbers[entry.passage.id], set())
        new = set(entry.statement.slices) - held
        size = sum(end - start for start, end in new)
        if chosen and size > left:
            continue
        chosen[numbers[entry.passage.id]] = held | new
        left -= size
    return tuple(
        Shown(n, evidence.passages[n - 1], _joined(evidence.passages[n - 1].text, spans)[:room])
        for n, spans in chosen.items()
    )


def left_out(evidence: Evidence, parts: Sequence[Shown]) -> tuple[str, ...]:
    """A note for the reader if the model did not receive all of the evidence."""
    whole = {part.n for part in parts if part.text == part.passage.text}
    missing = [str(n) for n in range(1, len(evidence) + 1) if n not in whole]
    if not missing:
        return ()
    which = f"passage{'s' * (len(missing) > 1)} {', '.join(missing)}"
    return (f"The model received only part of the evidence (shortened or omitted: {which}).",)


def _joined(text: str, spans: set[Span]) -> str:
    """The parts in order; an ellipsis marks omissions, except between table rows."""
    joined, last = "", 0
    for start, end in apart(spans):
        between = text[last:start]
        if joined:
            joined += "\n" if "|" in text[start:end] else " … " if between.strip() else between
        joined += text[start:end]
        last = end
    return joined


DECLINED = "The passages do not answer the question."
"""The reply that a model must give if it cannot answer."""
GAP = "The passages do not say"
"""How a model must begin a sentence about what the passages leave open."""

PROMPT = "draft-1"
"""The system message. It holds both phrases."""

_AGAIN = (
    "A check of your answer found:\n{findings}\n\nWrite the whole answer again. Correct these"
    " points or leave them out, keep everything else, and keep closer to the words of the"
    " passages. The rules are the same."
)
_NOTHING_NAMED = "- The passages were not found to say this clearly enough."
_BROKE_OFF = "- It was cut off before its end: be shorter."
_BESIDE = "- It does not answer the question."
_AMBIGUOUS = (
    "They may be about different things with one name: say which is which, and answer for both."
)
_OPEN = "Acknowledge this in your answer: give both with their numbers, and do not choose."
_MOST_FINDINGS = 12
_AGAINST = {
    Support.CONTRADICTED: "the passages say otherwise",
    Support.UNBACKED: "the passages do not say this",
}


def messages(
    question: str, parts: Sequence[Shown], brief: Brief, flags: Flags
) -> tuple[Message, ...]:
    """The messages that request a draft or, with an earlier draft, a revision."""
    user = "\n\n".join(_blocks(question, parts, brief, flags))
    system, _ = read_prompt(PROMPT)
    first = (Message("system", system), Message("user", user))
    if brief.earlier is None:
        return first
    again = _AGAIN.format(findings="\n".join(_objections(brief)))
    return (*first, Message("assistant", brief.earlier.text), Message("user", again))


def objection(finding: Finding) -> str:
    """A finding against a claim, worded for the drafter."""
    reason = quoted(finding.reason) or _AGAINST.get(finding.support, "not backed")
    return f'"{quoted(finding.claim.text)}": {reason}'


def against(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding against each claim."""
    first: dict[object, Finding] = {}
    for finding in findings:
        if finding.support in _AGAINST:
            first.setdefault(finding.claim, finding)
    return list(first.values())


def _blocks(question: str, parts: Sequence[Shown], brief: Brief, flags: Flags) -> Iterable[str]:
    mark = fence(text for part in parts for text in (part.text, described(part.passage)))
    for part in parts:
        if part.n not in flags or not flags[part.n].certain:
            yield fenced(mark, f"passage {part.n}", part.text, described(part.passage))
    numbers = {part.passage.id: part.n for part in parts}
    yield from (_disclosed(conflict, numbers) for conflict in brief.conflicts)
    for n, found in flags.items():
        if n in numbers.values():
            yield (
                f"Passage {n} is left out: it holds words that look like an instruction."
                if found.certain
                else f"Words of passage {n} that look like an instruction are left out."
            )
    yield f"Question: {question}"


def _disclosed(conflict: Conflict, numbers: dict[str, int]) -> str:
    first = _states("A", conflict.first, conflict.first_quote, numbers)
    second = _states("B", conflict.second, conflict.second_quote, numbers)
    return f"{first}; {second}. {_AMBIGUOUS if conflict.ambiguous else _OPEN}"


def _states(name: str, passage: Passage, quote: str, numbers: dict[str, int]) -> str:
    n = numbers.get(passage.id)
    place = f"passage {n}, " if n else ""
    return f'Document {name} ({place}{described(passage)}) states "{quoted(quote)}"'


def _objections(brief: Brief) -> Iterable[str]:
    found = [f"- {objection(finding)}" for finding in against(brief.findings)[:_MOST_FINDINGS]]
    if brief.earlier is not None and brief.earlier.cut:
        found.append(_BROKE_OFF)
    if any(finding.code is Code.BESIDE for finding in brief.findings):
        found.append(_BESIDE)
    return found or [_NOTHING_NAMED]
