"""BM25 as sparse vectors, with the same words and weights in every index."""

from __future__ import annotations

from functools import cache
from typing import Any

from suffice.errors import ExtraMissing

# Typical passage length in counted words. It is fixed, so that the weights of a passage do not
# depend on other passages.
AVERAGE_LENGTH = 100.0


def edge() -> Any:
    """The module of embedded Qdrant. Only a search or an index loads it."""
    try:
        import qdrant_edge
    except ImportError as problem:
        raise ExtraMissing("The search index", "store") from problem
    return qdrant_edge


@cache
def bm25() -> Any:
    """The BM25 model with English stop words and stems. Weights exclude document frequency."""
    q = edge()
    return q.Bm25(q.Bm25Config(language="english", avg_len=AVERAGE_LENGTH))
