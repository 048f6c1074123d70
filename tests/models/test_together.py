"""Batched calls give the same results as separate calls, and fail separately."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.deadline import Cancelled, Deadline, within
from suffice.models.batching import Batcher, Lanes, SharedEmbedder, SharedVerifier
from suffice.models.catalog import open_verifier
from suffice.models.tokens import batches
from suffice.models.verifier import Pair
from suffice.settings import VerifierSettings
from tests.fakes import HashEmbedder
from tests.lab.eval.overlap import OverlapVerifier

pytestmark = pytest.mark.runs_models


class Slow:
    """Doubles numbers; the first run waits until it is told, so that the others queue up."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.started, self.go_on = threading.Event(), threading.Event()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.sizes.append(len(items))
        self.started.set()
        assert self.go_on.wait(60)
        if -1 in items:
            raise ValueError("no")
        return [2 * item for item in items]


def queued(
    slow: Slow, together: Batcher[int, int], calls: Sequence[Sequence[int]]
) -> list[Callable[[], Sequence[int]]]:
    """The first call runs while the others wait; what each comes to."""
    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(together, calls[0])]
        assert slow.started.wait(60)
        futures += [pool.submit(together, call) for call in calls[1:]]
        while len(together._waiting) < len(calls) - 1:
            threading.Event().wait(0.001)
        slow.go_on.set()
    return [future.result for future in futures]


def test_calls_that_wait_go_as_one() -> None:
    slow = Slow()
    together = Batcher[int, int](slow, Lanes(1))
    results = queued(slow, together, [[1], [2, 3], [4], [5, 6, 7]])
    assert [result() for result in results] == [[2], [4, 6], [8], [10, 12, 14]]
    assert slow.sizes == [1, 6]


def test_a_run_takes_no_more_than_it_may_and_a_longer_call_takes_several() -> None:
    slow = Slow()
    together = Batcher[int, int](slow, Lanes(1), most=3)
    results = queued(slow, together, [[1], [2, 3], [4, 5], [6, 7, 8, 9, 10]])
    assert [list(result()) for result in results] == [[2], [4, 6], [8, 10], [12, 14, 16, 18, 20]]
    assert sorted(slow.sizes) == [1, 2, 2, 2, 3]


def test_nobody_waits_for_another_callers_long_text() -> None:
    slow = Slow()
    together = Batcher[int, int](slow, Lanes(1), most=3, characters=lambda item: 1_000 * item)
    results = queued(slow, together, [[0], [1], [100], [1], [4, 100, 0, 1, 1]])
    assert [list(result()) for result in results][2:] == [[200], [2], [8, 200, 0, 2, 2]]
    assert sorted(slow.sizes) == [1, 1, 1, 1, 1, 1, 3]


def test_a_shared_model_measures_its_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HashEmbedder, "embed", lambda self, texts: np.zeros((len(texts), 64)))
    monkeypatch.setattr(OverlapVerifier, "support", lambda self, pairs: list(pairs))
    long = "word " * 200_000
    embedder = SharedEmbedder(HashEmbedder())
    assert len(embedder.embed(["a", long, "b", "c"])) == 4
    assert embedder.runs == 3
    verifier = SharedVerifier(OverlapVerifier())
    verifier.support([Pair("a", ("b",)), Pair("a", (long,)), Pair("a", ("c",))])
    assert verifier.runs == 3


def test_what_fails_for_one_fails_for_that_one_alone() -> None:
    slow = Slow()
    together = Batcher[int, int](slow, Lanes(1))
    first, bad, good = queued(slow, together, [[1], [-1], [3]])
    assert (first(), good()) == ([2], [6])
    with pytest.raises(ValueError, match="no"):
        bad()


def test_a_call_past_its_deadline_leaves_the_queue_and_its_neighbour_is_answered() -> None:
    slow, deadline = Slow(), Deadline()
    together = Batcher[int, int](slow, Lanes(1))

    def abandoned() -> None:
        with within(deadline), pytest.raises(Cancelled):
            together([2])

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(together, [1])
        assert slow.started.wait(60)
        gone, other = pool.submit(abandoned), pool.submit(together, [3])
        while len(together._waiting) < 2:
            threading.Event().wait(0.001)
        deadline.cancel()
        gone.result(60)  # although the first call still holds the only lane
        slow.go_on.set()
        assert (first.result(60), other.result(60)) == ([2], [6])
    assert slow.sizes == [1, 1]


