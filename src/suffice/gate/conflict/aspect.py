"""Whether two statements speak of the same: of the same thing, and of the same side of it.

"Invoices are kept for 10 years" and "invoices are paid after 45 days" share a thing and a sort of
value, and contradict each other in nothing. What tells are the words of the question: those that
one statement has and the other lacks are of what only one of them speaks of. The sentence itself
counts in full, what stands around it by half: "it lasts 6 months" under the heading "Probation".
A name tells nothing of the side: much is said of one firm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from suffice.evidence.keywords import stems
from suffice.gate.conflict.answers import DENIALS, Answer, Reading, Span, words, worth
from suffice.gate.conflict.candidates import View
from suffice.text.literals.tables import Row, table_rows
from suffice.text.question import LIGHT, parts
from suffice.text.stems import listed
from suffice.text.synonyms import Synonyms
from suffice.text.words import content_words
from suffice.types import Passage

_AROUND = 0.5
_NEAREST = 3
# Statements that share less of the question's words than this speak of different things; where it
# names something fewer words are left to tell, and one said otherwise weighs more.
_ALIKE = 0.7
_ALIKE_OF_ONE_NAME = 0.6
# They tell what sort of answer is asked for, and nothing of what it is asked of.
_ONLY_ASK = frozenset(
    """amount number figure sum total value maximum minimum need needs needed high large big happen
    apply applies time times date day days deadline until long often soon far old""".split()
)


@dataclass(frozen=True, slots=True)
class Stated:
    """An answer, and the statement of a passage that gives it."""

    passage: Passage
    span: Span
    answer: Answer

    @property
    def text(self) -> str:
        return self.passage.text[slice(*self.span)]

    @property
    def around(self) -> str:
        """The paragraph, under its headings."""
        text = self.passage.text
        start, end = text.rfind("\n\n", 0, self.span[0]), text.find("\n\n", self.span[1])
        paragraph = text[max(start, 0) : end if end >= 0 else len(text)]
        return " ".join((self.passage.title, *self.passage.heading, paragraph))

    @property
    def column(self) -> str:
        """The name of the column that the answer stands in; empty where it stands in none."""
        if self.answer.literal is None or not self.answer.literal.cell:
            return ""
        above = [row for row in table_rows(self.passage.text) if row.start <= self.answer.start]
        return _heading(above[-1], self.answer.start) if above else ""


def stated(view: View, passages: Sequence[Passage]) -> tuple[Stated, Stated]:
    """The two statements of a view."""
    (mine, theirs), (here, there) = view.answers, view.statements
    first, second = passages[view.first], passages[view.second]
    return Stated(first, here, mine), Stated(second, there, theirs)


def given(passages: Sequence[Passage], readings: Sequence[Reading]) -> list[Stated]:
    """All that the passages might answer, nearest to the question first."""
    return [
        Stated(passage, reading.sentence(answer.start), answer)
        for passage, reading in zip(passages, readings, strict=True)
        for answer in reading.answers[:_NEAREST]
    ]


@dataclass(frozen=True)
class Aspect:
    """What a question asks of what, as its words tell."""

    question: str
    synonyms: Synonyms = field(default_factory=Synonyms.read)
    names: bool = True
    """Whether the names in the question count as its words."""

    @cached_property
    def side(self) -> Aspect:
        """What is asked of that which the question names; all of it, where that is all it has."""
        return replace(self, names=False)

    def of_one(self, both: tuple[Stated, Stated], most: float) -> bool:
        """Whether two statements are of the same, and as near to what is asked as any other; the
        nearest speaks of `most` of it."""
        alike = _ALIKE if self.names or not self._names else _ALIKE_OF_ONE_NAME
        covered = min(self.covered(one) for one in both)
        return self.shared(*both) >= alike and covered >= alike * most and not both_hold(*both)

    def silent(self, stated: Stated) -> bool:
        """Whether a statement has the name that is asked about, in it or around it, and no word of
        what is asked of it."""
        held = self._held(stated)
        there = [held[word] for word in self._names & held.keys()]
        return bool(there) and min(there) > 0 and self.side.covered(stated) == 0

    def shared(self, first: Stated, second: Stated) -> float:
        """How much of what either speaks of, of all that is asked, both do."""
        if not (self._of_its_column(first) and self._of_its_column(second)):
            return 0.0
        mine, theirs = self._held(first), self._held(second)
        if any(_other(mine, theirs, thing) for thing in self._things):
            return 0.0
        both = sum(value * min(mine[word], theirs[word]) for word, value in self._asked.items())
        either = sum(value * max(mine[word], theirs[word]) for word, value in self._asked.items())
        return both / either if either else 1.0

    def most(self, given: Sequence[Stated]) -> float:
        """How much of all that is asked the nearest of the statements speaks of."""
        return max(map(self.covered, given), default=0.0)

    def covered(self, stated: Stated) -> float:
        """How much of all that is asked a statement speaks of."""
        held, every = self._held(stated), sum(self._asked.values())
        spoken = sum(value * held[word] for word, value in self._asked.items())
        return spoken / every if every else 0.0

    def named(self, stated: Stated) -> bool:
        """Whether the statement itself has a word of what is asked."""
        return 1.0 in self._held(stated).values()

    @cached_property
    def _asked(self) -> dict[str, float]:
        """Its words, with what each tells."""
        found = worth(self.question)
        telling = {word: value for word, value in found.items() if word not in _ONLY_ASK}
        beside = {word: value for word, value in telling.items() if word not in self._names}
        return telling if self.names else beside or telling

    @cached_property
    def _names(self) -> frozenset[str]:
        """The words that name something by their capital; the first has one in any case."""
        return frozenset(word.folded for word in list(words(self.question))[1:] if word.telling)

    @cached_property
    def _things(self) -> list[list[str]]:
        """What is named by more than one word: "service records"."""
        named = ([w for w in part.telling if w in self._asked] for part in parts(self.question))
        return [words for words in named if len(words) > 1]

    @cached_property
    def _forms(self) -> dict[str, list[frozenset[int]]]:
        """Each of its words as it may be found: itself, and what stands for it."""
        return {word: self._alike(word) for word in self._asked}

    def _alike(self, word: str) -> list[frozenset[int]]:
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
        """A value in a table is that of its column: the question must ask for it."""
        told = [w for w in content_words(stated.column) if not listed(w, LIGHT)]
        asked = stems(self.question)
        return not told or any(form <= asked for word in told for form in self._alike(word))


def _other(mine: Mapping[str, float], theirs: Mapping[str, float], thing: Sequence[str]) -> bool:
    """Whether one statement names the thing and the other something else of its kind: "service
    records" and the records of something else."""
    named = [(mine[word], theirs[word]) for word in thing]
    return any(min(both) > 0 for both in named) and (1.0, 0.0) in {
        (max(both), min(both)) for both in named
    }


def both_hold(first: Stated, second: Stated) -> bool:
    """Whether bounds of opposite directions leave room for each other: "up to 45 euros" and "from
    25 euros on" are both true of something, unless one of the two is denied."""
    bounds = first.answer.literal, second.answer.literal
    low = next((one.value for one in bounds if one and one.comparator.direction > 0), None)
    high = next((one.value for one in bounds if one and one.comparator.direction < 0), None)
    denied = [not DENIALS.isdisjoint(one.text.lower().split()) for one in (first, second)]
    return low is not None and high is not None and denied[0] == denied[1] and low <= high


def _heading(row: Row, at: int) -> str:
    column = row.column(at)
    return row.heading[column] if column < len(row.heading) else ""
