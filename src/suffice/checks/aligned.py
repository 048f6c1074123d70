"""Finds the sentence in the evidence that a claim most likely comes from, by shared words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from suffice.text.sentences import sentences
from suffice.text.stems import stem
from suffice.text.words import content_words
from suffice.types import Passage

_COMMON = 200
_FEW = 2
_DIGITS = re.compile(r"\d+")


def roots(text: str) -> frozenset[str]:
    """The stems of a text's content words, and its digit sequences."""
    return frozenset((*map(stem, content_words(text)), *_DIGITS.findall(text)))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage: `passage.text[start:end] == text`."""

    passage: Passage
    start: int
    end: int
    roots: frozenset[str]

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Sentences:
    """All sentences of the evidence, indexed by their words."""

    all: list[Sentence] = field(default_factory=list)
    _words: dict[str, frozenset[str]] = field(default_factory=dict)
    _holding: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Sentences:
        made = cls()
        for passage in passages:
            made._words[passage.id] = roots(passage.text)
            for start, end in sentences(passage.text):
                number = len(made.all)
                one = Sentence(passage, start, end, roots(passage.text[start:end]))
                made.all.append(one)
                for root in one.roots:
                    made._holding[root].append(number)
        return made

    def _telling(self, roots: frozenset[str]) -> list[str]:
        """The words to search by. Very common words are slow and tell little, so they are used only
        if there is no rarer word."""
        known = sorted(
            (root for root in roots if root in self._holding),
            key=lambda r: (len(self._holding[r]), r),
        )
        rare = [root for root in known if len(self._holding[root]) <= _COMMON]
        return rare or known[:_FEW]

    def words(self, passage: Passage) -> frozenset[str]:
        """The words of a whole passage."""
        return self._words.get(passage.id, frozenset())

    def nearest(self, roots: frozenset[str], within: Sequence[Passage] = ()) -> Sentence | None:
        """The sentence that shares the most words with `roots`, weighted by rarity. With `within`,
        only those passages are searched."""
        ids = {passage.id for passage in within}
        near: dict[int, float] = defaultdict(float)
        for root in self._telling(roots):
            holding = self._holding[root]
            for number in holding:
                near[number] += 1 / len(holding)
        allowed = [n for n in near if not ids or self.all[n].passage.id in ids]
        best = max(
            allowed, key=lambda n: (near[n], -len(self.all[n].roots ^ roots), -n), default=None
        )
        return None if best is None else self.all[best]
