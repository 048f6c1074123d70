"""The drafter that needs no LLM: it answers with blocks quoted from the evidence.

Every claim in its draft is copied verbatim from the passage it cites.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from suffice.draft.brief import PLAIN, Brief
from suffice.draft.quotation import Ranked, compose
from suffice.evidence.sanitize import cleared
from suffice.evidence.split import context
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import (
    FindsSentences,
    Pair,
    SufficiencyScore,
    Verifier,
    sentence_scores,
)
from suffice.settings import DraftSettings
from suffice.switch import rule
from suffice.text.quotable import Block, is_heading, quotable
from suffice.text.readable import readable
from suffice.text.sentences import Span
from suffice.text.several import several, with_subject
from suffice.text.statements import Statement, statements
from suffice.types import Draft, Evidence, Passage

EVEN = 0.5
_READ_ALONE = 8
"""The number of top blocks that the verifier reads, each by itself."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Extractive:
    """Ranks every statement of the evidence by how well it answers the question and keeps the best.
    The verifier scores statements; if it cannot, similarity to the question is used instead."""

    embedder: Embedder
    settings: DraftSettings
    verifier: object | None = None

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        asked = several(evidence.wanted)
        found = {
            question: self.answer(full, evidence)
            for question, full in zip(asked, with_subject(asked), strict=True)
        }
        left = [question for question, chosen in found.items() if not _answers(chosen)]
        if len(asked) > 1 and len(left) == len(asked):  # try the questions as one
            found, left = {evidence.wanted: self.answer(evidence.wanted, evidence)}, []
        answered = [chosen for question, chosen in found.items() if question not in left]
        answered = answered or list(found.values())
        sure = [probability for chosen in answered if (probability := _surest(chosen)) is not None]
        return replace(
            compose([entry for chosen in answered for entry in chosen]),
            answers=min(sure) if len(sure) == len(answered) else None,
            unanswered=tuple(left) if len(asked) > 1 else (),
        )

    def answer(self, question: str, evidence: Evidence) -> list[Ranked]:
        """The blocks that answer one question; without a verifier, the statements."""
        ranked = [
            entry
            for entry in self.rank(evidence, question)
            if not is_heading(entry.statement.wording)
        ]
        if not isinstance(self.verifier, FindsSentences):
            return self.choose(ranked)
        found = blocks(ranked)
        asked = evidence.in_context(question)
        read = self.reread(asked, found[:_READ_ALONE])
        return self.lit(asked, self.choose(read, found[_READ_ALONE:]))

    def rank(self, evidence: Evidence, question: str = "") -> list[Ranked]:
        """All usable statements, best first. Instructions to the model are none."""
        question = evidence.in_context(question or evidence.wanted)
        found = _changed(list(_statements(evidence)))
        if not found:
            return []
        scores = answering(self.verifier, question, found)
        scores = scores or self._cosines(question, found)
        ranked = [Ranked(p, s, score) for (p, s), score in zip(found, scores, strict=True)]
        return sorted(ranked, key=lambda entry: -entry.score)

    def reread(self, question: str, ranked: Sequence[Ranked]) -> list[Ranked]:
        """The best blocks, ranked again by how well each answers on its own. In context, a
        statement may get credit for what its neighbours say."""
        pairs = [Pair(question, (entry.alone,)) for entry in ranked]
        scores = below_llm(cast(Verifier, self.verifier)).sufficiency(pairs)
        read = [_judged(entry, score) for entry, score in zip(ranked, scores, strict=True)]
        return sorted(read, key=lambda entry: -entry.score)

    def lit(self, question: str, chosen: Sequence[Ranked]) -> list[Ranked]:
        """The blocks with their statements that answer by themselves; if none does, the best."""
        parts = [_statements_of(entry) for entry in chosen]
        pairs = [
            Pair(question, (replace(entry, statement=one).alone,))
            for entry, own in zip(chosen, parts, strict=True)
            for one in own
        ]
        scores = iter(below_llm(cast(Verifier, self.verifier)).sufficiency(pairs) if pairs else ())
        found = []
        for entry, own in zip(chosen, parts, strict=True):
            read = [(next(scores).enough, one) for one in own]
            least = min(EVEN, max((enough for enough, _ in read), default=EVEN))
            found.append(replace(entry, lit=tuple(one for enough, one in read if enough >= least)))
        return found

    def _cosines(self, question: str, found: Sequence[tuple[Passage, Statement]]) -> list[float]:
        alone = [s.wording for _, s in found]
        placed = [f"{context(p.title, p.heading)}: {s.wording}" for p, s in found]
        vectors = self.embedder.embed([question, *alone, *placed])
        # A good answer is similar both by itself and together with its headings.
        cosines = (vectors[1:] @ vectors[0]).reshape(2, len(found)).mean(axis=0)
        return [float(cosine) for cosine in cosines]

    def choose(self, ranked: Sequence[Ranked], rest: Sequence[Ranked] = ()) -> list[Ranked]:
        """The best statement and those nearly as good; with a verifier, also those with at least
        even odds. Without a verifier, none if even the best is not similar enough."""
        by_verifier = isinstance(self.verifier, FindsSentences)
        if not ranked or (not by_verifier and ranked[0].score < self.settings.min_similarity):
            return []
        good = ranked[0].score * self.settings.min_share_of_best
        good = min(good, EVEN) if by_verifier else good
        chosen: list[Ranked] = []
        for entry in ranked:
            if len(chosen) == self.settings.max_blocks or entry.score < good:
                break
            if any(_is_within(entry, other) for other in chosen):
                continue
            chosen = [other for other in chosen if not _is_within(other, entry)]
            chosen.append(entry)
        return [*chosen, *_other_versions([*ranked, *rest], chosen)]


