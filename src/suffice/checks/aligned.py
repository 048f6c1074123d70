"""The sentence of the evidence that a claim most likely comes from, by shared words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import repeat

from suffice.checks.quotes import lead_ins
from suffice.text.facts.marks import bare
from suffice.text.literals.binding import stem
from suffice.text.sentences import sentences
from suffice.text.words import content_words
from suffice.types import Passage

_ROOT = 6
_COMMON = 200
_FEW = 2
_BESIDE = 3
_DIGITS = re.compile(r"\d+")
# Said in many words: who asks for consent has not left out "subject to approval".
_SAME = {
    "approv": "consen permis permit agreem agre author",
    "manag": "manage superv superi boss",
    "writ": "writte writin",
    "employ": "worker staff",
    "ill": "illnes sick sickne",
    "holida": "vacati",
    "refund": "reimbu",
}
_ROOTS = {word: root for root, words in _SAME.items() for word in words.split()}


def roots(text: str) -> frozenset[str]:
    """The content words of a text by their first letters, and its numbers in digits."""
    words = (stem(word)[:_ROOT] for word in content_words(text))
    return frozenset((*(_ROOTS.get(word, word) for word in words), *_DIGITS.findall(text)))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage: `passage.text[start:end] == text`."""

    passage: Passage
    start: int
    end: int
    roots: frozenset[str]
    lead: str = ""
    """The line that introduces it, where it is read with that."""

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def whole(self) -> str:
        """How it reads with the line that introduces it."""
        return f"{bare(self.lead).rstrip(':')} {bare(self.text)}" if self.lead else self.text


@dataclass(frozen=True, slots=True)
class Sentences:
    """All sentences of the evidence, found by their words."""

    all: list[Sentence] = field(default_factory=list)
    _words: dict[str, frozenset[str]] = field(default_factory=dict)
    _order: dict[str, int] = field(default_factory=dict)
    _holding: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, passages: Iterable[Passage], *, led: bool = False) -> Sentences:
        """`led`: an item of a list has the words of the line above the list too."""
        made = cls()
        for passage in passages:
            made._words[passage.id] = roots(passage.text)
            made._order[passage.id] = len(made._order)
            spans = sentences(passage.text)
            leads = lead_ins(passage, spans) if led else repeat("")
            for (start, end), lead in zip(spans, leads, strict=False):
                number = len(made.all)
                words = roots(passage.text[start:end]) | roots(lead)
                one = Sentence(passage, start, end, words, lead)
                made.all.append(one)
                for root in one.roots:
                    made._holding[root].append(number)
        return made

    def _telling(self, said: frozenset[str]) -> list[str]:
        """The words to look by: what very many sentences hold says little and takes long, so it
        counts only where nothing rarer is there."""
        known = sorted(
            (root for root in said if root in self._holding),
            key=lambda r: (len(self._holding[r]), r),
        )
        rare = [root for root in known if len(self._holding[root]) <= _COMMON]
        return rare or known[:_FEW]

    def words(self, passage: Passage) -> frozenset[str]:
        """The words of a whole passage."""
        return self._words.get(passage.id, frozenset())

    def beside(self, one: Sentence) -> list[Sentence]:
        """The sentences around one, of the same passage."""
        place = bisect_left(self.all, self._place(one), key=self._place)
        near = self.all[max(0, place - _BESIDE) : place + _BESIDE + 1]
        return [other for other in near if other.passage.id == one.passage.id and other != one]

    def _place(self, one: Sentence) -> tuple[int, int]:
        return self._order[one.passage.id], one.start

    def nearest(self, said: frozenset[str], within: Sequence[Passage] = ()) -> Sentence | None:
        """The sentence that shares most with what is said, a rare word counting more; only of the
        passages named, where some are."""
        return next(iter(self.near(said, within, 1)), None)

    def near(
        self, said: frozenset[str], within: Sequence[Passage] = (), most: int = 1
    ) -> list[Sentence]:
        """The sentences that share most with what is said, the nearest first."""
        ids = {passage.id for passage in within}
        near: dict[int, float] = defaultdict(float)
        for root in self._telling(said):
            holding = self._holding[root]
            for number in holding:
                near[number] += 1 / len(holding)
        allowed = [n for n in near if not ids or self.all[n].passage.id in ids]
        best = nlargest(most, allowed, key=lambda n: (near[n], -len(self.all[n].roots ^ said), -n))
        return [self.all[n] for n in best]
