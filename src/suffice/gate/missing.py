"""The parts of a question that the evidence does not cover: "contractors", "a figure for 2025".

Each part of the question is compared with the evidence: topics by word stems and synonyms, dates as
values, and the expected kind of answer by whether a passage on the topic contains such a figure.
With an embedder, paraphrased topics are recognised too. The phrases complete the sentence
"Not covered by the documents: …".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product

from suffice.evidence.keywords import stems
from suffice.models.embedder import Embedder
from suffice.text.expected import KINDS, Answer, Expected, expected
from suffice.text.literals import Literal, literals
from suffice.text.literals.same import same_day
from suffice.text.question import Part, asking, parts
from suffice.text.sentences import sentences
from suffice.text.stems import stem
from suffice.text.synonyms import Synonyms
from suffice.text.words import without_accents
from suffice.types import Evidence, Passage

_MOST = 3
_COMPOUND = 6
_BESIDE = 40
# Chosen on questions with evidence that answers them and evidence that does not. A paraphrased
# topic has a similar phrase in the evidence. Removing a topic from the question lowers the
# similarity to the answer if the answer covers it, and raises it if not; this is informative only
# if the question is close to some sentence at all.
_ALIKE = 0.65
_NEARER = 0.05
_FURTHER = -0.06
_CLOSE = 0.4

_JOINED = re.compile(r" of (?:the |an? )?")
_NAME = re.compile(r"[A-Z][\w-]*(?: (?:(?:of|and|the|for) )*[A-Z][\w-]*)+")


@dataclass(frozen=True)
class _Read:
    """A passage with its derived forms, each computed once."""

    passage: Passage

    @cached_property
    def text(self) -> str:
        p = self.passage
        return without_accents("\n".join((p.title, *p.heading, p.text, p.summary)))

    @cached_property
    def lines(self) -> tuple[_Read, ...]:
        """The title, and each sentence under its headings."""
        p = self.passage
        titled = replace(p, text="", heading=(), summary="")
        texts = (p.text[start:end] for start, end in sentences(p.text))
        return (_Read(titled), *(_Read(replace(p, text=text, title="")) for text in texts))

    @cached_property
    def stems(self) -> frozenset[int]:
        return stems(self.text)

    @cached_property
    def squeezed(self) -> str:
        """The text without spaces and hyphens, so that "Port Harcourt" matches "portharcourt"."""
        return re.sub(r"[\W_]+", "", self.text.lower())

    @cached_property
    def initials(self) -> frozenset[str]:
        """Initials of its names, so that "European Union" matches "EU"."""
        runs = ("".join(re.findall(r"\b[A-Z]", name)).lower() for name in _NAME.findall(self.text))
        return frozenset(
            letters[start:end]
            for letters in runs
            for start in range(len(letters))
            for end in range(start + 2, len(letters) + 1)
        )

    @cached_property
    def literals(self) -> Sequence[Literal]:
        return literals(self.text)


def missing_aspects(
    evidence: Evidence, embedder: Embedder | None = None, synonyms: Synonyms | None = None
) -> tuple[str, ...]:
    """At most three short phrases in the question's own words; empty if everything is covered."""
    return _compared(evidence, embedder, synonyms or Synonyms.read()).phrases()


def missing_dates(evidence: Evidence) -> tuple[str, ...]:
    """The dates of the question that no passage covers: values that are compared exactly, so they
    are named even beside evidence that was judged sufficient."""
    return tuple(_compared(evidence, None, Synonyms()).dates_not_covered())


def _compared(evidence: Evidence, embedder: Embedder | None, synonyms: Synonyms) -> _Missing:
    return _Missing(evidence, embedder, synonyms, tuple(map(_Read, evidence.passages)))


