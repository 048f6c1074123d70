"""BM25 as sparse vectors: the same words and weights for every index."""

from __future__ import annotations

from functools import cache
from typing import Any

# Typical passage length in counted words. It is fixed, so that the weights of a passage do not
# depend on the rest of the store.
AVERAGE_LENGTH = 100.0


@cache
def bm25() -> Any:
    """The BM25 model: English stop words and stems, term weights without the inverse document
    frequency."""
    import qdrant_edge

    return qdrant_edge.Bm25(qdrant_edge.Bm25Config(language="english", avg_len=AVERAGE_LENGTH))


def stems(text: str) -> frozenset[int]:
    """The counted words of a text as stems: "orders" and "order" are the same."""
    return frozenset(bm25().embed_query(text).indices)
