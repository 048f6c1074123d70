"""BM25 as sparse vectors: the same words and weights for every index."""

from __future__ import annotations

from functools import cache
from typing import Any

# A passage's usual length in words that count; fixed, so that a passage's weights do not depend
# on what else is in the store.
AVERAGE_LENGTH = 100.0


@cache
def bm25() -> Any:
    """The BM25 model: English stop words and stems, term weights without the inverse frequency."""
    import qdrant_edge

    return qdrant_edge.Bm25(qdrant_edge.Bm25Config(language="english", avg_len=AVERAGE_LENGTH))


def stems(text: str) -> frozenset[int]:
    """The words of a text that count, as stems: "orders" and "order" are one."""
    return frozenset(bm25().embed_query(text).indices)
