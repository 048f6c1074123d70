"""Finds passages that are nearly equal: two versions of a text, or an altered copy.

The words of two passages are aligned. Where both agree before and after a place, the texts in
between are alternatives.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations, takewhile

from suffice.gate.conflict.answers import Reading, Span
from suffice.text.literals import Literal, same_amount
from suffice.text.literals.agree import agrees, rounded
from suffice.text.words import STOP_WORDS

_RUN = 3
_LONGEST = 8
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
        if tag == "equal" or max(a_end - a, b_end - b) > _LONGEST:
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
