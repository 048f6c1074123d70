"""Decides whether two statements are about the same aspect of the same subject.

"Invoices are kept for 10 years" and "invoices are paid after 45 days" share a subject and a type of
value but do not contradict each other. The words of the question decide: a word that only one
statement contains belongs to an aspect that the other does not cover. Words in the sentence count
in full. Words in its paragraph and headings count half ("it lasts 6 months" under the heading
"Probation"). Names are ignored, because many statements are about the same company.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from suffice.gate.conflict.answers import DENIALS, Answer, Reading, Span, word_weights, words
from suffice.gate.conflict.candidates import View
from suffice.text.literals.read import Row, table_rows
from suffice.text.words import Synonyms, content_words, listed, stems
from suffice.types import Passage

_AROUND = 0.5
_NEAREST = 3
# Statements that share less than this part of the question's words are about different aspects.
# With a name in the question, fewer words remain, so that a paraphrase has more effect.
_ALIKE = 0.7
_ALIKE_OF_ONE_NAME = 0.6
# These words ask for a type of answer and do not name its subject.
_ONLY_ASK = frozenset(
    """amount number figure sum total value maximum minimum need needs needed high large big happen
    apply applies time times date day days deadline until long often soon far old""".split()
)


@dataclass(frozen=True, slots=True)
class Stated:
    """An answer with the statement that contains it."""

    passage: Passage
    span: Span
    answer: Answer

    @property
    def text(self) -> str:
        return self.passage.text[slice(*self.span)]

    @property
    def around(self) -> str:
        """The paragraph with its headings."""
        text = self.passage.text
        start, end = text.rfind("\n\n", 0, self.span[0]), text.find("\n\n", self.span[1])
        paragraph = text[max(start, 0) : end if end >= 0 else len(text)]
        return " ".join((self.passage.title, *self.passage.heading, paragraph))

    @property
    def column(self) -> str:
        """The header of the table column that contains the answer; empty outside tables."""
        if self.answer.literal is None or not self.answer.literal.cell:
            return ""
        above = [row for row in table_rows(self.passage.text) if row.start <= self.answer.start]
        return _heading(above[-1], self.answer.start) if above else ""


def stated(view: View, passages: Sequence[Passage]) -> tuple[Stated, Stated]:
    """The two statements of a candidate pair."""
    (mine, theirs), (here, there) = view.answers, view.statements
    first, second = passages[view.first], passages[view.second]
    return Stated(first, here, mine), Stated(second, there, theirs)


def candidate_statements(passages: Sequence[Passage], readings: Sequence[Reading]) -> list[Stated]:
    """The nearest candidate answers of each passage, with their statements."""
    return [
        Stated(passage, reading.sentence(answer.start), answer)
        for passage, reading in zip(passages, readings, strict=True)
        for answer in reading.answers[:_NEAREST]
    ]


@dataclass(frozen=True)
class Aspect:
    """What a question asks about its subject, as given by its words."""

    question: str
    synonyms: Synonyms = field(default_factory=Synonyms.read)
    names: bool = True
    """Whether names in the question count as words."""

    @cached_property
    def side(self) -> Aspect:
        """The same question without its names, unless it has no other words."""
        return replace(self, names=False)

    def of_one(self, both: tuple[Stated, Stated], most: float) -> bool:
        """Whether two statements are about the same aspect and cover nearly as much of the question
        as the best statement, which covers `most` of it."""
        alike = _ALIKE if self.names or not self._names else _ALIKE_OF_ONE_NAME
        covered = min(self.covered(one) for one in both)
        return self.shared(*both) >= alike and covered >= alike * most and not both_hold(*both)

    def silent(self, stated: Stated) -> bool:
        """Whether a statement, with its context, contains the name in the question but none of its
        other words."""
        held = self._held(stated)
        there = [held[word] for word in self._names & held.keys()]
        return bool(there) and min(there) > 0 and self.side.covered(stated) == 0

    def shared(self, first: Stated, second: Stated) -> float:
        """Of the question's words that either statement contains, the share that both contain."""
        if not (self._of_its_column(first) and self._of_its_column(second)):
            return 0.0
        mine, theirs = self._held(first), self._held(second)
        both = sum(value * min(mine[word], theirs[word]) for word, value in self._asked.items())
        either = sum(value * max(mine[word], theirs[word]) for word, value in self._asked.items())
        return both / either if either else 1.0

    def most(self, statements: Sequence[Stated]) -> float:
        """The largest share of the question's words that any statement covers."""
        return max(map(self.covered, statements), default=0.0)

    def covered(self, stated: Stated) -> float:
        """The share of the question's words that a statement covers."""
        held, every = self._held(stated), sum(self._asked.values())
        spoken = sum(value * held[word] for word, value in self._asked.items())
        return spoken / every if every else 0.0

    def named(self, stated: Stated) -> bool:
        """Whether the statement itself contains one of the question's words."""
        return 1.0 in self._held(stated).values()

    @cached_property
    def _asked(self) -> dict[str, float]:
        """The question's words with their weights."""
        found = word_weights(self.question)
        telling = {word: value for word, value in found.items() if word not in _ONLY_ASK}
        beside = {word: value for word, value in telling.items() if word not in self._names}
        return telling if self.names else beside or telling

    @cached_property
    def _names(self) -> frozenset[str]:
        """The capitalised words, except the first word of the question."""
        return frozenset(word.folded for word in list(words(self.question))[1:] if word.telling)

    @cached_property
    def _forms(self) -> dict[str, list[frozenset[str]]]:
        """The forms in which each word may occur: the word itself and its synonyms."""
        return {word: self._alike(word) for word in self._asked}

    def _alike(self, word: str) -> list[frozenset[str]]:
        return [found for one in (word, *self.synonyms.of(word)) if (found := stems(one))]

    def _held(self, stated: Stated) -> dict[str, float]:
        here, around = stems(stated.text), stems(stated.around)
        return {
            word: 1.0
            if any(form <= here for form in forms)
            else _AROUND * any(form <= around for form in forms)
            for word, forms in self._forms.items()
        }

    def _of_its_column(self, stated: Stated) -> bool:
        """Whether the question asks about the table column of a value."""
        words = [w for w in content_words(stated.column) if not listed(w, _ONLY_ASK)]
        asked = stems(self.question)
        return not words or any(form <= asked for word in words for form in self._alike(word))


def both_hold(first: Stated, second: Stated) -> bool:
    """Whether an upper and a lower bound can both be true: "up to 45 euros" and "from 25 euros". If
    only one of them is negated, they cannot."""
    bounds = first.answer.literal, second.answer.literal
    low = next((one.value for one in bounds if one and one.comparator.direction > 0), None)
    high = next((one.value for one in bounds if one and one.comparator.direction < 0), None)
    denied = [not DENIALS.isdisjoint(one.text.lower().split()) for one in (first, second)]
    return low is not None and high is not None and denied[0] == denied[1] and low <= high


def _heading(row: Row, at: int) -> str:
    column = row.column(at)
    return row.heading[column] if column < len(row.heading) else ""
