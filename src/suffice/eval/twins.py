"""Twins: each question is asked twice, on documents that contain its answer and on the same
documents without it. An answer served both times did not come from the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from suffice.eval.cases import Question, folded
from suffice.evidence.retriever import Retriever, gather
from suffice.text.readable import readable
from suffice.text.sentences import sentences
from suffice.types import Evidence, Retrieved


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
