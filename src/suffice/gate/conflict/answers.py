"""Extracts candidate answers from a passage: expressions of the kind asked for, ordered by how near
they are to the words of the question.

It uses rules to propose candidates. The verifier judges them.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from suffice.text.literals import Literal, LiteralKind, literals, same_amount
from suffice.text.literals.values import QUANTITIES
from suffice.text.sentences import sentences
from suffice.text.words import STOP_WORDS, WORD, auxiliaries, fold, rarity, stem

_DATE = re.compile(r"\b(?:when|date|(?:what|which) (?:year|day|month))\b")
_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|often|far|tall|high|large|big|fast|deep|wide)\b"
    r"|\b(?:population|length|height|number|percentage|median|average) of\b"
    r"|\b(?:population|median (?:age|income)|length|price|cost|amount)\b"
)
_NAME = re.compile(
    r"^who\b|\bwho(?:m|se)\b|\bwhere\b|\blocation of\b"
    r"|\b(?:what|which) (?:state|country|city|town|county|person)\b"
)
_TO_SOMEBODY = re.compile(r"\w+ (?:you|any(?:one|body)|some(?:one|body))\b")


class AnswerKind(StrEnum):
    """What a question asks for."""

    DATE = "date"
    NUMBER = "number"
    NAME = "name"
    ANYTHING = "anything"


def answer_kind(question: str) -> AnswerKind:
    """The kind of answer that the words of a question ask for."""
    folded = question.lower()
    if _yes_or_no(folded):
        return AnswerKind.ANYTHING
    if _DATE.search(folded):
        return AnswerKind.DATE
    if _NUMBER.search(folded):
        return AnswerKind.NUMBER
    return AnswerKind.NAME if _NAME.search(folded) else AnswerKind.ANYTHING


def _yes_or_no(folded: str) -> bool:
    """Whether a question can be answered with yes or no: it begins with an auxiliary that does not
    address anyone. "Is it paid when I am ill?" is such a question; "Can you tell me when it is
    paid?" is not."""
    question = folded.strip()
    return auxiliaries(question)[:1] == [0] and not _TO_SOMEBODY.match(question)


Span = tuple[int, int]

# At this distance in words, a word of the question counts for a third.
_REACH = 12
# The extra distance of a word in another sentence.
_ANOTHER = 12
_COMMON = 0.25
DENIALS = frozenset("not no never nor neither without cannot".split())
_NO_CONTENT = STOP_WORDS - DENIALS
_COUNTED = frozenset("day week month year".split())
_TO = re.compile(r"\s*(?:to|and|until|till|[-–—])\s*", re.I)
_YEARS = range(1000, 2101)
# Descriptions: "He is a British judge.", "Tilley, a talented cricketer, …".
_IS_DESCRIBED_AS = re.compile(
    r"(?:\b(?:is|are|was|were|as|be|became|remains)|,)\s+(?:an?|the)\s+"
    r"(?P<phrase>[^\W_][\w'’-]*(?:\s[^\W_][\w'’-]*){0,5})"
)
_ENDS = frozenset(
    """who which that where when from for by in on at of with and or to but than under over between
    after before during since until into onto is are was were has have had being been located known
    based released written directed born played playing served used made""".split()
)


