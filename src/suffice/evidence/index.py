"""The search index: one protocol, derived from the store, rebuilt from it at any time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from suffice.evidence.rows import Vectors
from suffice.types import Kind

PUBLIC = "*"
"""The access mark of a document that declares no labels."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be found at all. Every condition is hard.

    A passage is found if it was in force on `as_of` (or `history` is asked for), belongs to the
    collection and to one of the kinds (none named: all), and is public or carries a label of the
    caller's.
    """

    as_of: date
    history: bool = False
    collection: str = "default"
    kinds: frozenset[Kind] = frozenset()
    labels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage's number with its raw scores: cosine (`None` without a vector) and BM25."""

    number: int
    similarity: float | None
    keywords: float


class Index(Protocol):
    """Finds passages. Both scores are given for every hit, whichever way it was found."""

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        """The union of the `limit` nearest by vector and the `limit` best by words."""
        ...