def test_a_run_that_nobody_waits_for_ends_between_two_model_batches() -> None:
    deadline, seen = Deadline(), 0
    lanes = Lanes(1)

    def run(items: Sequence[int]) -> list[int]:
        nonlocal seen
        for _ in batches([512] * len(items)):
            seen += 1
            deadline.cancel()
        return list(items)

    with within(deadline), pytest.raises(Cancelled):
        Batcher[int, int](run, lanes)(range(100))
    assert seen == 1
    assert lanes.free == 1


def test_each_call_of_a_cancelled_run_raises_its_own_exception() -> None:
    slow = Slow()

    def run(items: Sequence[int]) -> list[int]:
        slow(items)
        if len(items) > 1:
            raise Cancelled
        return list(items)

    results = queued(slow, Batcher[int, int](run, Lanes(1)), [[1], [2], [3]])
    raised = []
    for result in results[1:]:
        with pytest.raises(Cancelled) as problem:
            result()
        raised.append(problem.value)
    assert raised[0] is not raised[1]


def test_lanes_bound_what_runs_at_once() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def run(items: Sequence[int]) -> list[int]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1
        return list(items)

    lanes = Lanes(2)
    first, second = Batcher[int, int](run, lanes, 3), Batcher[int, int](run, lanes, 3)
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda n: (first if n % 2 else second)([n]), range(60)))
    assert found == [[n] for n in range(60)]
    assert most == 2
    assert lanes.free == 2


def test_who_waits_for_another_lane_runs_nothing() -> None:
    sizes: list[int] = []

    def run(items: Sequence[int]) -> list[int]:
        sizes.append(len(items))
        threading.Event().wait(0.02)
        return list(items)

    together = Batcher[int, int](run, Lanes(2))
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda n: together([n]), range(12)))
    assert sum(sizes) == 12
    assert 0 not in sizes


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.text(max_size=8), max_size=4), max_size=8))
def test_vectors_are_those_of_each_text_alone(calls: list[list[str]]) -> None:
    plain, shared = HashEmbedder(), SharedEmbedder(HashEmbedder())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shared.embed, calls))
    for texts, vectors in zip(calls, found, strict=True):
        assert np.array_equal(vectors, plain.embed(texts))


def test_scores_of_the_fast_tier_do_not_change() -> None:
    verifier = open_verifier(VerifierSettings(), "fast")
    shared = SharedVerifier(verifier)
    evidence = ("Parental leave lasts 18 weeks.", "Remote work is allowed 3 days per week.")
    said = [
        "Leave lasts 18 weeks.",
        "Leave lasts 20 weeks.",
        "Remote work is allowed.",
        "Cats fly.",
    ]
    pairs = [Pair(one, evidence) for one in said]
    alone = [verifier.support([pair]) for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda pair: shared.support([pair]), pairs)) == alone
        asked = [[Pair("How long is leave?", evidence)], [Pair("Who is the CEO?", evidence)]]
        found = list(pool.map(shared.sufficiency, asked))
    assert found == [verifier.sufficiency(one) for one in asked]
    assert (shared.id, shared.tier, shared.thresholds) == (
        verifier.id,
        verifier.tier,
        verifier.thresholds,
    )


def test_the_strong_tier_runs_calls_one_by_one() -> None:
    class Strong:
        id, tier = "s", "strong"
        thresholds = open_verifier(VerifierSettings(), "fast").thresholds

        def support(self, pairs: Sequence[Pair]) -> list[object]:
            return [len(pairs)] * len(pairs)

        sufficiency = support

    shared = SharedVerifier(Strong())  # type: ignore[arg-type]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: shared.support([Pair("a", ("b",))]), range(40)))
    assert [list[object](one) for one in found] == [[1]] * 40