@dataclass(frozen=True, slots=True)
class Word:
    """A normalised word at `text[start:end]`, with its stem for comparison."""

    start: int
    end: int
    folded: str
    stem: str
    telling: bool
    """Whether it may be a name, with a digit or a capital not at the start of a sentence."""
    sentence: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A candidate answer. `weight` is how near the question's words are, relative to the maximum.
    `literal` is its value, if it has one."""

    text: str
    start: int
    end: int
    weight: float
    literal: Literal | None = None
    content: frozenset[str] = frozenset()
    """The stems of its words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage parsed for one question."""

    text: str
    words: tuple[Word, ...]
    spans: tuple[Span, ...]
    literals: tuple[Literal, ...]
    asked: Mapping[str, float]
    """The weights of the question's words, by stem."""
    telling: frozenset[str]
    """The names and numbers that are not in the question and therefore identify the subject."""
    answers: tuple[Answer, ...] = ()
    """The candidate answers, nearest first."""

    @classmethod
    def of(cls, text: str, question: str) -> Reading:
        weights, spans = word_weights(question), tuple(sentences(text))
        by_stem = {stem(word): value for word, value in weights.items()}
        held = tuple(words(text, spans))
        telling = names(held, by_stem)
        read = cls(text, held, spans, tuple(literals(text)), by_stem, telling)
        found = sorted(
            _answers(read, answer_kind(question)), key=lambda one: (-one.weight, one.start)
        )
        return replace(read, answers=tuple(found))

    def sentence(self, start: int) -> Span:
        """The sentence that contains a position."""
        place = bisect_right([span[0] for span in self.spans], start) - 1
        return self.spans[place] if place >= 0 else (0, len(self.text))

    def places(self, start: int, end: int) -> range:
        """The indices of the words between two character positions."""
        first = bisect_right([word.end for word in self.words], start)
        last = bisect_right([word.start for word in self.words], end - 1)
        return range(first, last)

    def answer(self, start: int, end: int, literal: Literal | None = None) -> Answer:
        """A span of the text as a candidate answer."""
        held = (self.words[place] for place in self.places(start, end))
        content = frozenset(word.stem for word in held if word.folded not in _NO_CONTENT)
        near = self.near(start, end)
        return Answer(self.text[start:end], start, end, near, literal, content)

    def near(self, start: int, end: int) -> float:
        """How near the question's words are to a span of the text, from 0 to 1."""
        here = self.places(start, end)
        home = self.words[here.start].sentence if here else -1
        nearest: dict[str, int] = {}
        for place, word in enumerate(self.words):
            if word.stem in self.asked and place not in here:
                away = here.start - place if place < here.start else place - here.stop + 1
                away += _ANOTHER if word.sentence != home else 0
                nearest[word.stem] = min(away, nearest.get(word.stem, away))
        total = sum(self.asked.values())
        reached = sum(
            weight * math.exp(-nearest[stem] / _REACH)
            for stem, weight in self.asked.items()
            if stem in nearest
        )
        return reached / total if total else 0.0


def words(text: str, spans: Sequence[Span] = ()) -> Iterator[Word]:
    """The words of a text. A capital at the start of a sentence makes a name only if another
    capital follows or the word is capitalised elsewhere too."""
    found = list(WORD.finditer(text))
    starts = [start for start, _ in spans]
    homes = [bisect_right(starts, match.start()) for match in found]
    capital = [not match[0][0].islower() for match in found]
    opens = [bool(spans) and (n == 0 or homes[n] != homes[n - 1]) for n in range(len(found))]
    inner = {
        m[0] for m, high, first in zip(found, capital, opens, strict=True) if high and not first
    }
    for n, match in enumerate(found):
        folded = fold(match[0])
        named = capital[n] and len(folded) > 1 and folded not in STOP_WORDS
        if named and opens[n] and not folded[0].isdigit():
            beside = n + 1 < len(found) and not opens[n + 1] and capital[n + 1]
            named = match[0] in inner or beside
        yield Word(match.start(), match.end(), folded, stem(folded), named, homes[n])


def names(held: Iterable[Word], asked: Container[str]) -> frozenset[str]:
    """The words that may distinguish one subject from another, except the question's words."""
    return frozenset(
        word.folded
        for word in held
        if word.telling and word.stem not in asked and rarity(word.folded)
    )


def same_answer(first: Answer, second: Answer) -> bool:
    """Whether two answers agree. One may be more precise than the other."""
    if first.literal and second.literal:
        mine, theirs = first.literal, second.literal
        if _year(mine) is not None and _year(mine) == _year(theirs):
            return not (mine.day and theirs.day) or _same(mine, theirs)
        return _same(mine, theirs)
    if (
        not first.content
        or not second.content
        or DENIALS & first.content != DENIALS & second.content
    ):
        return False
    return first.content <= second.content or second.content <= first.content