def _statements_of(entry: Ranked) -> list[Statement]:
    """The statements of a block, if it has several."""
    block = Block(entry.statement.slices)
    own = [one for one in statements(entry.passage.text) if block.covers(one)]
    return own if len(own) > 1 else []


def _statements(evidence: Evidence) -> Iterator[tuple[Passage, Statement]]:
    """The statements that may be quoted, in order, without instructions to the model."""
    for item in evidence:
        for statement in statements(cleared(item.passage).text):
            if all(item.reads(*span) for span in statement.slices):
                yield item.passage, statement


def _answers(chosen: Sequence[Ranked]) -> bool:
    """Whether one of the statements answers the question; true if none was judged."""
    return bool(chosen) and (chosen[0].answers is None or chosen[0].score >= EVEN)


def _surest(chosen: Sequence[Ranked]) -> float | None:
    """The probability that the best statement answers; `None` if none was judged, or if the answer
    is the difference between versions, which no single statement gives."""
    judged = [entry.answers for entry in chosen if entry.answers is not None]
    return max(judged) if judged and not _compared(chosen) else None


def _judged(entry: Ranked, alone: SufficiencyScore) -> Ranked:
    if alone.unchecked:
        return entry
    return replace(entry, score=alone.enough, answers=alone.enough)


def blocks(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The blocks around the statements, each with the score of its best one, best first. A
    statement stands alone if others of its block may not be quoted."""
    usable: dict[str, set[Statement]] = {}
    for entry in ranked:
        usable.setdefault(entry.passage.id, set()).add(entry.statement)
    whole: dict[str, list[Block]] = {}
    found: dict[tuple[str, tuple[Span, ...]], Ranked] = {}
    for entry in ranked:
        passage = entry.passage
        if passage.id not in whole:
            own = usable[passage.id]
            whole[passage.id] = [
                block
                for block in quotable(passage.text)
                if all(one in own for one in statements(passage.text) if block.covers(one))
            ]
        block = next((one for one in whole[passage.id] if one.covers(entry.statement)), None)
        if block is not None:
            quoted = Statement(block.slices, block.wording(passage.text))
            entry = replace(entry, statement=quoted, headings=block.headings)
        found.setdefault((passage.id, entry.statement.slices), entry)
    return list(found.values())


def answering(
    verifier: object, question: str, found: Sequence[tuple[Passage, Statement]]
) -> list[float]:
    """The probability that each statement, with its headings, answers the question; empty if the
    verifier cannot score sentences."""
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
    """The best statement of each version of a quoted document that is not quoted yet. If several
    versions are in the evidence, the answer is how they differ."""
    families = {entry.passage.family for entry in chosen if entry.passage.family}
    quoted = {(entry.passage.family, entry.passage.version) for entry in chosen}
    more = []
    for entry in ranked:
        own = (entry.passage.family, entry.passage.version)
        if entry.passage.family in families and own not in quoted:
            quoted.add(own)
            more.append(entry)
    return more


def _compared(chosen: Sequence[Ranked]) -> bool:
    """Whether several versions of one document are quoted."""
    versions = {(entry.passage.family, entry.passage.version) for entry in chosen}
    families = [family for family, _ in versions if family]
    return len(families) > len(set(families))


def _changed(found: list[tuple[Passage, Statement]]) -> list[tuple[Passage, Statement]]:
    """Drop statements that several versions of one document share: only differences matter when
    versions are compared."""
    versions: dict[tuple[str, str], set[str]] = {}
    for passage, statement in found:
        versions.setdefault((passage.family, statement.wording), set()).add(passage.version)
    kept = [(p, s) for p, s in found if not p.family or len(versions[p.family, s.wording]) == 1]
    return kept or found


def _is_within(entry: Ranked, other: Ranked) -> bool:
    """Whether the words of `entry` occur in `other`, in order."""
    mine, theirs = (
        f" {' '.join(_WORD.findall(readable(' '.join(one.quotes)).lower()))} "
        for one in (entry, other)
    )
    return mine in theirs
