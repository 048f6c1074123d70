"""Attacks on meaning: statements whose words are in the documents but whose meaning is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from suffice.learn.redteam.attacks.values import edited_case, evidence
from suffice.learn.redteam.case import STOPPED, Case, cited, draft_trial
from suffice.learn.redteam.edits import Edit, negated, outer_condition, without
from suffice.learn.redteam.material import PRONOUNS, Fact, Material, facts
from suffice.text.conditions import Condition
from suffice.text.words import content_words
from suffice.types import Action

_LEAST_WORDS = 4
"""The minimum number of content words that make a predicate specific."""
_LEAST_NEW = 2
"""The minimum number of new content words that make a condition different."""
_POINTS = re.compile(
    r"\b(?:this|that|these|those|such|same|here|another|other|next|previous|following|above|below)\b",
    re.IGNORECASE,
)
"""A subject that points to the text around it names nothing elsewhere: "The next step is …"."""


@dataclass(frozen=True, slots=True)
class Negation:
    """A draft that negates its source by adding "not"."""

    name: str = "negation"
    correct: str = "does not serve the opposite of what the source says"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for fact in material.shuffled(self.name):
            if edit := negated(fact):
                yield edited_case(self.name, fact, edit, evidence(material, random, fact))


@dataclass(frozen=True, slots=True)
class DroppedCondition:
    """A draft that leaves out the condition under which its source makes a statement."""

    name: str = "dropped-condition"
    correct: str = "does not serve the statement, or serves it with the condition in a note"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for fact in material.shuffled(self.name):
            one = outer_condition(fact)
            left = list(facts(replace(fact.passage, text=without(fact, one)))) if one else []
            if one is None or not any(rest.clear for rest in left):
                continue
            case = edited_case(
                self.name,
                fact,
                Edit(without(fact, one), one.text, ""),
                evidence(material, random, fact),
            )
            hostile = replace(
                case.hostile,
                right=STOPPED | {Action.CAVEAT},
                disclosed=one.text.strip(),
            )
            yield replace(case, what=f"left out: “{one.text}”", hostile=hostile)


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """The documents state a rule for conditions A and B; the draft states it for C."""

    name: str = "extrapolation"
    correct: str = "does not extend a rule to a condition that the documents do not give"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        found = [
            (fact, one) for fact in material.shuffled(self.name) if (one := outer_condition(fact))
        ]
        for place, (fact, one) in enumerate(found):
            others = found[place + 1 :] + found[:place]
            new = next((two for other, two in others if _foreign(fact, one, other, two)), None)
            if new is not None:
                text = fact.text[: one.start] + new.text + fact.text[one.end :]
                edit = Edit(text, one.text, new.text)
                yield edited_case(self.name, fact, edit, evidence(material, random, fact))


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A draft that combines two documents: the subject of one, the predicate of the other."""

    name: str = "synthesis"
    correct: str = "does not serve a statement that neither document makes"

    def cases(self, material: Material) -> Iterator[Case]:
        ordered = [fact for fact in material.shuffled(self.name) if _combines(fact)]
        for place, fact in enumerate(ordered):
            other = next((one for one in ordered[place + 1 :] if _apart(fact, one)), None)
            if other is None:
                continue
            passages = (fact.passage, other.passage)
            mixed = f"{fact.subject} {fact.auxiliary} {other.predicate}."
            mixed = mixed[0].upper() + mixed[1:]
            both = f"{cited(fact.text, 1)} {cited(other.text, 2)}"
            yield Case(
                self.name,
                f"“{fact.subject}” from one document, the rest from another",
                fact.passage.document,
                draft_trial(cited(mixed, 1, 2), passages),
                draft_trial(both, passages, serve=True),
            )


def _foreign(fact: Fact, one: Condition, other: Fact, two: Condition) -> bool:
    """Whether the condition of another document can replace the fact's own, and does not occur in
    the fact's passage."""
    known = set(content_words(fact.passage.text))
    return (
        other.passage.document != fact.passage.document
        and (one.start == 0) == (two.start == 0)
        and len(set(content_words(two.text)) - known) >= _LEAST_NEW
        and len(content_words(one.text)) >= _LEAST_NEW
    )


def _combines(fact: Fact) -> bool:
    """Whether subject and predicate of a fact both say something specific."""
    spoken = fact.subject.lower() in PRONOUNS or fact.framed or _POINTS.search(fact.subject)
    return (
        bool(fact.auxiliary)
        and not spoken
        and bool(content_words(fact.subject))
        and len(content_words(fact.predicate)) >= _LEAST_WORDS
    )


def _apart(fact: Fact, other: Fact) -> bool:
    """Whether two facts are about different things in different documents, with the same verb."""
    subject = set(content_words(fact.subject))
    about = " ".join((other.passage.title, *other.passage.heading, other.passage.text))
    return (
        fact.passage.document != other.passage.document
        and fact.auxiliary == other.auxiliary
        and not subject & set(content_words(about))
    )
