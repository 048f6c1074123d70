"""Finds pairs of answers that may contradict each other, before a model judges them.

A view is a pair of answers from two passages: either the place where two otherwise equal texts
differ, or what each passage seems to answer. It estimates how certainly the two differ in value,
and how certainly both are about the same thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from suffice.gate.conflict.answer_kind import AnswerKind, answer_kind
from suffice.gate.conflict.answers import (
    Answer,
    Reading,
    Span,
    date_type,
    fits,
    names,
    same_answer,
    words,
)
from suffice.gate.conflict.variants import Slot, partners, slots
from suffice.text.literals.agree import comparable
from suffice.text.rarity import weight

_AROUND = 8
_MOST = 12
_FIRST = 3
# An answer at least this near is what the question asks for. For copies, nearness is relative to
# the nearest answer in the passage; for statements, it is absolute.
_COPIED_NEAR = 0.3
_STATED_NEAR = 0.2
_LONGEST = 400
# The sameness assumed without any names, and the sameness required if the question has a name.
_PRESUMED = 0.15
_TO_SHOW = 2.0
_SETTLED = 0.3
# Descriptions may both be true (a judge can also be a priest), but 16 weeks are never 18.
_BOTH_MAY_BE = 0.5


@dataclass(frozen=True, slots=True)
class View:
    """A pair of answers. All scores are from 0 to 1: `literal` is how certainly the values differ,
    `near` how certainly they are what is asked for, and `same` how certainly they are about the
    same thing. `copied` means that the passages are versions of the same text. Spans refer to the
    passages' texts."""

    first: int
    second: int
    answers: tuple[Answer, Answer]
    statements: tuple[Span, Span]
    literal: float
    near: float
    same: float
    copied: bool
    agreed: Answer | None = None
    """An answer in both passages that is nearer to the question than these, from the first."""

    @property
    def passages(self) -> tuple[int, int]:
        return self.first, self.second


def views(readings: Sequence[Reading], question: str) -> list[View]:
    """The possible differences between all pairs of passages."""
    kind = answer_kind(question)
    named = any(word.telling for word in list(words(question))[1:])
    found = {pair: slots(readings[pair[0]], readings[pair[1]]) for pair in partners(readings)}
    result: list[View | None] = []
    for first, second in combinations(range(len(readings)), 2):
        both = Both(first, second, readings[first], readings[second])
        result += (both.copied(slot, kind) for slot in found.get((first, second), ()))
        result.append(both.stated(named))
    return [view for view in result if view]


