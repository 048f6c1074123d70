"""What gate and checks cost beside the bare models, in one run: little."""

from __future__ import annotations

import time
from typing import Any

import pytest

from suffice import Library
from suffice.draft.reading import read_draft
from suffice.engine import Engine
from suffice.models import session
from suffice.models.catalog import open_embedder, open_verifier
from suffice.settings import EmbedderSettings, VerifierSettings

pytestmark = pytest.mark.timing

QUESTIONS = (
    "How many days of paid holiday do full-time employees have?",
    "What is the maximum price of a hotel room in Zurich?",
    "By when do I have to use vacation left over from last year?",
)
ANSWER = (
    "Full-time employees get 27 days of holiday each year [1]. Up to 5 days go along [1]. "
    "They are lost at the end of March [2]. A partner's death gives 5 days [3]. Ask HR first [4]."
)


@pytest.fixture
def spent(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds inside onnxruntime, of models opened from now on."""
    found: list[float] = []
    opened = session.open_session

    class Timed:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def run(self, *args: Any, **more: Any) -> Any:
            start = time.perf_counter()
            result = self.inner.run(*args, **more)
            found.append(time.perf_counter() - start)
            return result

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    monkeypatch.setattr(session, "open_session", lambda *args: Timed(opened(*args)))
    return found


def test_gate_and_checks_cost_little_beside_the_models(
    library: Library, spent: list[float]
) -> None:
    pipeline = Engine(
        embedder=open_embedder(EmbedderSettings()), verifier=open_verifier(VerifierSettings())
    ).pipeline(retriever=library.search(top=10))
    pipeline.answer("warm up?")
    ratios = []
    for question in QUESTIONS:
        spent.clear()
        start = time.perf_counter()
        evidence, _ = pipeline.retrieve_and_gate(question)
        pipeline.check(read_draft(ANSWER, evidence.passages), evidence)
        ratios.append((time.perf_counter() - start) / sum(spent))
    assert min(ratios) <= 1.3
