"""Dynamic batching: one model run serves pairs and texts from several callers.

A call that arrives while the model is idle starts at once. Calls that arrive during a run wait and
form the next batch, so batches grow with the load. A score does not depend on the rest of its
batch, so the results equal those of separate calls. A call leaves the queue when its deadline
passes. A run ends early if the deadlines of all its calls have passed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from suffice.deadline import Cancelled, Deadline, LastOf, current, within
from suffice.models.embedder import Embedder, Vectors
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.session import bounded
from suffice.models.verifier import (
    LLM,
    Pair,
    SufficiencyScore,
    SupportScore,
    Verifier,
    Wrapped,
    WrappedVerifier,
    sentence_scores,
)

A = TypeVar("A")
B = TypeVar("B")
MOST = 256
"""The size limit of one run. A larger call takes several runs, so that other calls wait less. An
item that exceeds it runs alone, so that no other call waits for it."""
_CHARACTERS = 2_000
"""Each so many characters of an item count as one more: about the window of a model."""
ALONE = 1
"""A batch limit that puts each call in a run of its own, however long."""
_LOOK = 0.05
"""How often a waiting call checks its deadline, in seconds."""


class Lanes:
    """Limits the number of concurrent runs across all models that share it. By default (0), one per
    core, at most four. A single run would leave cores idle while it waits for its own threads."""

    def __init__(self, count: int = 0) -> None:
        self.free = bounded(count)
        self.changed = threading.Condition()


@dataclass(slots=True, eq=False)
class _Call(Generic[A, B]):
    items: Sequence[A]
    size: int
    found: Sequence[B] = ()
    problem: BaseException | None = None
    taken: bool = False
    """Whether a thread is running this call, so that the caller only has to wait."""
    done: bool = False
    deadline: Deadline | None = field(default_factory=current)

    @property
    def abandoned(self) -> bool:
        return self.deadline is not None and self.deadline.passed


class Batcher(Generic[A, B]):
    """Combines calls of `run` from many threads into batches."""

    def __init__(
        self,
        run: Callable[[Sequence[A]], Sequence[B]],
        lanes: Lanes,
        most: int = MOST,
        *,
        characters: Callable[[A], int] = lambda _: 0,
    ) -> None:
        self._run = run
        self._characters = characters
        self._lanes = lanes
        self._most = most
        self._waiting: deque[_Call[A, B]] = deque()
        self.runs = 0
        """The number of runs so far, to see how calls were combined."""

    def __call__(self, items: Sequence[A]) -> Sequence[B]:
        if not items:
            return self._run(items)
        if self._most > ALONE and len(parts := list(self._parts(items))) > 1:
            return [one for part in parts for one in self(part)]
        call: _Call[A, B] = _Call(items, self._size(items))
        lanes = self._lanes
        with lanes.changed:
            self._waiting.append(call)
        while True:
            with lanes.changed:
                while not call.done and (call.taken or not lanes.free):
                    if call.abandoned:
                        self._leave(call)
                        raise Cancelled
                    lanes.changed.wait(_LOOK if call.deadline else None)
                if call.done:
                    break
                lanes.free -= 1
                batch = self._next()
            try:
                self._serve(batch)
            finally:
                with lanes.changed:
                    lanes.free += 1
                    lanes.changed.notify_all()
        if call.problem is not None:
            raise call.problem
        return call.found

    def _size(self, items: Sequence[A]) -> int:
        return sum(1 + self._characters(one) // _CHARACTERS for one in items)

    def _parts(self, items: Sequence[A]) -> Iterator[Sequence[A]]:
        """The items in parts that do not exceed the limit, except for single items."""
        start = size = 0
        for place, one in enumerate(items):
            own = self._size([one])
            if place > start and size + own > self._most:
                yield items[start:place]
                start, size = place, 0
            size += own
        yield items[start:]

    def _leave(self, call: _Call[A, B]) -> None:
        """Remove a call that nobody waits for. If it is already running, its result is ignored."""
        if not call.taken:
            self._waiting.remove(call)

    def _next(self) -> list[_Call[A, B]]:
        """The calls that have waited longest, as many as fit."""
        batch: list[_Call[A, B]] = []
        size = 0
        while self._waiting and (not batch or size + self._waiting[0].size <= self._most):
            batch.append(self._waiting.popleft())
            batch[-1].taken = True
            size += batch[-1].size
        return batch

    def _serve(self, batch: Sequence[_Call[A, B]]) -> None:
        self.runs += 1
        try:
            with within(LastOf([call.deadline for call in batch])):
                found = self._run([item for call in batch for item in call.items])
        except BaseException as problem:
            # A failing call must not affect the others. A cancelled run ends for all of them.
            if len(batch) > 1 and not isinstance(problem, Cancelled):
                for call in batch:
                    self._serve([call])
                return
            for call in batch:  # each waiting thread raises its own exception
                call.problem = problem if len(batch) == 1 else Cancelled(*problem.args)
                call.done = True
            return
        start = 0
        for call in batch:
            call.found = found[start : start + len(call.items)]
            start += len(call.items)
            call.done = True


class SharedVerifier(WrappedVerifier):
    """Wraps a verifier for use by many threads at once."""

    def __init__(self, verifier: Verifier, lanes: Lanes | None = None) -> None:
        lanes = lanes or Lanes()
        # Combined requests would share one LLM budget.
        most = ALONE if verifier.tier == LLM else MOST
        super().__init__(verifier)
        self._support = Batcher[Pair, SupportScore](
            verifier.support, lanes, most, characters=_pair_characters
        )
        self._sufficiency = Batcher[Pair, SufficiencyScore](
            verifier.sufficiency, lanes, most, characters=_pair_characters
        )
        self._sentences = Batcher[tuple[str, tuple[str, ...]], list[float]](
            self._found, lanes, characters=lambda asked: sum(map(len, asked[1]))
        )

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return list(self._support(pairs))

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return list(self._sufficiency(pairs))

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        return next(iter(self._sentences([(text, tuple(sentences))])))

    def _found(self, asked: Sequence[tuple[str, tuple[str, ...]]]) -> list[list[float]]:
        return [sentence_scores(self._verifier, text, sentences) for text, sentences in asked]

    @property
    def runs(self) -> int:
        return self._support.runs + self._sufficiency.runs


def _pair_characters(pair: Pair) -> int:
    return len(pair.text) + sum(map(len, pair.evidence))


def shared_verifier(verifier: Verifier, lanes: Lanes) -> Verifier:
    """A verifier for many threads. With an LLM, only the tier below it is shared, so that calls
    waiting for the LLM occupy no lane and each request keeps its own budget."""
    if isinstance(verifier, LlmVerifier):
        return replace(verifier, inner=SharedVerifier(verifier.inner, lanes))
    return SharedVerifier(verifier, lanes)


class SharedEmbedder(Wrapped):
    """Wraps an embedder for use by many threads at once."""

    def __init__(self, embedder: Embedder, lanes: Lanes | None = None) -> None:
        super().__init__(embedder)
        self._embed = Batcher[str, Vectors](self._rows, lanes or Lanes(), characters=len)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return self._embedder.embed(texts)
        return np.array(self._embed(texts), dtype=np.float32)

    def _rows(self, texts: Sequence[str]) -> Sequence[Vectors]:
        return list(self._embedder.embed(texts))

    @property
    def runs(self) -> int:
        return self._embed.runs
