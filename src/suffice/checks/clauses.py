"""A claim beside the clauses of its source that speak of the same: what it has from one of them and
says of another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from suffice.checks.aligned import Sentence, roots
from suffice.text.exchanges import forbidden, loosened, other_kind, plain, put_in, rarer
from suffice.text.facts import facts
from suffice.text.facts.clauses import subject
from suffice.text.senses import MEASURING, Turn, Words
from suffice.text.statements import leans

_SAME = 0.6
"""A clause speaks of the same as a claim where it holds so much of its words."""
_ALIGNED = 0.8
_TOLD = 2
_ONLY = re.compile(r"\b(?:only|exclusively|solely)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|never|cannot|no|nor)\b|n['’]t\b", re.IGNORECASE)
_POINTING = frozenset(("following", "follows", "below"))


@lru_cache(maxsize=16_384)
def root_of(word: str) -> str:
    """A word as `Words` compares it."""
    return "" if word in MEASURING or word in _POINTING else next(iter(roots(word)), "")


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement within a sentence that has a subject of its own."""

    sentence: Sentence
    text: str
    roots: frozenset[str]
    subject: str

    @property
    def of(self) -> frozenset[str]:
        """What it speaks of."""
        return roots(self.subject)

    @property
    def words(self) -> Words:
        return Words.of(self.text, root_of)


@dataclass(frozen=True, slots=True)
class Clauses:
    """A claim and the clauses near to it, as they stand in the source."""

    said: Words
    roots: frozenset[str]
    of: frozenset[str]
    """What the claim speaks of."""
    all: tuple[Clause, ...]

    @classmethod
    def of_claim(cls, said: str, near: Sequence[Sentence]) -> Clauses:
        told = plain(said)
        found = tuple(clause for sentence in near for clause in _clauses(sentence))
        return cls(Words.of(told, root_of), roots(told), roots(subject(told)), found)

    def turn(self) -> tuple[Turn, Sentence] | None:
        """What the claim exchanges, the surest first, and where its source says otherwise."""
        rules = (self._forbidden, self._kinds, self._rarer, self._loosened, self._neighbour)
        found = (one for rule in (*rules, self._put_in) for one in rule())
        return next(((turn, clause.sentence) for turn, clause in found), None)

    def _share(self, clause: Clause) -> float:
        return len(self.roots & clause.roots) / len(self.roots) if self.roots else 0.0

    def _forbidden(self) -> Iterator[tuple[Turn, Clause]]:
        affirmed = any(
            self.of <= one.roots and self._share(one) >= _SAME and not _DENIES.search(one.text)
            for one in self.all
        )
        for one in self.all:
            if self.of and not affirmed and (turn := forbidden(self.said, one.words)):
                yield turn, one

    def _kinds(self) -> Iterator[tuple[Turn, Clause]]:
        for one in self.all:
            if turn := other_kind(self.said, one.words):
                yield turn, one

    def _rarer(self) -> Iterator[tuple[Turn, Clause]]:
        """How often, as the clause has it that speaks most of the same."""
        near = max(self.all, key=self._share, default=None)
        if near and self._share(near) >= _SAME and (turn := rarer(self.said, near.words)):
            yield turn, near

    def _loosened(self) -> Iterator[tuple[Turn, Clause]]:
        for one in self.all:
            if self._share(one) >= _ALIGNED and (turn := loosened(self.said, one.words)):
                yield turn, one

    def _neighbour(self) -> Iterator[tuple[Turn, Clause]]:
        """What one clause says of its subject, said of the subject of one beside it that is built
        alike: "Managers approve travel. Directors approve hiring." """
        told = self.roots - self.of
        if not self.of or len(told) < _TOLD or any(self.roots <= one.roots for one in self.all):
            return
        of_mine = [one for one in self.all if self.of <= one.of]
        alike = any(told & one.roots for one in of_mine)
        apart = any(_ONLY.search(one.text) for one in of_mine)
        for one in self.all:
            if not one.of or not told <= one.roots or self.of <= one.roots:
                continue
            other = self._other_kind(one) or not (self.of & one.roots or one.of & self.roots)
            if (alike and other) or (apart and self.of > one.of):
                yield Turn(f"it is said of “{one.subject}” in the source", contrary=False), one

    def _other_kind(self, one: Clause) -> bool:
        """ "Private customers" and "business customers": the same noun, told apart before it."""
        shared = self.of & one.of
        return bool(shared and one.of - self.roots) and _last(one.subject) in shared

    def _put_in(self) -> Iterator[tuple[Turn, Clause]]:
        if any(self.roots <= one.sentence.roots for one in self.all):
            return
        for one in self.all:
            if turn := put_in(self.said, one.words, self._foreign):
                yield turn, one

    def _foreign(self, part: Collection[str]) -> bool:
        """Whether the source has these words, and never of what the claim speaks of."""
        holding = {one.sentence for one in self.all if one.sentence.roots.issuperset(part)}
        return bool(holding) and not any(one.roots & self.of or leans(one.text) for one in holding)


def _clauses(sentence: Sentence) -> list[Clause]:
    if "|" in sentence.text:
        return []
    return [Clause(sentence, text, roots(text), subject(text)) for text in _split(sentence.whole)]


@lru_cache(maxsize=4_096)
def _split(sentence: str) -> tuple[str, ...]:
    found = tuple(fact.text for fact in facts(sentence))
    return found or (sentence,)


def _last(name: str) -> str:
    """The word that a name ends in."""
    found = [root for word in name.split() if (root := root_of(word.lower()))]
    return found[-1] if found else ""
