"""Finds parts of a question that the evidence does not cover, such as "a figure for 2025".

Rare words and names are compared by stems and synonyms, and dates by value. The expected kind of
answer is missing if no passage on the topic contains such a figure. The phrases complete the
sentence "Not covered by the documents: …".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from suffice.text.literals import Literal, literals
from suffice.text.literals.same import same_day
from suffice.text.question import KINDS, Answer, Expected, expected
from suffice.text.words import (
    STOP_WORDS,
    Synonyms,
    content_words,
    folded,
    stem,
    stem_rarity,
    stems,
    without_accents,
)
from suffice.types import Evidence, Exclusion, GateDecision, Passage

_MOST = 3
_COMPOUND = 6
_BESIDE = 40
_RARE = 1.0
_NAMED = 0.5

_WORD = re.compile(r"[^\W\d_](?:[&/.+-]*\w)+")
_NAME = re.compile(r"[A-Z][\w-]{0,60}(?: (?:(?:of|and|the|for) )*[A-Z][\w-]{0,60})+")


@dataclass(frozen=True)
class _Read:
    """A passage with derived forms, each computed once."""

    passage: Passage

    @cached_property
    def text(self) -> str:
        p = self.passage
        return without_accents("\n".join((p.title, *p.heading, p.text, p.summary)))

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.text)

    @cached_property
    def squeezed(self) -> str:
        """Letters and digits in lower case, so that "Port Harcourt" matches "portharcourt"."""
        return re.sub(r"[\W_]+", "", self.text.lower())

    @cached_property
    def initials(self) -> str:
        """The initials of each name on a line, so that "European Union" matches "EU"."""
        names = (re.findall(r"\b[A-Z]", name) for name in _NAME.findall(self.text))
        return "\n".join("".join(name).lower() for name in names)

    @cached_property
    def literals(self) -> Sequence[Literal]:
        return literals(self.text)


def missing_aspects(evidence: Evidence, synonyms: Synonyms | None = None) -> tuple[str, ...]:
    """At most three short phrases in the words of the question; empty if everything is covered."""
    return _compared(evidence, synonyms or Synonyms.read()).phrases()


def missing_dates(evidence: Evidence) -> tuple[str, ...]:
    """The dates in the question that no passage covers. They are compared exactly, so they are
    reported even if the evidence was judged sufficient."""
    return tuple(_compared(evidence, Synonyms()).dates_not_covered())


def _compared(evidence: Evidence, synonyms: Synonyms) -> _Missing:
    return _Missing(evidence.question, synonyms, tuple(map(_Read, evidence.passages)))


@dataclass(frozen=True)
class _Missing:
    """Compares a question with its evidence."""

    question: str
    synonyms: Synonyms
    read: tuple[_Read, ...]

    def phrases(self) -> tuple[str, ...]:
        found = self._unheld() + self.dates_not_covered()
        return tuple(dict.fromkeys(found or self._answer()))[:_MOST]

    @cached_property
    def expected(self) -> Expected | None:
        return expected(self.question)

    @cached_property
    def dates(self) -> list[Literal]:
        """The dates in the question that include a year."""
        found = literals(self.question)
        return [one for one in found if one.day and one.day.year and not one.day.decade]

    @cached_property
    def topics(self) -> list[re.Match[str]]:
        """The words of the question that are rare or names."""
        found = (one for one in _WORD.finditer(self.question) if one[0].lower() not in STOP_WORDS)
        return [one for one in found if _tells(one) and not self._dated(one)]

    def _dated(self, word: re.Match[str]) -> bool:
        return any(date.start <= word.start() < date.end for date in self.dates)

    def _unheld(self) -> list[str]:
        """The topics that no passage contains. Adjacent words form a phrase."""
        runs: list[tuple[int, int]] = []
        for word in self.topics:
            if any(self._holds(one, word[0]) for one in self.read):
                continue
            if runs and self.question[runs[-1][1] : word.start()] == " ":
                runs[-1] = runs[-1][0], word.end()
            else:
                runs.append(word.span())
        return [self.question[slice(*run)] for run in runs]

    def _holds(self, one: _Read, word: str) -> bool:
        """Whether a passage contains a word, a synonym, or the name it abbreviates."""
        plain = without_accents(word)
        if any(stems(other) <= one.stems for other in (plain, *self._synonyms(word.lower()))):
            return True
        if len(plain) >= _COMPOUND and plain.lower() in one.squeezed:
            return True
        return word.isupper() and plain.lower() in one.initials

    def _synonyms(self, word: str) -> tuple[str, ...]:
        """The synonyms of a word, and of phrases in the question that contain it."""
        asked = self.question.lower()
        phrases = (name for group in self.synonyms.groups for name in group if word in name.split())
        others = (self.synonyms.of(name) for name in (word, *phrases) if name in asked)
        return tuple(other for some in others for other in some)

    def dates_not_covered(self) -> list[str]:
        """The dates that no passage mentions, and on which none is known to have been in force."""
        wants = self.expected
        figure = "" if wants is None or wants.answer is Answer.DATE else "a figure for "
        return [
            f"{figure}{one.text}"
            for one in self.dates
            if not any(_dated(one, r) for r in self.read)
        ]

    def _answer(self) -> list[str]:
        """The kind of figure the question asks for, if no passage on the topic contains it."""
        wants, words = self.expected, content_words(self.question)
        near = [
            one
            for one in self.read
            if 2 * sum(self._holds(one, word) for word in words) >= len(words)
        ]
        if wants is None or not near or any(_answers(wants, one) for one in near):
            return []
        return [f"the number of {wants.of}" if wants.of else f"the {wants.answer.value}"]


def _tells(word: re.Match[str]) -> bool:
    """Whether a word of the question is rare, or a name: capitalised and not the first word."""
    rare = max(map(stem_rarity, folded(word[0])), default=0.0)
    name = bool(word.start()) and any(char.isupper() for char in word[0])
    return rare >= (_NAMED if name else _RARE)


def _dated(asked: Literal, one: _Read) -> bool:
    day = asked.day
    if day is None or day.year is None:
        return True
    known = [found for found in one.literals if found.day and found.day.year]
    if any(found.day and same_day(day, found.day) for found in known) or _within(day.year, known):
        return True
    start = one.passage.since or one.passage.effective
    end = one.passage.until or one.passage.expires
    return start is not None and start.year <= day.year <= (end.year if end else day.year)


def _within(year: int, known: Sequence[Literal]) -> bool:
    """Whether a year lies between two dates, or after a starting date such as "on or after 11
    September 2001"."""
    years = [(one.day.year or 0, one.comparator.direction) for one in known if one.day]
    before = [direction for first, direction in years if first < year]
    after = [direction for last, direction in years if last > year]
    return bool(before and after) or max(before, default=0) > 0 or min(after, default=0) < 0