def _same(first: Literal, second: Literal) -> bool:
    if first.kind is second.kind is LiteralKind.TIME and (first.high or second.high):
        mine, theirs = {first.value, first.high}, {second.value, second.high}
        return mine == theirs if first.high and second.high else bool(mine & theirs - {None})
    return same_amount(first, second) or same_amount(second, first)


def date_type(literal: Literal) -> str:
    """The type of a date. Only dates of the same type are compared."""
    if _year(literal) is not None:
        return "year"
    if literal.day and literal.day.weekday is not None:
        return "weekday"
    return "day of the year" if literal.day else ""


def _year(literal: Literal) -> int | None:
    if literal.day:
        return literal.day.year
    if literal.kind is not LiteralKind.NUMBER or literal.value is None or len(literal.text) != 4:
        return None
    return int(literal.value) if literal.value in _YEARS else None


def word_weights(question: str) -> dict[str, float]:
    """The weights of the question's words: higher for rare words, none for question words."""
    return {
        word.folded: _COMMON + (1 - _COMMON) * rarity(word.folded)
        for word in words(question)
        if word.folded not in STOP_WORDS and len(word.folded) > 1
    }


def _answers(reading: Reading, kind: AnswerKind) -> Iterator[Answer]:
    found = [one for one in reading.literals if fits(one, kind) and not _repeats(reading, one)]
    if kind is AnswerKind.DATE and not found:  # without a year, it is a rule for every year
        found = list(_spans_of_time([one for one in reading.literals if _recurs(one)], reading))
    for literal in found:
        yield reading.answer(literal.start, literal.end, literal)
    if kind is AnswerKind.ANYTHING:
        for start, end in _predicates(reading):
            yield reading.answer(start, end)


def fits(literal: Literal, kind: AnswerKind) -> bool:
    """Whether a literal is of the kind asked for."""
    if kind is AnswerKind.DATE:
        return _year(literal) is not None
    if kind is AnswerKind.NAME:
        return literal.kind in (LiteralKind.NAME, LiteralKind.QUOTATION)
    return literal.kind in QUANTITIES and _year(literal) is None


def _recurs(literal: Literal) -> bool:
    """Whether a literal recurs: a time of day, a day of the year or week, or "the third day"."""
    counted = literal.kind is LiteralKind.ORDINAL and bool(_COUNTED & {*literal.nouns})
    return counted or literal.kind in (LiteralKind.TIME, LiteralKind.DATE)


def _spans_of_time(found: Sequence[Literal], reading: Reading) -> Iterator[Literal]:
    """Join times into periods: "14:00 to 19:00" differs from "14:00 to 18:00"."""
    last: Literal | None = None
    for one in found:
        times = last is not None and last.kind is one.kind is LiteralKind.TIME
        if last and times and _TO.fullmatch(reading.text[last.end : one.start]):
            text = reading.text[last.start : one.end]
            last = replace(last, text=text, end=one.end, high=one.value)
            continue
        if last:
            yield last
        last = one
    if last:
        yield last


def _repeats(reading: Reading, literal: Literal) -> bool:
    """Whether a name only repeats a name in the question."""
    if literal.kind not in (LiteralKind.NAME, LiteralKind.QUOTATION):
        return False
    held = [reading.words[n].stem for n in reading.places(literal.start, literal.end)]
    return all(stem in reading.asked for stem in held)


def _predicates(reading: Reading) -> Iterator[Span]:
    """Descriptions of up to six words, cut where a new clause begins."""
    for found in _IS_DESCRIBED_AS.finditer(reading.text):
        start, end = found.span("phrase")
        kept = [start, start]
        for word in WORD.finditer(reading.text, start, end):
            if word[0].lower() in _ENDS:
                break
            kept[1] = word.end()
        held = [reading.words[n] for n in reading.places(*kept)] if kept[1] > start else []
        telling = [w for w in held if w.folded not in STOP_WORDS and w.stem not in reading.asked]
        if telling and not all(word.folded[0].isdigit() for word in telling):
            yield kept[0], kept[1]
