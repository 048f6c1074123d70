"""Whether two statements speak of the same: of the same thing, and of the same side of it.

"Invoices are kept for 10 years" and "invoices are paid after 45 days" share a thing and a sort of
value, and contradict each other in nothing. What tells are the words of the question: those that
one statement has and the other lacks are of what only one of them speaks of. The sentence itself
counts in full, what stands around it by half: "it lasts 6 months" under the heading "Probation".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from suffice.evidence.keywords import stems
from suffice.gate.answers import DENIALS, Answer, Span, worth
from suffice.text.literals.tables import Row, table_rows
from suffice.text.question import LIGHT, parts
from suffice.text.synonyms import Synonyms
from suffice.text.words import content_words
from suffice.types import Passage

_AROUND = 0.5
# They tell what sort of answer is asked for, and nothing of what it is asked of.
_ONLY_ASK = frozenset(
    """amount number figure sum total value maximum minimum need needs needed high large big happen
    apply applies time times date day days until long often soon far old""".split()
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


@dataclass(frozen=True)
class Aspect:
    """What a question asks of what, as its words tell."""

    question: str
    synonyms: Synonyms = field(default_factory=Synonyms.read)

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
        return {word: value for word, value in found.items() if word not in _ONLY_ASK}

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
        told = [w for w in content_words(stated.column) if not {w, w.removesuffix("s")} & LIGHT]
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
