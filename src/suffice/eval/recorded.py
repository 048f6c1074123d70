"""Replays the recorded drafts of an LLM through gate and checks, so that the path with an LLM is
measured without one.

The recorded passages stand in for the search, and the recorded draft for the LLM. What fails its
checks is not sent back for revision, because nobody is there to revise it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from suffice.draft.brief import PLAIN, Brief
from suffice.draft.reading import read_draft
from suffice.eval.cases import Recorded
from suffice.evidence.inputs import given
from suffice.evidence.retriever import gather
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.pipeline import Pipeline
from suffice.settings import CollectionSettings
from suffice.text.marks import citations
from suffice.types import Draft, Evidence, Verdict

NOWHERE = "http://recorded.invalid/v1"
"""The endpoint that settings without an LLM get. It is never asked."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A drafter that has written already. `places` are the numbers of the passages it cites, by
    their ids."""

    text: str
    places: Mapping[str, int]

    def write(self, evidence: Evidence, brief: Brief = PLAIN) -> Draft:
        """The draft with the numbers that its passages have in this evidence."""
        now = {self.places[one.id]: n for n, one in enumerate(evidence.passages, 1)}
        return read_draft(renumbered(self.text, now), evidence.passages, drafter="recorded")


def replay(
    case: Recorded, settings: CollectionSettings, verifier: Verifier, embedder: Embedder
) -> Verdict:
    """The verdict on the recorded draft, by the settings for answers that an LLM drafts."""
    items = given(case.passages)
    evidence = gather(case.question.question, items, embedder)
    pipeline = Pipeline.of(lambda _: evidence, embedder, with_llm(settings), verifier)
    drafter = Replayed(case.text, {one.passage.id: n for n, one in enumerate(items, 1)})
    pipeline = replace(pipeline, drafter=drafter, rewriter=None)
    return pipeline.answer(case.question.question)


def with_llm(settings: CollectionSettings) -> CollectionSettings:
    """The settings with an LLM that drafts once."""
    own = settings.draft
    llm = NOWHERE if own.llm == "extractive" else own.llm
    return replace(settings, draft=replace(own, llm=llm, revisions=0))


def renumbered(text: str, now: Mapping[int, int]) -> str:
    """The text with each citation changed to the new number of its passage, or dropped if the
    passage was."""
    for (start, end), cited in reversed(citations(text)):
        if any(now.get(n) != n for n in cited):
            marks = "".join(f"[{now[n]}]" for n in cited if n in now)
            text = text[:start] + marks + text[end:]
    return text
