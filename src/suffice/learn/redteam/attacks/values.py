"""Attacks on values: edits of one value or name in a true statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from suffice.learn.redteam.case import Case, cited, draft_trial
from suffice.learn.redteam.edits import Edit, date_edits, number_edits, respelled, unit_edits
from suffice.learn.redteam.material import Fact, Material
from suffice.text.literals import LiteralKind
from suffice.text.words import content_words
from suffice.types import Passage

Edits = Callable[[Fact, Random], Iterator[Edit]]
_BESIDE = 2


@dataclass(frozen=True, slots=True)
class ValueEdit:
    """A draft with a value that differs from its source; the twin has the right value."""

    name: str
    edits: Edits
    correct: str = "does not serve a value that differs from the source"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for fact in material.shuffled(self.name):
            if edit := next(self.edits(fact, random), None):
                yield edited_case(self.name, fact, edit, evidence(material, random, fact))


@dataclass(frozen=True, slots=True)
class RoleEdit:
    """A draft that says about one name what the source says about another."""

    name: str = "role"
    correct: str = "does not serve a statement about the wrong person, team or product"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for fact in material.shuffled(self.name):
            if edit := _renamed(material, random, fact):
                yield edited_case(self.name, fact, edit, (fact.passage,))


def evidence(material: Material, random: Random, fact: Fact) -> tuple[Passage, ...]:
    """The passage of a fact, and some passages from other documents."""
    return fact.passage, *material.distractors(random, fact.passage, _BESIDE)


def edited_case(attack: str, fact: Fact, edit: Edit, passages: tuple[Passage, ...]) -> Case:
    """The edited statement; the twin is the true one, with values respelled where possible."""
    twin = next(respelled(fact), None)
    return Case(
        attack,
        f"“{edit.old}” became “{edit.new}”",
        fact.passage.document,
        draft_trial(cited(edit.text, 1), passages),
        draft_trial(cited(twin.text if twin else fact.text, 1), passages, serve=True),
    )


def _renamed(material: Material, random: Random, fact: Fact) -> Edit | None:
    """The fact with one of its names replaced by a name that its passage does not contain."""
    names = [one for one in fact.literals if one.kind is LiteralKind.NAME]
    here = fact.passage
    known = set(content_words(" ".join((here.title, *here.heading, here.text))))
    others = [
        literal.text
        for other in random.sample(material.facts, min(40, len(material.facts)))
        for literal in other.literals
        if literal.kind is LiteralKind.NAME and not known & set(content_words(literal.text))
    ]
    if not names or not others:
        return None
    old, new = random.choice(names), random.choice(others)
    return Edit(fact.text[: old.start] + new + fact.text[old.end :], old.text, new)


NUMBER = ValueEdit("number", number_edits)
DATE = ValueEdit("date", date_edits)
UNIT = ValueEdit("unit", unit_edits)
