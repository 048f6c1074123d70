"""Finds pairs of answers that may contradict each other, before a model judges them.

A view is a pair of answers from two passages: either the place where two otherwise equal texts
differ, or what each passage seems to answer. It estimates how certainly the two differ in value,
and how certainly both are about the same thing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations, product, takewhile

from suffice.gate.conflict.answers import (
    Answer,
    AnswerKind,
    Reading,
    Span,
    answer_kind,
    date_type,
    fits,
    names,
    same_answer,
    words,
)
from suffice.text.literals import Literal, same_amount
from suffice.text.literals.same import agrees, comparable, rounded
from suffice.text.words import STOP_WORDS, weight

_RUN = 3
_LONGEST_PHRASE = 8
_BESIDE = 8
_LEAST = 2
_PARTNERS = 8
_CROWDED = 16
_NOT = frozenset("not no never nor neither without cannot except unless".split())
_QUESTION = re.compile(r"\?[*_\"'”’)\]]*\Z")
_OPPOSED = ("n't", "n’t")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place where one passage has `first` and the other has `second` (spans in their texts).
    `kept` is the share of surrounding words that both have."""

    first: Span
    second: Span
    kept: float

    @property
    def spans(self) -> tuple[Span, Span]:
        return self.first, self.second


def partners(readings: Sequence[Reading]) -> list[tuple[int, int]]:
    """Pairs of passages that share sequences of words. An index yields at most a few pairs per
    passage, so the work grows with the number of passages, not of pairs."""
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, reading in enumerate(readings):
        for run in set(_runs(reading)):
            holders[run].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        if len(numbers) <= _CROWDED:  # a sequence in many passages does not indicate a copy
            shared.update(combinations(numbers, 2))
    kept: Counter[int] = Counter()
    found = []
    for pair, _ in sorted(shared.items(), key=lambda entry: (-entry[1], entry[0])):
        if kept[pair[0]] < _PARTNERS and kept[pair[1]] < _PARTNERS:
            found.append(pair)
            kept.update(pair)
    return sorted(found)


def _runs(reading: Reading) -> Iterator[tuple[str, ...]]:
    held = reading.words
    for place in range(len(held) - _RUN + 1):
        run = tuple(word.folded for word in held[place : place + _RUN])
        if not STOP_WORDS.issuperset(run):
            yield run


def slots(first: Reading, second: Reading) -> list[Slot]:
    """The places where two passages differ within the text they share, in order."""
    mine, theirs = _to_align(first), _to_align(second)
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    equal = [(a, b) for tag, a, end, b, _ in blocks if tag == "equal" for a, b in _steps(a, end, b)]
    matched = {a for a, _ in equal}, {b for _, b in equal}
    found = []
    for tag, a, a_end, b, b_end in blocks:
        if tag == "equal" or max(a_end - a, b_end - b) > _LONGEST_PHRASE:
            continue
        if not _differ(first, range(a, a_end), second, range(b, b_end)):
            continue
        more = 1 if tag in ("insert", "delete") else 0  # compare "allowed" with "not allowed"
        here, there = _span(first, a, a_end + more), _span(second, b, b_end + more)
        if here and there:
            around = (_kept(first, a, a_end, matched[0]), _kept(second, b, b_end, matched[1]))
            if min(around) > 0:
                found.append(Slot(here, there, min(around)))
    return found


def _to_align(reading: Reading) -> list[str]:
    """The words to align. Words in questions only match words in questions, because a passage that
    repeats the question would otherwise hide a difference in its statement."""
    asks = {
        n
        for n, (start, end) in enumerate(reading.spans, 1)
        if _QUESTION.search(reading.text[start:end])
    }
    return [f"?{w.folded}" if w.sentence in asks else w.folded for w in reading.words]


def _steps(a: int, end: int, b: int) -> Iterator[tuple[int, int]]:
    return ((a + step, b + step) for step in range(end - a))


def _span(reading: Reading, start: int, end: int) -> Span | None:
    held = reading.words[start:end]
    return (held[0].start, held[-1].end) if held else None


def _kept(reading: Reading, start: int, end: int, matched: set[int]) -> float:
    """How many words next to a place match without a gap, as a share of eight words or of a shorter
    sentence; 0 if too few of them are content words."""
    place = min(start, len(reading.words) - 1)
    sentence = reading.places(*reading.sentence(reading.words[place].start))
    run: list[int] = []
    for beside in (range(start - 1, -1, -1), range(end, len(reading.words))):
        run += takewhile(lambda n: n in matched, beside)
    telling = {reading.words[n].folded for n in run} - STOP_WORDS
    there_are = max(1, len(sentence) - (end - start))
    return min(1.0, len(run) / min(_BESIDE, there_are)) if len(telling) >= _LEAST else 0.0


def _differ(first: Reading, here: range, second: Reading, there: range) -> bool:
    """Whether two texts differ in more than style: in values, names or words, or by a negation."""
    mine, theirs = _content(first, here), _content(second, there)
    if _denied(first, here) != _denied(second, there):
        return True
    if not mine or not theirs:
        return False
    spelled = ("".join(first.words[n].folded for n in here),
               "".join(second.words[n].folded for n in there))  # fmt: skip
    if spelled[0] == spelled[1] or mine <= theirs or theirs <= mine:
        return False
    values = _values(first, here), _values(second, there)
    if values[0] and values[1]:
        return not all(any(_alike(one, other) for other in values[1]) for one in values[0])
    return True


def _content(reading: Reading, places: range) -> set[str]:
    held = (reading.words[n] for n in places)
    return {word.stem for word in held if word.folded not in STOP_WORDS}


def _denied(reading: Reading, places: range) -> bool:
    if not places:
        return False
    start, end = reading.words[places.start].start, reading.words[places.stop - 1].end
    words = reading.text[start : end + 2].lower()
    return any(reading.words[n].folded in _NOT for n in places) or any(
        mark in words for mark in _OPPOSED
    )


def _values(reading: Reading, places: range) -> list[Literal]:
    start, end = reading.words[places.start].start, reading.words[places.stop - 1].end
    return [one for one in reading.literals if one.start < end and start < one.end]


def _alike(mine: Literal, theirs: Literal) -> bool:
    return any(
        judge(*pair)
        for judge in (same_amount, agrees, rounded)
        for pair in ((mine, theirs), (theirs, mine))
    )


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
