"""A claim beside the clauses of its source that speak of the same: what it has from one of them and
says of another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from suffice.checks.aligned import Sentence, roots
from suffice.text.exchanges import forbidden, loosened, opened_up, other_kind, plain, put_in, rarer
from suffice.text.facts import facts
from suffice.text.facts.clauses import Shape, subject, tokens, verb_group
from suffice.text.facts.verbs import BE, HAVE, Form, base, form
from suffice.text.literals import QUANTITIES, Literal, comparable, literals, same_amount
from suffice.text.senses import MEASURING, MUTUAL, Turn, Words, roles
from suffice.text.statements import leans

_SAME = 0.6
"""A clause speaks of the same as a claim where it holds so much of its words."""
_ALIGNED = 0.8
_TOLD = 2
_ONLY = re.compile(r"\b(?:only|exclusively|solely)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|never|cannot|no|nor)\b|n['’]t\b", re.IGNORECASE)
_JOINT = re.compile(r"[,;] (?:(?:and|but|while|whereas) )?")
_TOLD_OF = frozenset("was were had has have did would could might".split())
_NOW = frozenset(("is", "are"))
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
        first = (self._forbidden, self._kinds, self._rarer, self._loosened, self._revalued)
        rules = (*first, self._neighbour, self._put_in, self._done_by)
        found = (one for rule in rules for one in rule())
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
            if turn := other_kind(self.said, one.words) or opened_up(self.said, one.words):
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
            verb = root_of(_done(one.text))
            if (verb and verb not in told) or self._denies(one):
                continue
            strange = alike and not (self.of & one.roots or one.of & self.roots)
            if strange or (apart and self.of > one.of) or (of_mine and self._other_kind(one)):
                yield Turn(f"it is said of “{one.subject}” in the source", contrary=False), one

    def _revalued(self) -> Iterator[tuple[Turn, Clause]]:
        """The value that another clause has, where one of the same subject and verb has its own."""
        verb, values = _verb(self.said.text), _values(self.said.text)
        if not self.of or not verb or len(values) != 1:
            return
        mine = values[0]
        having = [one for one in self.all if any(same_amount(mine, v) for v in _values(one.text))]
        same = [one for one in self.all if one.of == self.of and _verb(one.text) == verb]
        theirs = [(v, one) for one in same for v in _values(one.text) if comparable(mine, v)]
        if having and not set(having) & set(same) and len(theirs) == 1 and not theirs[0][0].pair:
            value, one = theirs[0]
            yield Turn(f"“{mine.text}” is “{value.text}” in the source"), one

    def _done_by(self) -> Iterator[tuple[Turn, Clause]]:
        """What one does, said of another who does something else."""
        mine = roles(self.said) if _rules(self.said.text) else None
        if mine is None or any(self.roots <= one.sentence.roots for one in self.all):
            return
        doer, verb, target = mine
        if verb in MUTUAL | BE | HAVE:
            return
        for one in self.all:
            theirs = roles(one.words)
            if theirs is None or theirs[1] != verb or not target or not target <= theirs[2]:
                continue
            if not one.subject or not _rules(one.text):
                continue
            apart = doer - theirs[0], theirs[0] - doer
            elsewhere = [clause for clause in self.all if apart[0] <= clause.roots]
            strange = not any(c.roots & target or leans(c.sentence.text) for c in elsewhere)
            if all(apart) and elsewhere and strange and not doer & theirs[2]:
                yield Turn(f"it is said of “{one.subject}” in the source", contrary=False), one

    def _denies(self, one: Clause) -> bool:
        """Whether one of both denies something, and the other does not."""
        return bool(_DENIES.search(one.text)) is not bool(_DENIES.search(self.said.text))

    def _other_kind(self, one: Clause) -> bool:
        """ "Private customers" and "business customers": the same noun, told apart before it."""
        shared = self.of & one.of
        told = bool(shared and one.of - self.roots) and _last(one.subject) in shared
        return told and _rules(self.said.text) and _rules(one.text)

    def _put_in(self) -> Iterator[tuple[Turn, Clause]]:
        if any(self.roots <= one.sentence.roots for one in self.all):
            return
        for one in self.all if _rules(self.said.text) else ():
            if turn := put_in(self.said, one.words, self._foreign):
                yield turn, one

    def _foreign(self, part: Collection[str]) -> bool:
        """Whether the source has these words, and never of what the claim speaks of."""
        holding = [one for one in self.all if one.roots.issuperset(part)]
        return bool(holding) and not any(self._tied(one) for one in holding)

    def _tied(self, one: Clause) -> bool:
        """Whether a clause speaks of what the claim does, or may do so."""
        if not one.of or leans(one.sentence.text):
            return True
        if one.of <= self.of or self.of <= one.of:
            return True
        return bool(self.of & (one.roots - one.of))


def _clauses(sentence: Sentence) -> list[Clause]:
    if "|" in sentence.text:
        return []
    return [Clause(sentence, text, roots(text), subject(text)) for text in _split(sentence.whole)]


@lru_cache(maxsize=4_096)
def _values(text: str) -> tuple[Literal, ...]:
    return tuple(one for one in literals(text) if one.kind in QUANTITIES and one.unit)


@lru_cache(maxsize=4_096)
def _done(text: str) -> str:
    """The verb of a clause as it is written, "" where none is clear or it says nothing itself."""
    words = tokens(text)
    group = verb_group(words) if words else None
    if words is None or group is None or group.negated or words[group.last].low in BE | HAVE:
        return ""
    return words[group.last].low


def _verb(text: str) -> str:
    return base(_done(text))


@lru_cache(maxsize=4_096)
def _rules(text: str) -> bool:
    """Whether a clause lays down what holds. A story calls one and the same by many names; who does
    what in a rule is called by one."""
    words = tokens(text)
    group = verb_group(words) if words else None
    if words is None or group is None:
        return False
    first, last = words[group.first].low, words[group.last].low
    told = first in _TOLD_OF or (group.first == group.last and form(last) & Form.PAST)
    return (not told and last not in BE | HAVE) or (group.shape is Shape.BE and first in _NOW)


@lru_cache(maxsize=4_096)
def _split(sentence: str) -> tuple[str, ...]:
    found = tuple(fact.text for fact in facts(sentence)) or (sentence,)
    return tuple(part for text in found for part in _apart(text))


def _apart(text: str) -> list[str]:
    """ "One is free, the other is not": what a comma parts, where each has a subject and a verb."""
    parts = _JOINT.split(text)
    return parts if len(parts) > 1 and all(map(subject, parts)) else [text]


def _last(name: str) -> str:
    """The word that a name ends in."""
    found = [root for word in name.split() if (root := root_of(word.lower()))]
    return found[-1] if found else ""
