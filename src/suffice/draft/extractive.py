"""The drafter that needs no LLM: it answers with the evidence's own sentences.

Grounded by construction: every claim of its draft is a slice of the passage it cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from suffice.draft.brief import PLAIN, Brief
from suffice.draft.flags import flag_notes, flagged, told
from suffice.evidence.split import context
from suffice.models.embedder import Embedder
from suffice.models.verifier import FindsSentences, sentence_scores
from suffice.settings import DraftSettings
from suffice.switch import rule
from suffice.text.statements import Statement, apart
from suffice.types import Citation, Claim, Draft, Evidence, Passage

EVEN = 0.5


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
    """Ranks every statement of the evidence by the question and keeps the few that answer it. The
    verifier tells which answer; without one that can, nearness to the question has to do."""

    embedder: Embedder
    settings: DraftSettings
    verifier: object | None = None

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        draft = compose(self.choose(self.rank(evidence)))
        return replace(draft, notes=flag_notes(flagged(evidence)))

    def rank(self, evidence: Evidence) -> list[Ranked]:
        """All statements that tell something, best first; one that instructs is no answer."""
        found = _changed(list(told(evidence)))
        if not found:
            return []
        scores = answering(self.verifier, evidence.wanted, found)
        scores = scores or self._near(evidence.wanted, found)
        ranked = [Ranked(p, s, score) for (p, s), score in zip(found, scores, strict=True)]
        return sorted(ranked, key=lambda entry: -entry.score)

    def _near(self, question: str, found: Sequence[tuple[Passage, Statement]]) -> list[float]:
        alone = [s.wording for _, s in found]
        placed = [f"{context(p.title, p.heading)}: {s.wording}" for p, s in found]
        vectors = self.embedder.embed([question, *alone, *placed])
        # What it says by itself, and what it says where it stands: a good answer is near in both.
        cosines = (vectors[1:] @ vectors[0]).reshape(2, len(found)).mean(axis=0)
        return [float(cosine) for cosine in cosines]

    def choose(self, ranked: Sequence[Ranked]) -> list[Ranked]:
        """The best and those nearly as good; as the verifier says, also those that answer at even
        odds. By nearness alone, none if even the best is far."""
        by_verifier = isinstance(self.verifier, FindsSentences)
        if not ranked or (not by_verifier and ranked[0].score < self.settings.answers):
            return []
        good = ranked[0].score * self.settings.keep
        good = min(good, EVEN) if by_verifier else good
        chosen: list[Ranked] = []
        for entry in ranked:
            if len(chosen) == self.settings.sentences or entry.score < good:
                break
            if not any(_repeats(entry, other) for other in chosen):
                chosen.append(entry)
        return [*chosen, *_other_versions(ranked, chosen)]


def answering(
    verifier: object, question: str, found: Sequence[tuple[Passage, Statement]]
) -> list[float]:
    """For each statement the probability that it answers, read under the headings it stands under;
    nothing where the verifier cannot tell."""
    texts: list[str] = []
    places: list[int] = []
    above = ""
    for passage, statement in found:
        heading = context(passage.title, passage.heading)
        if heading != above:
            texts.append(heading)
            above = heading
        places.append(len(texts))
        texts.append(statement.wording)
    scores = sentence_scores(verifier, question, texts)
    return [scores[place] for place in places] if scores else []


@rule("other versions", lambda ranked, chosen: [])
def _other_versions(ranked: Sequence[Ranked], chosen: Sequence[Ranked]) -> list[Ranked]:
    """The best statement of each version of a quoted document that is not quoted yet: where
    versions stand beside each other, the answer lies in how they differ."""
    families = {entry.passage.family for entry in chosen if entry.passage.family}
    told = {(entry.passage.family, entry.passage.version) for entry in chosen}
    more = []
    for entry in ranked:
        own = (entry.passage.family, entry.passage.version)
        if entry.passage.family in families and own not in told:
            told.add(own)
            more.append(entry)
    return more


def _changed(found: list[tuple[Passage, Statement]]) -> list[tuple[Passage, Statement]]:
    """Where versions of one document stand beside each other, what they say alike tells nothing of
    how they differ."""
    said: dict[tuple[str, str], set[str]] = {}
    for passage, statement in found:
        said.setdefault((passage.family, statement.wording), set()).add(passage.version)
    kept = [(p, s) for p, s in found if not p.family or len(said[p.family, s.wording]) == 1]
    return kept or found


def compose(chosen: Sequence[Ranked]) -> Draft:
    """The statements as one text, each followed by its mark, with exact spans of the claims.

    The passage of the best statement comes first; within a passage the order is its own, and the
    rows of a table stand under one header.
    """
    by_passage: dict[str, list[Ranked]] = {}
    for entry in chosen:
        by_passage.setdefault(entry.passage.id, []).append(entry)
    page = _Page()
    citations: list[Citation] = []
    for n, entries in enumerate(by_passage.values(), 1):
        passage = entries[0].passage
        slices = apart({span for entry in entries for span in entry.statement.slices})
        quotes = [passage.text[start:end] for start, end in slices]
        page.write(quotes, n)
        citations.append(Citation(n, passage, " … ".join(quotes)))
    return Draft(page.text, tuple(page.claims), tuple(citations), "extractive")


@dataclass(slots=True)
class _Page:
    """The text as it grows, with the claims written so far."""

    text: str = ""
    claims: list[Claim] = field(default_factory=list)

    def write(self, quotes: Sequence[str], n: int) -> None:
        for table, run in groupby(quotes, key=lambda quote: "|" in quote):
            if table:
                self._add(list(run), n, mark=f"\n\n[{n}]", gap="\n\n")
                continue
            for quote in run:
                self._add([quote], n, mark=f" [{n}]", gap="\n\n" if "\n" in self.text else " ")

    def _add(self, lines: Sequence[str], n: int, *, mark: str, gap: str) -> None:
        for place, line in enumerate(lines):
            self.text += "\n" if place else (gap if self.text else "")
            start = len(self.text)
            self.text += line
            self.claims.append(Claim(line, start, len(self.text), (n,)))
        self.text += mark


def _repeats(entry: Ranked, other: Ranked) -> bool:
    """Whether one says what the other already says, word for word."""
    mine, theirs = " ".join(entry.quotes), " ".join(other.quotes)
    return mine in theirs or theirs in mine