@dataclass(frozen=True, slots=True)
class Both:
    """Two passages to compare."""

    first: int
    second: int
    mine: Reading
    theirs: Reading

    def copied(self, slot: Slot, kind: AnswerKind) -> View | None:
        """The view for a place where two otherwise equal texts differ."""
        here, there = _answer(self.mine, slot.first, kind), _answer(self.theirs, slot.second, kind)
        if here is None or there is None or same_answer(here, there):
            return None
        stated = _answer_words(here, there)
        mine, theirs = self.mine.telling - stated, self.theirs.telling - stated
        least = min(weight(mine), weight(theirs))
        same = (weight(mine & theirs) + _PRESUMED) / (least + _PRESUMED)
        near = min(1.0, self._near(here, there) / _COPIED_NEAR)
        view = self._view(here, there, slot.kept, near, same, True)
        nearer = (one for one in self.mine.answers if one.weight > here.weight)
        return replace(view, agreed=next((one for one in nearer if _gives(self.theirs, one)), None))

    def stated(self, named: bool) -> View | None:
        """The view for what each passage seems to answer. Among the nearest comparable answers, it
        takes the pair most likely to be about the same thing, and prefers answers that only one
        passage gives."""
        mine = [(one, _gives(self.theirs, one)) for one in self.mine.answers[:_FIRST]]
        theirs = [(one, _gives(self.mine, one)) for one in self.theirs.answers[:_FIRST]]
        best: tuple[float, Answer, Answer, float] | None = None
        for (here, known), (there, known_too) in product(mine, theirs):
            if not _one_sort(here, there):
                continue
            same = self._same(here, there, named)
            likely = self._near(here, there) * (same + _SETTLED)
            likely *= _SETTLED if known or known_too else 1.0
            if best is None or likely > best[0]:
                best = likely, here, there, same
        if best is None:
            return None
        _, here, there, same = best
        near = min(1.0, min(here.weight, there.weight) / _STATED_NEAR)
        differ = (1 - self._agreement()) * (_BOTH_MAY_BE if here.literal is None else 1.0)
        return self._view(here, there, differ, near, same, False)

    def _view(
        self, here: Answer, there: Answer, literal: float, near: float, same: float, copied: bool
    ) -> View:
        stated = _statement(self.mine, here), _statement(self.theirs, there)
        return View(
            self.first, self.second, (here, there), stated, literal, near, min(1.0, same), copied
        )

    def _near(self, here: Answer, there: Answer) -> float:
        return min(_relative(self.mine, here), _relative(self.theirs, there))

    def _same(self, here: Answer, there: Answer, named: bool) -> float:
        """The share of names near each answer that the other passage contains as well."""
        stated = _answer_words(here, there)
        mine, theirs = _around(self.mine, here) - stated, _around(self.theirs, there) - stated
        shared = weight(mine & self.theirs.telling) + weight(theirs & self.mine.telling)
        weights = weight(mine), weight(theirs)
        if named and not self._nothing_else(stated):  # another subject may have the same name
            return shared / (sum(weights) + _TO_SHOW)
        if named:
            return 1.0
        return (shared + _PRESUMED) / (2 * min(weights) + _PRESUMED)

    def _nothing_else(self, stated: frozenset[str]) -> bool:
        """Whether the passages contain no names except those in the question and the answers, so
        that nothing tells two subjects with the same name apart."""
        rest = (self.mine.telling | self.theirs.telling) - stated
        return all(word[0].isdigit() for word in rest)

    def _agreement(self) -> float:
        """How near to the question the nearest answer is that both passages give."""
        return max(
            (
                self._near(one, other)
                for one in self.mine.answers[:_MOST]
                for other in self.theirs.answers[:_MOST]
                if same_answer(one, other)
            ),
            default=0.0,
        )


def _answer(reading: Reading, span: Span, kind: AnswerKind) -> Answer | None:
    """The answer of the required kind at a place where two texts differ."""
    start, end = span
    for literal in reading.literals:
        if literal.start < end and start < literal.end and fits(literal, kind):
            return reading.answer(literal.start, literal.end, literal)
    held = [reading.words[place] for place in reading.places(start, end)]
    named = not any(w.folded[0].isdigit() for w in held)
    if kind is AnswerKind.ANYTHING or (kind is AnswerKind.NAME and named):
        return reading.answer(start, end)
    return None


def _gives(reading: Reading, answer: Answer) -> bool:
    return any(same_answer(answer, one) for one in reading.answers)


def _relative(reading: Reading, answer: Answer) -> float:
    """How near an answer is to the question, relative to the nearest answer in its passage."""
    nearest = max([answer.weight, *(one.weight for one in reading.answers[:1])])
    return answer.weight / nearest if nearest else 1.0


def _one_sort(mine: Answer, theirs: Answer) -> bool:
    """Whether two answers are comparable, unlike a year and a price, or a number and a phrase."""
    if mine.literal is None or theirs.literal is None:
        return mine.literal is theirs.literal
    if mine.literal.day or theirs.literal.day:
        return date_type(mine.literal) == date_type(theirs.literal)
    return comparable(mine.literal, theirs.literal)


def _around(reading: Reading, answer: Answer) -> frozenset[str]:
    here = reading.places(answer.start, answer.end)
    before = reading.words[max(0, here.start - _AROUND) : here.start]
    after = reading.words[here.stop : here.stop + _AROUND]
    return names((*before, *after), reading.asked)


def _answer_words(*answers: Answer) -> frozenset[str]:
    return frozenset(word.folded for answer in answers for word in words(answer.text))


def _statement(reading: Reading, answer: Answer) -> Span:
    """The sentence that contains an answer, or the part around the answer if it is very long."""
    start, end = reading.sentence(answer.start)
    half = _LONGEST // 2
    first = max(start, answer.start - half)
    last = min(end, max(answer.end, answer.start + half))
    # Do not cut in the middle of a word.
    while start < first < answer.start and not reading.text[first - 1].isspace():
        first += 1
    while answer.end < last < end and not reading.text[last].isspace():
        last -= 1
    return first, last
