"""What SQL knows of the documents a caller may read: what a citation is checked against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from suffice.evidence.index import Filter
from suffice.evidence.store import Store
from suffice.types import Passage

_MOST_DOCUMENTS = 400


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """Documents in force or not, but none that the caller has no right to: of those it must not be
    seen whether they exist."""

    store: Store
    allowed: Filter = field(default_factory=Filter)

    def lookup(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Passages by their id, as they stand now; unknown ids are left out."""
        found = self.store.lookup(ids)
        return {id: passage for id, passage in found.items() if self.allowed.may_read(passage)}

    def titled(self, words: Sequence[str]) -> Sequence[Passage]:
        """One passage of each version whose title holds all of the words."""
        return self._readable(self.store.titled(self.allowed.collection, words))

    def holding(self, phrase: str, documents: Sequence[str] = ()) -> Sequence[Passage]:
        """Passages that hold a phrase in text or heading; of the documents named, if any are."""
        named = tuple(dict.fromkeys(documents))[:_MOST_DOCUMENTS]
        return self._readable(self.store.holding(self.allowed.collection, phrase, named))

    def _readable(self, found: Sequence[Passage]) -> Sequence[Passage]:
        return [passage for passage in found if self.allowed.may_read(passage)]
