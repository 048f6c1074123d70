"""Withheld questions become topics with counts and trends; what the documents answer is no gap."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.lab.monitor.gaps import Topic, backlog, clusters
from suffice.log.log import Log
from suffice.models.catalog import open_embedder
from suffice.models.embedder import Embedder
from suffice.review.review import Review
from suffice.settings import EmbedderSettings
from suffice.types import Source
from tests.lab.monitor.stream import MovingClock, refusal, write

DRESS = (
    "What is the dress code?",
    "Is there a dress code at work?",
    "What should I wear to the office?",
)
NEAR = Source("leave.md", "Leave", "1", relevance=0.4)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return open_embedder(EmbedderSettings())


def topics(log: Log, embedder: Embedder, clock: MovingClock, *answered: str) -> list[Topic]:
    found = Review(log).gaps(most=1000)
    return backlog(found, embedder, lambda question: (question in answered, (NEAR,)), clock())


def test_three_wordings_are_one_gap_with_count_trend_and_nearest(
    log: Log, clock: MovingClock, embedder: Embedder
) -> None:
    write(log, [refusal(DRESS[0]), refusal("How much is the bonus?")])
    clock.later(days=8)
    write(log, [refusal(one) for one in (*DRESS, DRESS[1])])
    dress, bonus = topics(log, embedder, clock)
    assert set(dress.wordings) == set(DRESS)
    assert dress.question in DRESS[:2]
    assert (dress.count, dress.recent, dress.before, dress.trend) == (5, 4, 1, "rising")
    assert dress.missing == ("leave",)
    assert dress.nearest == (NEAR,)
    assert len(dress.records) == 5
    assert (bonus.wordings, bonus.trend) == (("How much is the bonus?",), "falling")


def test_a_question_that_the_documents_answer_is_no_gap(
    log: Log, clock: MovingClock, embedder: Embedder
) -> None:
    write(log, [refusal(one) for one in DRESS])
    (left,) = topics(log, embedder, clock, DRESS[1])
    assert DRESS[1] not in left.wordings
    assert (left.count, left.trend) == (2, "new")
    assert topics(log, embedder, clock, *DRESS) == []


def test_clusters_are_those_of_a_plain_average_linkage() -> None:
    """Against the definition: merge the pair of groups with the highest mean similarity."""
    draw = np.random.default_rng(2)
    for _ in range(5):
        vectors = draw.normal(size=(25, 4))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        found = {frozenset(group) for group in clusters(vectors.astype(np.float32), 0.5)}
        assert found == plain_linkage(vectors @ vectors.T, 0.5)
    assert clusters(np.zeros((0, 4), dtype=np.float32)) == []


def plain_linkage(table: np.ndarray, cut: float) -> set[frozenset[int]]:
    groups = [{n} for n in range(len(table))]
    while len(groups) > 1:
        best, one, other = max(
            (float(table[np.ix_(sorted(a), sorted(b))].mean()), i, j)
            for i, a in enumerate(groups)
            for j, b in enumerate(groups[:i])
        )
        if best < cut:
            break
        groups[other] |= groups.pop(one)
    return {frozenset(group) for group in groups}
