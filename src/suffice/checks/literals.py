"""Compares numbers, dates, units and names as values. Each must appear in the cited passages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate

from suffice.checks.claim_text import alone, cited_passages, with_metadata
from suffice.deadline import watched
from suffice.text.language import unknown_language
from suffice.text.literals import (
    APART,
    Basis,
    Comparison,
    Derivation,
    Literal,
    LiteralKind,
    Outcome,
    Reading,
    compare,
)
from suffice.text.marks import bare
from suffice.text.readable import readable
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Passage, Support

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """Passages parsed as one text, with the offset of each passage in it."""

    reading: Reading
    passages: tuple[Passage, ...]
    starts: tuple[int, ...]

    def place(self, literal: Literal) -> tuple[str, Span | None]:
        """The id of the passage that contains a literal, and its span there. The span is `None` if
        the literal is in the document's metadata."""
        number = bisect_right(self.starts, literal.start) - 1
        passage, start = self.passages[number], self.starts[number]
        span = literal.start - start, literal.end - start
        return passage.id, span if span[1] <= len(passage.text) else None


@dataclass(frozen=True, slots=True)
class LiteralCache:
    """Parses each passage on first use."""

    passages: tuple[Passage, ...]
    _readings: dict[str, Reading] = field(default_factory=dict)
    _held: dict[tuple[str, ...], Held] = field(default_factory=dict)

    def hold(self, passages: Sequence[Passage] = ()) -> Held:
        """The given passages as one text, or all passages if none are given."""
        chosen = tuple(passages) or self.passages
        key = tuple(passage.id for passage in chosen)
        if key not in self._held:
            readings = [self._read(passage) for passage in chosen]
            sizes = (len(one.text) + len(APART) for one in readings[:-1])
            starts = tuple(accumulate(sizes, initial=0))
            self._held[key] = Held(Reading.joined(readings), chosen, starts)
        return self._held[key]

    def _read(self, passage: Passage) -> Reading:
        if passage.id not in self._readings:
            self._readings[passage.id] = Reading.of(with_metadata(passage))
        return self._readings[passage.id]


# The values of a quotation stand in its source. Reading them again may only err, for example by
# taking the number of a list item for a value.
_QUOTED = "the claim is quoted"


class _Grade(IntEnum):
    """The outcome of a comparison, worst first."""

    MISCALCULATED = 0
    MISMATCH = 1
    ABSENT = 2
    UNSURE = 3
    DERIVED = 4
    EQUAL = 5