@dataclass(frozen=True)
class _Missing:
    """The comparison of one question with its evidence."""

    evidence: Evidence
    embedder: Embedder | None
    synonyms: Synonyms
    read: tuple[_Read, ...]

    def phrases(self) -> tuple[str, ...]:
        found = self._named(self._unheld())
        found += self.dates_not_covered()
        found = found or self._answer() or self._together()
        return tuple(dict.fromkeys(found))[:_MOST]

    @cached_property
    def question(self) -> str:
        return self.evidence.question

    @cached_property
    def expected(self) -> Expected | None:
        return expected(self.question)

    @cached_property
    def dates(self) -> list[Literal]:
        """The dates in the question that include a year."""
        found = literals(self.question)
        return [one for one in found if one.day and one.day.year and not one.day.decade]

    @cached_property
    def parts(self) -> list[Part]:
        """The topics of the question, without dates."""
        return [
            part
            for part in parts(self.question)
            if part.telling and not any(d.start <= part.start < d.end for d in self.dates)
        ]

    def _unheld(self) -> list[Part]:
        unheld = [p for p in self.parts if not any(self._holds(one, p) for one in self.read)]
        if unheld and self.embedder and self.read:
            return self._in_no_other_words(unheld, self.embedder)
        return unheld

    def _in_no_other_words(self, unheld: Sequence[Part], embedder: Embedder) -> list[Part]:
        """The parts that the evidence does not paraphrase either."""
        passages, question = self.evidence.passages, self.question
        texts = [p.text[start:end] for p in passages for start, end in sentences(p.text)]
        if not texts:
            return list(unheld)
        strange = {part: self._strange(part) for part in unheld}
        without = [
            question[: part.start] + _less(part, strange[part]) + question[part.end :]
            for part in unheld
        ]
        asked = embedder.embed([question, *without])
        nearness = (embedder.embed(texts) @ asked.T).max(axis=0)
        gains = [float(near - nearness[0]) for near in nearness[1:]]
        needed = _FURTHER if nearness[0] >= _CLOSE else float("-inf")
        left = [(part, gain) for part, gain in zip(unheld, gains, strict=True) if gain > needed]
        phrases = sorted({part.text for text in texts for part in parts(text)})
        if not left or not phrases:
            return [part for part, _ in left]
        named = embedder.embed([" ".join(strange[part]) for part, _ in left])
        likeness = (embedder.embed(phrases) @ named.T).max(axis=0)
        return [
            part
            for (part, gain), alike in zip(left, likeness, strict=True)
            if alike < _ALIKE or gain >= _NEARER
        ]

    def _strange(self, part: Part) -> list[str]:
        """The words of a part that no passage contains: "hepatitis" of "hepatitis vaccination" if
        the evidence covers another vaccination."""
        words = [
            word
            for word in part.telling
            if not any(self._holds_word(one, word, part) for one in self.read)
        ]
        return words if 0 < len(words) < len(part.telling) else part.text.split()

    def _holds(self, one: _Read, part: Part) -> bool:
        """Whether a passage covers this part, in its own words or in synonyms."""
        whole = self.synonyms.of(" ".join(part.words))
        if any(stems(other) <= one.stems for other in whole):
            return True
        return all(self._holds_word(one, word, part) for word in part.telling)

    def _holds_word(self, one: _Read, word: str, part: Part) -> bool:
        plain = without_accents(word)
        if any(stems(other) <= one.stems for other in (plain, *self.synonyms.of(word))):
            return True
        if len(plain) >= _COMPOUND and plain in one.squeezed:
            return True
        return word.upper() in part.text.split() and plain in one.initials

    def _named(self, unheld: Sequence[Part]) -> list[str]:
        """The parts as the question words them; adjacent ones are joined: "backups of the mail
        server"."""
        named: list[str] = []
        last: Part | None = None
        for part in unheld:
            between = self.question[last.end : part.start] if last else ""
            if last and _JOINED.fullmatch(between):
                named[-1] += between + part.text
            else:
                named.append(self._with_article(part))
            last = part
        return named

    def _with_article(self, part: Part) -> str:
        the = self.question[: part.start].lower().endswith(" the ")
        return f"the {part.text}" if the else part.text

    def dates_not_covered(self) -> list[str]:
        """The dates that no passage mentions and on which none is known to have been in force."""
        wants = self.expected
        figure = "" if wants is None or wants.answer is Answer.DATE else "a figure for "
        return [
            f"{figure}{one.text}"
            for one in self.dates
            if not any(_dated(one, r) for r in self.read)
        ]

    def _answer(self) -> list[str]:
        """The kind of figure the question asks for, if no passage on the topic contains one."""
        wants = self.expected
        if wants is None:
            return []
        near = [
            one
            for one in self.read
            if 2 * sum(self._holds(one, part) for part in self.parts) >= len(self.parts)
        ]
        if not near or any(_answers(wants, one) for one in near):
            return []
        if wants.of:
            return [f"the number of {wants.of}"]
        what = f" for {self._with_article(self.parts[0])}" if self.parts else ""
        return [f"the {wants.answer.value}{what}"]

    def _together(self) -> list[str]:
        """Two topics that the evidence covers separately but never in the same passage."""
        asked = [part for part in self.parts if part.asked]
        others = [part for part in self.parts if not part.asked]
        pairs = [(first, second, self._holds) for first, second in product(asked, others)]
        clause = asking(self.question)
        named = [part for part in self.parts if clause[0] <= part.start < clause[1]]
        pairs += [(first, second, self._names) for first, second in combinations(named, 2)]
        for first, second, holds in pairs:
            if not any(holds(one, first) and holds(one, second) for one in self.read):
                return [f"{first.text} and {second.text} together"]
        return []

    def _names(self, one: _Read, part: Part) -> bool:
        """Whether one line of a passage covers this as one topic: "parental leave" is not covered
        by "parent" in one line and "leave" in another."""
        if len(part.telling) == 1:
            return self._holds(one, part)
        least = max(len(part.telling) - 1, 2)  # one of three words may be worded differently
        return any(
            self._holds(line, part)
            or sum(self._holds_word(line, word, part) for word in part.telling) >= least
            for line in one.lines
        )


def _dated(asked: Literal, one: _Read) -> bool:
    day = asked.day
    if day is None or day.year is None:
        return True
    if any(found.day and same_day(day, found.day) for found in one.literals):
        return True
    start = one.passage.since or one.passage.effective
    end = one.passage.until or one.passage.expires
    return start is not None and start.year <= day.year <= (end.year if end else day.year)


def _answers(wants: Expected, one: _Read) -> bool:
    """Whether a passage contains a figure of the expected kind, counting the expected thing."""
    figures = [found for found in one.literals if found.kind in KINDS[wants.answer]]
    return any(not wants.of or _counts(found, wants.of, one.text) for found in figures)


def _counts(found: Literal, counted: str, text: str) -> bool:
    """Whether a number counts this: "3 employees", "employees: 3"."""
    after = (stem(word.strip(".,;:?!)")) for word in text[found.end :][:_BESIDE].split()[:3])
    words = {*after, *(found.nouns or found.about)}
    return stem(counted.split()[-1]) in words


def _less(part: Part, words: Sequence[str]) -> str:
    """The text of a part without the given words."""
    gone = {word.lower() for word in words}
    return " ".join(word for word in part.text.split() if word.lower() not in gone)
