"""The stored documents that a caller may read. Citations are checked against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from suffice.evidence.index import Filter
from suffice.evidence.store import Store
from suffice.types import Passage

_MOST_DOCUMENTS = 400


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """Documents that the caller may read, in force or not. Other documents are never revealed."""

    store: Store
    allowed: Filter = field(default_factory=Filter)

    def lookup(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Passages by id, as currently stored, without unknown ids."""
        return self.store.lookup(ids, self.allowed.may_use)

    def titled(self, words: Sequence[str]) -> Sequence[Passage]:
        """One passage from each version whose title contains all of the words."""
        may_read = self.allowed.may_use
        return self.store.titled(self.allowed.collection, words, may_read=may_read)

    def holding(self, phrase: str, documents: Sequence[str] = ()) -> Sequence[Passage]:
        """Passages with a phrase in their text or heading, in the given documents or in all."""
        named = tuple(dict.fromkeys(documents))[:_MOST_DOCUMENTS]
        collection, may_read = self.allowed.collection, self.allowed.may_use
        return self.store.holding(collection, phrase, named, may_read=may_read)