@dataclass(frozen=True, slots=True)
class Literals:
    """Marks a claim CONTRADICTED if the source has a different value, and UNBACKED if a value is in
    no passage. Matching values do not back a claim, because the rest of it may be wrong."""

    name: str = "literals"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        if not evidence.passages:
            reason = "there is no passage to compare with"
            return [self._finding(claim, reason=reason) for claim in draft.claims]
        cache = LiteralCache(evidence.passages)
        asked = Reading.of(evidence.question)
        written = {passage.id: _words(passage.text) for passage in evidence.passages}
        read = zip(draft.claims, alone(draft), cited_passages(draft, evidence), strict=True)
        return [
            self._finding(claim, Code.CLEAR, reason=_QUOTED, score=1.0)
            if any(_words(bare(claim.text)) in written[source.id] for source in sources)
            else self._judge(claim, text, sources, cache, asked)
            for claim, text, sources in watched(read)
        ]

    def _judge(
        self,
        claim: Claim,
        text: str,
        sources: Sequence[Passage],
        cache: LiteralCache,
        asked: Reading,
    ) -> Finding:
        held = cache.hold(sources)
        values = Reading.of(text)
        found = compare(values, held.reading)
        if not found:
            return self._finding(claim, Code.CLEAR, reason="the claim has no value to compare")
        grades = [_grade(one, (held.reading.spelled, asked.spelled)) for one in found]
        grade, worst = min(zip(grades, found, strict=True), key=lambda pair: pair[0])
        share = sum(one >= _Grade.DERIVED for one in grades) / len(found)
        if grade <= _Grade.ABSENT and (language := unknown_language(text)):
            return self._finding(claim, reason=f"values are not compared in {language}")
        if grade is _Grade.MISCALCULATED:
            reason = f"“{worst.claim.text}” is not the result of the calculation"
            code, support = Code.MISCALCULATED, Support.CONTRADICTED
            return self._finding(claim, code, support, Hallucination.FAITHFULNESS, reason, share)
        if grade is _Grade.MISMATCH:
            return self._mismatch(claim, worst, held, share)
        if grade is _Grade.ABSENT:
            elsewhere = compare(values, cache.hold().reading) if sources else []
            return self._absent(claim, worst.claim, elsewhere, cache, asked, share)
        return self._agree(claim, worst, held, share)

    def _mismatch(self, claim: Claim, worst: Comparison, held: Held, share: float) -> Finding:
        return self._finding(
            claim,
            Code.CHANGED,
            Support.CONTRADICTED,
            Hallucination.FAITHFULNESS,
            _mismatch(worst),
            share,
            held.place(worst.evidence) if worst.evidence else None,
        )

    def _absent(
        self,
        claim: Claim,
        value: Literal,
        elsewhere: Sequence[Comparison],
        cache: LiteralCache,
        asked: Reading,
        share: float,
    ) -> Finding:
        """The finding on a value that no cited passage contains. It may be in another passage, in
        the question, or nowhere."""
        everything = cache.hold()
        for one in elsewhere:
            same = one.claim.start == value.start
            if same and one.outcome is Outcome.EQUAL and one.evidence:
                reason = f"“{value.text}” is in another passage, not in the cited passage"
                return self._finding(
                    claim,
                    Code.MISATTRIBUTED,
                    Support.UNBACKED,
                    Hallucination.ATTRIBUTION,
                    reason,
                    share,
                    everything.place(one.evidence),
                )
        if any(one.outcome is Outcome.EQUAL for one in compare(value.text, asked)):
            reason = f"“{value.text}” appears only in the question, not in any passage"
            return self._finding(claim, Code.ABSENT, reason=reason, score=share)
        return self._finding(
            claim,
            Code.ABSENT,
            Support.UNBACKED,
            Hallucination.FACTUALITY,
            f"“{value.text}” does not appear in any passage",
            share,
        )

    def _agree(self, claim: Claim, worst: Comparison, held: Held, share: float) -> Finding:
        if worst.outcome is Outcome.ABSENT:
            reason = f"“{worst.claim.text}” is not in any passage; it may be the drafter's wording"
            return self._finding(claim, Code.ABSENT, reason=reason, score=share)
        if worst.derivation:
            reason = _derivation(worst.claim, worst.derivation)
            operand = held.place(worst.derivation.operands[0])
            return self._finding(claim, Code.DERIVED, reason=reason, score=share, place=operand)
        place = held.place(worst.evidence) if worst.evidence else None
        reason = "all values appear in the source"
        return self._finding(claim, Code.CLEAR, reason=reason, score=share, place=place)

    def _finding(
        self,
        claim: Claim,
        code: Code | None = None,
        support: Support = Support.UNCHECKED,
        kind: Hallucination | None = None,
        reason: str = "",
        score: float | None = None,
        place: tuple[str, tuple[int, int] | None] | None = None,
    ) -> Finding:
        passage, span = place or (None, None)
        return Finding(claim, self.name, support, score, passage, span, reason, code, kind)


def _words(text: str) -> str:
    return f" {' '.join(readable(text).split())} "


def _grade(comparison: Comparison, texts: Sequence[str]) -> _Grade:
    if comparison.claim.kind is LiteralKind.IDENTIFIER and comparison.claim.unit in _POINTING:
        return _Grade.EQUAL
    if comparison.outcome is Outcome.MISCALCULATED:
        return _Grade.MISCALCULATED
    if comparison.outcome is Outcome.MISMATCH:
        return _Grade.MISMATCH
    if comparison.outcome is Outcome.ABSENT:
        return _Grade.UNSURE if _own_word(comparison.claim, texts) else _Grade.ABSENT
    return _Grade.DERIVED if comparison.outcome is Outcome.DERIVED else _Grade.EQUAL


# "passage 3", "step 2": the answer refers to its own parts.
_POINTING = frozenset({"passage", "document", "step", "option", "item", "question", "line"})


def _own_word(value: Literal, texts: Sequence[str]) -> bool:
    """Whether a value may be the drafter's wording, not a fact: "two friends", "first, …", or a
    name that is a single word or consists mostly of known words. "Jane Doe", found in no text, is a
    fact."""
    if value.kind is LiteralKind.NAME:
        words = re.findall(r"\w+", value.key)
        known = sum(any(f" {word} " in text for text in texts) for word in words)
        return len(words) < 2 or 2 * known > len(words)
    spelled = not any(char.isdigit() for char in value.text)
    if value.kind is LiteralKind.ORDINAL or value.unit == "time":
        return spelled
    of_words = value.nouns[:1] == ("word",)  # "a summary in 80 words"
    return value.kind is LiteralKind.NUMBER and (spelled or of_words) and not value.unit


def _mismatch(worst: Comparison) -> str:
    value = f"“{worst.claim.text}”"
    if worst.evidence is None:
        return f"{value} does not match the source"
    source = f"“{worst.evidence.text}”"
    if worst.reason is Basis.BOUND:
        mine, theirs = worst.claim.comparator, worst.evidence.comparator
        return f"{value} has the bound “{mine}” in the claim, “{theirs}” in the source"
    return f"{value} is {source} in the source"


def _derivation(value: Literal, derivation: Derivation) -> str:
    first, second = (f"“{one.text}”" for one in derivation.operands)
    return f"“{value.text}” is the {derivation.operation} of {first} and {second}"
