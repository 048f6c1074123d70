"""The time to check an answer, by its length, the number of passages and the length of a passage.

The whole check is timed, as `suffice.check` runs it, with texts that are new in each repeat. Its
processor time counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cost.series import Series, Work, shortest
from benchmarks.speed import PASSAGE_WORDS, PASSAGES, SENTENCES, answer, passages
from suffice.answers import open_checker
from suffice.models.embedder import Embedder
from suffice.models.verifier import CachedEmbedder, Verifier
from suffice.settings import Settings

_FARTHEST = 1000
"""Numbers of passages between the texts of two repeats."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sentences of the answer, passages of 200 words, words of a single passage."""

    answer: Sequence[int] = (1, 2, 4, 8, 16)
    passages: Sequence[int] = (1, 2, 4, 8, 16, 32)
    context: Sequence[int] = (200, 800, 3200, 12800)


def checking(
    verifier: Verifier, embedder: Embedder, sizes: Sizes, repeats: int
) -> Iterator[tuple[str, Series]]:
    """The three series; repeats of one size check texts of the same size."""

    def check(sentences: int, evidence: Sequence[str], turn: int) -> object:
        checker = open_checker(Settings(), verifier, CachedEmbedder(embedder), uncited=True)
        return checker.check(" ".join(answer(turn * _FARTHEST, sentences)), evidence)

    check(1, passages(1, repeats * _FARTHEST), repeats)  # loads the models
    by_answer = {
        size: lambda turn, size=size: check(size, passages(PASSAGES, turn * _FARTHEST), turn)
        for size in sizes.answer
    }
    yield "answer", _series("Answer length", "sentences", _times(by_answer, repeats))
    by_passages = {
        size: lambda turn, size=size: check(SENTENCES, passages(size, turn * _FARTHEST), turn)
        for size in sizes.passages
    }
    size = f"passages of {PASSAGE_WORDS} words"
    yield "passages", _series("Number of passages", size, _times(by_passages, repeats))
    by_context = {
        size: lambda turn, size=size: check(SENTENCES, (_long(size, turn * _FARTHEST),), turn)
        for size in sizes.context
    }
    yield "context", _series("Length of one passage", "words", _times(by_context, repeats))


def _times(works: Mapping[int, Work], repeats: int) -> dict[int, float]:
    return shortest(works, repeats, time.process_time)


def _series(title: str, size: str, times: dict[int, float]) -> Series:
    return Series(title, size, "processor time of a check", times)


def _long(words: int, first: int) -> str:
    """A single passage of this many words."""
    found = " ".join(passages(-(-words // PASSAGE_WORDS), first)).split()
    return " ".join(found[:words])
