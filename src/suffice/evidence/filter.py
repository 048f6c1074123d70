"""Selects the sentences of the evidence that a drafter should read.

The evidence itself does not change. Each passage keeps its text, id and offsets, and the sentences
to read are marked as spans (`Retrieved.kept`). Checks and citations still use the whole passage.

A sentence is left out only if it is far from the question in meaning, contains few of its words,
and shares no name with a helpful sentence. The last condition keeps the second half of an answer
whose subject is named in the first half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from suffice.errors import ModelUnreachable
from suffice.evidence.split import context
from suffice.models.embedder import Embedder
from suffice.settings import FilterSettings
from suffice.text.sentences import Span, sentences, statements
from suffice.text.words import STOP_WORDS, stems
from suffice.types import Evidence, Passage, Retrieved

_NAME = re.compile(r"\b[A-Z][\w'’-]{2,}|\b\d[\d,.]{2,40}\b")


@dataclass(frozen=True, slots=True)
class Unit:
    """Sentences that are kept or left out together, and the text used to match them."""

    spans: tuple[Span, ...]
    wording: str


@dataclass(frozen=True, slots=True)
class Helpful:
    """Marks the parts of the evidence that help to answer, and returns the marked evidence."""

    embedder: Embedder
    settings: FilterSettings = field(default_factory=FilterSettings)

    def __call__(self, evidence: Evidence) -> Evidence:
        parts = [list(units(passage.text)) for passage in evidence.passages]
        flat = [
            (p, unit) for p, mine in zip(evidence.passages, parts, strict=True) for unit in mine
        ]
        try:
            helping = self._helping(evidence.wanted, [_placed(*entry) for entry in flat])
        except ModelUnreachable as problem:
            note = f"The passages were not filtered before drafting: {problem.message}"
            return replace(evidence, notes=(*evidence.notes, note))
        if not any(helping):  # the gate found the evidence sufficient, so keep everything
            return evidence
        links = iter(linked([unit.wording for _, unit in flat], helping))
        marked = (
            _marked(item, mine, [next(links) for _ in mine])
            for item, mine in zip(evidence, parts, strict=True)
        )
        return replace(evidence, items=tuple(marked))

    def _helping(self, question: str, texts: Sequence[str]) -> list[bool]:
        """Which texts help on their own. Texts that word overlap does not decide are embedded."""
        asked = stems(question)
        least = max(self.settings.min_word_overlap * len(asked), 1)
        helps = [len(asked & stems(text)) >= least for text in texts]
        unsure = [n for n, sure in enumerate(helps) if not sure]
        if unsure:
            vectors = self.embedder.embed([question, *(texts[n] for n in unsure)])
            for n, vector in zip(unsure, vectors[1:], strict=True):
                helps[n] = float(vector @ vectors[0]) >= self.settings.min_similarity
        return helps


def units(text: str) -> Iterator[Unit]:
    """The statements of a passage in order, each together with the question it answers, if any.
    Every sentence belongs to a unit."""
    spans = sentences(text)
    place = 0
    for statement in statements(text):
        end = statement.slices[-1][1]
        led: list[Span] = []
        while place < len(spans) and spans[place][0] < end:
            led.append(spans[place])
            place += 1
        yield Unit(tuple(joined(text, [*led, *statement.slices])), statement.wording)
    for span in spans[place:]:
        yield Unit((span,), text[slice(*span)])


def linked(texts: Sequence[str], helping: Sequence[bool]) -> list[bool]:
    """Extend the helping units with all units connected to them by a shared name or number."""
    names = [_names(text) for text in texts]
    helps = list(helping)
    held = {name for n, sure in enumerate(helps) if sure for name in names[n]}
    waiting = [n for n, sure in enumerate(helps) if not sure]
    while reached := [n for n in waiting if names[n] & held]:
        for n in reached:
            helps[n] = True
            held |= names[n]
        waiting = [n for n in waiting if not helps[n]]
    return helps


def joined(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """The spans in order. Spans that overlap, or have only white space between them, are merged."""
    last: Span | None = None
    for start, end in sorted(spans):
        if last and (start <= last[1] or text[last[1] : start].isspace()):
            last = (last[0], max(last[1], end))
            continue
        if last:
            yield last
        last = (start, end)
    if last:
        yield last


def _marked(item: Retrieved, parts: Sequence[Unit], helping: Sequence[bool]) -> Retrieved:
    if all(helping):
        return item
    spans = [
        span for unit, helps in zip(parts, helping, strict=True) if helps for span in unit.spans
    ]
    return replace(item, kept=tuple(joined(item.passage.text, spans)))


def _placed(passage: Passage, unit: Unit) -> str:
    above = context(passage.title, passage.heading)
    return f"{above}: {unit.wording}" if above else unit.wording


def _names(text: str) -> set[str]:
    return {name.lower() for name in _NAME.findall(text)} - STOP_WORDS