def _answers(wants: Expected, one: _Read) -> bool:
    """Whether a passage contains a figure of the expected kind that counts the expected thing."""
    figures = [found for found in one.literals if found.kind in KINDS[wants.answer]]
    return any(not wants.of or _counts(found, wants.of, one.text) for found in figures)


def _counts(found: Literal, counted: str, text: str) -> bool:
    """Whether a number counts the given thing: "3 employees", "employees: 3"."""
    after = (stem(word.strip(".,;:?!)")) for word in text[found.end :][:_BESIDE].split()[:3])
    words = {*after, *(found.nouns or found.about)}
    return stem(counted.split()[-1]) in words


_FEW_WORDS = 2


def next_steps(
    decision: GateDecision, evidence: Evidence, contact: str = "", stale: Sequence[Exclusion] = ()
) -> tuple[str, ...]:
    """Suggestions for the reader, most helpful first. `stale` holds passages excluded by date."""
    near = _nearest(evidence)
    question = evidence.question
    steps = [_rephrase(decision, question), _context(question), _other_time(stale)]
    if near:
        steps.append(f"Check {_named(near)}, the nearest document.")
    steps.append(_ask(contact, near))
    return tuple(step for step in steps if step)


def _rephrase(decision: GateDecision, question: str) -> str:
    # Only the reader's own words can be rephrased. "a figure for 2025" is our wording.
    own = [phrase for phrase in decision.missing if phrase.lower() in question.lower()]
    if own:
        return f"Try other words for {_listed(own)}; the documents may use a different term."
    return "Rephrase the question."


def _context(question: str) -> str:
    if len(content_words(question)) > _FEW_WORDS:
        return ""
    return "Add context: which document, place, group of people or time you mean."


def _other_time(stale: Sequence[Exclusion]) -> str:
    """A hint for readers who meant an excluded version."""
    for p in (one.passage for one in stale):
        if p.since or p.until or p.expires or p.effective:
            label = f", version {p.declared}" if p.declared else ""
            name = f"{p.title or p.document}{label}"
            return f"To ask about {name}, add a date, for example “in 2024”."
    return ""


def _nearest(evidence: Evidence) -> Passage | None:
    return evidence.passages[0] if evidence.passages else None


def _named(passage: Passage) -> str:
    titled = passage.title and passage.title != passage.document
    return f"{passage.title} ({passage.document})" if titled else passage.document


def _ask(contact: str, near: Passage | None) -> str:
    if contact:
        return f"Ask {contact}."
    return f"Ask the owner of {near.title or near.document}." if near else ""


def _listed(names: list[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
