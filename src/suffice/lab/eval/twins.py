"""Twins: each question is asked twice, on documents that contain its answer and on the same
documents without it. An answer served both times did not come from the documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from suffice.draft.reading import PLAIN, Brief, read_draft
from suffice.engine import Engine
from suffice.evidence.index import Retriever, gather
from suffice.evidence.inputs import given
from suffice.lab.eval.cases import Question, Recorded, folded
from suffice.lab.eval.outcomes import Answer, Outcome
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.settings import CollectionSettings
from suffice.text.marks import citations
from suffice.text.readable import readable
from suffice.text.sentences import sentences
from suffice.types import Draft, Evidence, Retrieved, Verdict
from suffice.verdict.assess import QUOTED, Assessment
from suffice.verdict.route import first_match, read_routes
from suffice.verdict.thresholds import WITH_CAVEAT, Thresholds, in_force


@dataclass(frozen=True, slots=True)
class Lacking:
    """A retriever that removes every sentence that contains one of the texts from its passages."""

    search: Retriever
    texts: tuple[str, ...]

    def __call__(self, question: str) -> Evidence:
        found = gather(question, self.search(question), None)
        wanted = tuple(filter(None, map(_plain, self.texts)))
        left = (_without(item, wanted) for item in found)
        return replace(found, items=tuple(item for item in left if item.passage.text.strip()))


@dataclass(frozen=True, slots=True)
class Adding:
    """A retriever that inserts the sentence into its best passage."""

    search: Retriever
    sentence: str

    def __call__(self, question: str) -> Evidence:
        found = gather(question, self.search(question), None)
        if not found.items:
            return found
        best, *others = found.items
        text = f"{best.passage.text}\n{self.sentence}"
        return replace(found, items=(_saying(best, text), *others))


def has_twin(case: Question) -> bool:
    """Whether the case says which sentence answers it, or would."""
    return case.answerable or bool(case.adds)


def twin_of(case: Question, search: Retriever) -> tuple[Question, Retriever] | None:
    """The twin of a question: the case with the opposite expectation, and the search to run. `None`
    if the case does not say which sentence would answer it."""
    if not case.answerable:
        if not case.adds:
            return None
        answerable = replace(case, answerable=True, answers=((case.adds,),))
        return answerable, Adding(search, case.adds)
    texts = case.quotes or tuple(text for group in case.answers for text in group)
    return replace(case, answerable=False), Lacking(search, texts)


def twin_figures(pairs: Sequence[tuple[float, float]]) -> Mapping[str, float | int | None]:
    """The share of questions decided well in both versions. A pair holds the scores with and
    without the answer."""
    count = len(pairs)
    held = sum(good == 1 for good, _ in pairs)
    lacked = sum(good == 1 for _, good in pairs)
    both = sum(good == other == 1 for good, other in pairs)
    return {
        "questions": count,
        "right_with": held / count if count else None,
        "not_served_without": lacked / count if count else None,
        "both": both / count if count else None,
    }


def _without(item: Retrieved, texts: Sequence[str]) -> Retrieved:
    text, left, last = item.passage.text, [], 0
    for start, end in sentences(text):
        sentence = _plain(text[start:end])
        if any(one in sentence or sentence in one for one in texts if sentence):
            left.append(text[last:start])
            last = end
    return _saying(item, "".join([*left, text[last:]])) if left else item


def _plain(text: str) -> str:
    """The text as a reader sees it, without marks of emphasis and differences of case."""
    return folded(readable(text))


def _saying(item: Retrieved, text: str) -> Retrieved:
    return replace(item, passage=replace(item.passage, text=text))


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
    engine = Engine(embedder=embedder, verifier=verifier)
    pipeline = engine.pipeline(settings=with_llm(settings), retriever=lambda _: evidence)
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


WORTH: Mapping[str, float] = {
    Answer.RIGHT: 1.0, Answer.IN_PART: 0.5, Answer.WRONG: -3.0, Answer.ANSWERED: -3.0,
}  # fmt: skip
"""What an answer is worth. A wrong one costs as much as three right ones gain, so answers are
released as long as three of four are right, as a caveat promises."""
_STEPS = [n / 20 for n in range(20)]


@dataclass(frozen=True, slots=True)
class Operating:
    """An answer is released if the gate's score and the answer's confidence both reach these."""

    gate: float
    confidence: float

    def apply(self, settings: CollectionSettings) -> CollectionSettings:
        """The settings with these thresholds. Nothing is sent to review by its confidence: review
        is a refusal, and the thresholds alone shall decide what is refused."""
        rows = tuple(row for row in settings.verdict.routes if not _reviews_by_confidence(row))
        verdict = replace(settings.verdict, routes=rows, thresholds_file="")
        gate = self.gate if settings.gate.policy == "learned" else None
        own = Thresholds(gate, self.confidence, WITH_CAVEAT)
        applied = own.apply(replace(settings, verdict=verdict))
        split = settings.gate.split_questions
        return replace(applied, gate=replace(applied.gate, split_questions=split))

    def releases(self, outcome: Outcome) -> bool:
        return outcome.gate >= self.gate and outcome.confidence >= self.confidence

    def __str__(self) -> str:
        return f"{self.gate:.2f} and {self.confidence:.2f}"


OPEN = Operating(0.0, 0.0)


def shipped(settings: CollectionSettings) -> Operating:
    """The thresholds in the settings: the least confidence with which an answer that nothing
    speaks against is released."""
    flags = frozenset({QUOTED}) if settings.draft.llm == "extractive" else frozenset[str]()
    routes = read_routes(settings.verdict.routes)

    def released(percent: int) -> bool:
        found = Assessment({}, 1.0, 1.0, 0.0, 1.0, flags, confidence=percent / 100)
        return first_match(routes, found).action in WITH_CAVEAT

    least = next((percent for percent in range(101) if released(percent)), 100)
    return Operating(in_force(settings, WITH_CAVEAT).gate or 0.0, least / 100)


def choose(outcomes: Sequence[Outcome]) -> Operating:
    """The thresholds with which these answers, found with an open gate, are worth most; of several,
    the one in the middle."""
    ways = [Operating(gate, confidence) for gate, confidence in product(_STEPS, repeat=2)]
    worth = [
        sum(WORTH.get(one.answer, 0.0) for one in outcomes if way.releases(one)) for way in ways
    ]
    best = [way for way, own in zip(ways, worth, strict=True) if own == max(worth)]
    return best[len(best) // 2]


def _reviews_by_confidence(row: str) -> bool:
    when, _, then = row.partition("->")
    return "confidence" in when and then.strip().startswith("REVIEW")
