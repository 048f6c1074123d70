"""Confidence-bound retrieval in one class: answer only if a lower confidence bound on the mean
relevance of the retrieved documents reaches a threshold.

>>> from suffice import CautiousRAG
>>> rag = CautiousRAG(["Parental leave lasts 18 weeks.", "Parental leave is fully paid."])
>>> result = rag.answer("How long is parental leave?")
>>> result.confident, result.answer, result.lower_bound, result.threshold

docs/reference/gate.md explains what the bound guarantees and what it does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from suffice.engine import Engine
from suffice.evidence.inputs import Given, given
from suffice.models.catalog import open_embedder
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.settings import (
    BoundSettings,
    CollectionSettings,
    EmbedderSettings,
    GateSettings,
    settings_of,
)
from suffice.types import Evidence, GateDecision, Verdict


@dataclass(frozen=True, slots=True)
class CautiousAnswer:
    """`answer` is `None` if the bound is below the threshold or no retrieved document could be
    verified to answer the question; `verdict` gives the reason."""

    confident: bool
    answer: str | None
    lower_bound: float
    threshold: float
    verdict: Verdict
    unclipped_bound: float | None = None
    """mean − ε, which may be negative, unlike `lower_bound`; `None` if nothing was found."""


class CautiousRAG:
    """Retrieves the `top` documents nearest to a question, and answers from them if the bound on
    their mean relevance, which holds with probability 1 - `delta`, reaches `threshold`.

    With `inequality="auto"`, `retrieval` selects the inequality. `c` is the parameter of Azuma's
    inequality and `variance` that of Bernstein's, as in `gate.bound`.
    """

    def __init__(
        self,
        documents: Iterable[Given],
        *,
        threshold: float = 0.30,
        delta: float = 0.05,
        inequality: str = "auto",
        retrieval: str = "independent",
        c: float = 0.5,
        variance: float = 0.0,
        top: int = 10,
        embedder: Embedder | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        values = {
            "threshold": threshold,
            "delta": delta,
            "inequality": inequality,
            "retrieval": retrieval,
            "score_half_width": c,
            "variance": variance,
        }
        bound = settings_of(BoundSettings, values, "CautiousRAG")
        self._threshold = bound.threshold
        self._top = max(top, 1)
        self._items = given(documents)
        self._embedder = embedder or open_embedder(EmbedderSettings())
        self._vectors = self._embedder.embed([item.passage.text for item in self._items])
        gate = GateSettings(policy="bound", bound=bound)
        settings = CollectionSettings(gate=gate)
        engine = Engine(embedder=self._embedder, verifier=verifier)
        self._pipeline = engine.pipeline(settings=settings, retriever=self._search)

    def answer(self, question: str) -> CautiousAnswer:
        verdict = self._pipeline.answer(question)
        lower = _signal(verdict.gate, "lower bound") or 0.0
        confident = lower >= self._threshold
        released = verdict.released if confident and verdict.served else ""
        unclipped = _signal(verdict.gate, "unclipped bound")
        return CautiousAnswer(
            confident, released or None, lower, self._threshold, verdict, unclipped
        )

    def _search(self, question: str) -> Evidence:
        """The nearest documents, best first, each with its raw cosine similarity."""
        if not self._items:
            return Evidence(question)
        near = self._vectors @ self._embedder.embed([question])[0]
        best = sorted(range(len(self._items)), key=lambda n: -near[n])[: self._top]
        found = (replace(self._items[n], relevance=float(near[n])) for n in best)
        return Evidence(question, tuple(found))


def _signal(gate: GateDecision, name: str) -> float | None:
    """A number computed by the gate; `None` if nothing was found."""
    return next((signal.value for signal in gate.signals if signal.name == name), None)
