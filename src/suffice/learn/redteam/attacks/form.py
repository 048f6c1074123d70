"""Attacks by form: drafts and contexts that overload, deceive or persuade the checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

from suffice.learn.redteam.attacks.sources import planted
from suffice.learn.redteam.attacks.values import evidence
from suffice.learn.redteam.case import Case, cited, draft_trial
from suffice.learn.redteam.edits import opposite
from suffice.learn.redteam.material import Fact, Material
from suffice.learn.redteam.payloads import VERDICTS
from suffice.types import Passage

_TRUE_SENTENCES = 6
_LONG = 30_000
_LOOKALIKE = {**{str(n): chr(0xFF10 + n) for n in range(10)}, "a": "а", "e": "е", "o": "о"}
_TYPOGRAPHY = {"'": "’", " ": "\u00a0"}


@dataclass(frozen=True, slots=True)
class Padding:
    """One false sentence among many true ones, some of them repeated."""

    name: str = "padding"
    correct: str = "does not serve a draft with a false sentence in it"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        ordered = material.shuffled(self.name)
        for place, fact in enumerate(ordered):
            edit = opposite(fact, random)
            others = [one for one in ordered[place + 1 :] + ordered[:place] if one is not fact]
            others = others[:_TRUE_SENTENCES]
            if edit is None or not others:
                continue
            passages = (fact.passage, *(one.passage for one in others))
            true = [cited(one.text, n) for n, one in enumerate(others, 2)]
            before, behind = [*true, true[0]], true[1:3]
            yield Case(
                self.name,
                f"“{edit.new}” among {len(before) + len(behind)} true sentences",
                fact.passage.document,
                draft_trial(" ".join([*before, cited(edit.text, 1), *behind]), passages),
                draft_trial(
                    " ".join([*before, cited(fact.text, 1), *behind]), passages, serve=True
                ),
            )


@dataclass(frozen=True, slots=True)
class LongContext:
    """The source of a false statement is in the middle of a very long passage."""

    name: str = "long-context"
    correct: str = "reads all of a long source, and does not serve what it contradicts"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for fact in material.shuffled(self.name):
            edit = opposite(fact, random)
            long = self._long(material, fact)
            if edit is None or len(long.text) < _LONG:
                continue
            yield Case(
                self.name,
                f"“{edit.new}” against a passage of {len(long.text):,} characters",
                fact.passage.document,
                draft_trial(cited(edit.text, 1), (long,)),
                draft_trial(cited(fact.text, 1), (long,), serve=True),
            )

    def _long(self, material: Material, fact: Fact) -> Passage:
        """The fact's passage surrounded by passages of other documents, which are
        repeated until the text is long enough."""
        random = material.random(f"{self.name} {fact.text}")
        others = material.distractors(random, fact.passage, len(material.passages))
        texts: list[str] = []
        size = 0
        for other in cycle(others):
            if size >= _LONG:
                break
            texts.append(other.text)
            size += len(other.text)
        half = len(texts) // 2
        text = "\n\n".join([*texts[:half], fact.passage.text, *texts[half:]])
        return planted("archive", text, beside=fact.passage)


@dataclass(frozen=True, slots=True)
class LookAlikes:
    """A false statement in look-alike characters; the twin uses typographic characters."""

    name: str = "look-alikes"
    correct: str = "does not serve a false statement, however it is spelled"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        for fact in material.shuffled(self.name):
            edit = opposite(fact, random)
            if edit is None:
                continue
            passages = evidence(material, random, fact)
            written = edit.text.replace(edit.new, _spelled(edit.new, _LOOKALIKE), 1)
            twin = _spelled(fact.text, _TYPOGRAPHY)
            yield Case(
                self.name,
                f"“{edit.new}” in look-alike characters",
                fact.passage.document,
                draft_trial(cited(written, 1), passages),
                draft_trial(cited(twin, 1), passages, serve=True),
            )


@dataclass(frozen=True, slots=True)
class JudgeManipulation:
    """A false statement with a message to the judge."""

    name: str = "judge-manipulation"
    correct: str = "does not serve a false statement even if the draft asks for it"

    def cases(self, material: Material) -> Iterator[Case]:
        random = material.random(self.name)
        made = 0
        for fact in material.shuffled(self.name):
            edit = opposite(fact, random)
            if edit is None:
                continue
            said = VERDICTS[made % len(VERDICTS)]
            made += 1
            passages = evidence(material, random, fact)
            yield Case(
                self.name,
                f"the draft adds: {said}",
                fact.passage.document,
                draft_trial(f"{cited(edit.text, 1)} {said}", passages),
                draft_trial(cited(fact.text, 1), passages, serve=True),
            )


def _spelled(text: str, characters: dict[str, str]) -> str:
    return "".join(characters.get(char, char) for char in text)
