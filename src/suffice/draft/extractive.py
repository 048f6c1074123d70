"""The drafter that needs no LLM: it answers with the evidence's own sentences.

Grounded by construction: every claim of its draft is a slice of the passage it cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.draft.statements import Statement, statements
from suffice.evidence.split import context
from suffice.models.embedder import Embedder
from suffice.settings import DraftSettings
from suffice.types import Citation, Claim, Draft, Evidence, Passage


@dataclass(frozen=True, slots=True)
class Ranked:
    """A statement with how well it answers the question."""

    passage: Passage
    statement: Statement
    score: float

    @property
    def quotes(self) -> list[str]:
        return [self.passage.text[start:end] for start, end in self.statement.slices]


@dataclass(frozen=True, slots=True)
class Extractive:
    """Ranks every statement of the evidence by the question and keeps the few that answer it."""

    embedder: Embedder
    settings: DraftSettings

    def write(self, evidence: Evidence) -> Draft:
        return compose(self.choose(self.rank(evidence)))

    def rank(self, evidence: Evidence) -> list[Ranked]:
        """All statements, best first."""
        found = [(p, s) for p in evidence.passages for s in statements(p.text)]
        if not found:
            return []
        alone = [s.wording for _, s in found]
        placed = [f"{context(p.title, p.heading)}: {s.wording}" for p, s in found]
        vectors = self.embedder.embed([evidence.question, *alone, *placed])
        # What it says by itself, and what it says where it stands: a good answer is near in both.
        cosines = (vectors[1:] @ vectors[0]).reshape(2, len(found)).mean(axis=0)
        ranked = [Ranked(p, s, float(c)) for (p, s), c in zip(found, cosines, strict=True)]
        return sorted(ranked, key=lambda entry: -entry.score)

    def choose(self, ranked: Sequence[Ranked]) -> list[Ranked]:
        """The best, and those nearly as good; none if even the best does not answer."""
        if not ranked or ranked[0].score < self.settings.answers:
            return []
        good = ranked[0].score * self.settings.keep
        chosen: list[Ranked] = []
        for entry in ranked:
            if len(chosen) == self.settings.sentences or entry.score < good:
                break
            if not any(_repeats(entry, other) for other in chosen):
                chosen.append(entry)
        return chosen


def compose(chosen: Sequence[Ranked]) -> Draft:
    """The statements as one text, each followed by its mark, with exact spans of the claims."""
    numbers: dict[str, int] = {}
    quotes: dict[int, tuple[Passage, list[str]]] = {}
    text = ""
    claims: list[Claim] = []
    for entry in chosen:
        n = numbers.setdefault(entry.passage.id, len(numbers) + 1)
        quotes.setdefault(n, (entry.passage, []))[1].extend(entry.quotes)
        table = len(entry.quotes) > 1 or "|" in entry.quotes[0]
        text += ("\n\n" if table or "\n" in text else " ") if text else ""
        for quote in entry.quotes:
            text += "\n" if text.endswith("|") else ""
            claims.append(Claim(quote, len(text), len(text) + len(quote), (n,)))
            text += quote
        text += f"\n\n[{n}]" if table else f" [{n}]"
    citations = tuple(Citation(n, p, " … ".join(said)) for n, (p, said) in quotes.items())
    return Draft(text, tuple(claims), citations, "extractive")


def _repeats(entry: Ranked, other: Ranked) -> bool:
    """Whether one says what the other already says, word for word."""
    mine, theirs = " ".join(entry.quotes), " ".join(other.quotes)
    return mine in theirs or theirs in mine
