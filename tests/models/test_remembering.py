"""Cached vectors equal computed ones, and each text is embedded once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from suffice.models.embedder import Embedder, Vectors
from suffice.models.verifier import CachedEmbedder
from tests.fakes import HashEmbedder


@dataclass(frozen=True)
class Counting(HashEmbedder):
    """Notes what it was asked to embed."""

    asked: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.extend(texts)
        return super().embed(texts)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), max_size=6), st.integers(1, 8))
def test_the_vectors_are_the_same_as_without(calls: list[list[str]], most: int) -> None:
    plain, remembering = HashEmbedder(), CachedEmbedder(HashEmbedder(), most)
    for texts in calls:
        vectors = remembering.embed(texts)
        assert vectors.shape == (len(texts), plain.dimension)
        assert np.array_equal(vectors, plain.embed(texts))


def test_a_known_text_is_not_embedded_again() -> None:
    counting = Counting()
    embedder: Embedder = CachedEmbedder(counting)
    embedder.embed(["a", "b", "a"])
    embedder.embed(["b", "c"])
    assert counting.asked == ["a", "b", "c"]
    assert (embedder.id, embedder.window) == (counting.id, counting.window)
    assert list(embedder.token_ends("a b")) == [1, 3]


def test_the_oldest_and_the_long_are_forgotten() -> None:
    counting = Counting()
    embedder = CachedEmbedder(counting, most=2)
    for text in ("a", "b", "a", "c", "a", "b", "x" * 3000, "x" * 3000):
        embedder.embed([text])
    assert counting.asked == ["a", "b", "c", "b", "x" * 3000, "x" * 3000]


def test_what_a_caller_does_to_a_vector_stays_with_the_caller() -> None:
    embedder = CachedEmbedder(HashEmbedder())
    embedder.embed(["a"])[0] = 0
    assert np.array_equal(embedder.embed(["a"]), HashEmbedder().embed(["a"]))


def test_many_threads() -> None:
    embedder, plain = CachedEmbedder(HashEmbedder(), most=5), HashEmbedder()
    calls = [[chr(97 + (n + k) % 10) for k in range(4)] for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(embedder.embed, calls))
    assert all(
        np.array_equal(vectors, plain.embed(texts))
        for vectors, texts in zip(found, calls, strict=True)
    )
