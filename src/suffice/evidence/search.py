"""Finds evidence: embeds the question, queries the index, combines the scores, lets the verifier
read the first passages, and joins neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import islice
from statistics import median
from types import MappingProxyType

from suffice.errors import ModelMismatch, ModelUnreachable
from suffice.evidence.deduplicate import distinct
from suffice.evidence.edge import EdgeIndex
from suffice.evidence.index import Filter, Hit, Index
from suffice.evidence.memory import MemoryIndex
from suffice.evidence.qdrant import QdrantIndex
from suffice.evidence.rows import Vectors
from suffice.evidence.split import placed, section_start, shared_headings, spanning, version_name
from suffice.evidence.store import Store
from suffice.models.cross_encoder import CrossEncoder
from suffice.models.embedder import Embedder
from suffice.settings import DiversitySettings, SearchSettings, Settings
from suffice.text.when import TimeAsked, When
from suffice.types import Evidence, Passage, Readings, Retrieved

_REACH = 8
"""A passage is joined with at most this many on either side."""
_NEAR = 0.6
"""A passage of another section joins one if its score is at least this share of its score."""
_HEADINGS = 1_000
"""The headings between two passages have at most this many characters."""


def joined(
    items: Sequence[Retrieved], store: Store, allowed: Filter, room: int
) -> Iterator[Retrieved]:
    """The items in order, each with its neighbours in at most `room` characters. A passage that has
    been joined with a better one is not repeated."""
    if not room:
        yield from items
        return
    scores = {item.number: item for item in items}
    near = {n for number in scores for n in range(number - _REACH, number + _REACH + 1)}
    around = _Around(scores, store.passages(sorted(near)), allowed, room)
    for item in items:
        if item.number not in around.used:
            members = around.members(item)
            yield _joined(item, members, scores, store)


@dataclass(slots=True)
class _Around:
    """The passages around the items, by number. Those of a document version follow each other."""

    items: Mapping[int, Retrieved]
    passages: Mapping[int, Passage]
    allowed: Filter
    room: int
    used: set[int] = field(default_factory=set)

    def members(self, item: Retrieved) -> dict[int, Passage]:
        """The item and its neighbours, in the order of the document."""
        first = last = item.number
        chosen = {first: item.passage}
        sides = [1, -1]
        while sides:
            for side in list(sides):
                number = last + 1 if side > 0 else first - 1
                passage = self.passages.get(number)
                if passage is None or not self._joins(item, number, passage, chosen):
                    sides.remove(side)
                    continue
                chosen[number] = passage
                first, last = min(first, number), max(last, number)
        self.used |= chosen.keys()
        return dict(sorted(chosen.items()))

    def _joins(
        self, item: Retrieved, number: int, passage: Passage, chosen: Mapping[int, Passage]
    ) -> bool:
        size = sum(len(other.text) for other in (passage, *chosen.values()))
        if number in self.used or size > self.room or not self.allowed.allows(passage):
            return False
        if not _same_version(passage, item.passage) or abs(number - item.number) > _REACH:
            return False
        if passage.headings == item.passage.headings:
            return True
        found = self.items.get(number)
        return found is not None and found.answers is not None and found.score >= _NEAR * item.score


def _same_version(first: Passage, second: Passage) -> bool:
    return (first.collection, first.access, version_name(first.id)) == (
        second.collection,
        second.access,
        version_name(second.id),
    )


def _joined(
    item: Retrieved, members: Mapping[int, Passage], scores: Mapping[int, Retrieved], store: Store
) -> Retrieved:
    if len(members) == 1:
        return item
    passages = list(members.values())
    answers = [scores[n].answers for n in members if n in scores]
    known = [value for value in answers if value is not None]
    return replace(
        item,
        passage=_spanning(item, passages, store),
        answers=max(known) if known else None,
    )


def _spanning(item: Retrieved, passages: Sequence[Passage], store: Store) -> Passage:
    first, end = passages[0], passages[-1].end
    own = first.headings[len(shared_headings(passages)) :]
    before = max(0, first.start - _HEADINGS)
    source = store.source(item.number, before, end)
    start = section_start(source[: first.start - before], own)
    return spanning(passages, before + start, source[start:])


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


# BM25 is unbounded. A BM25 score of this value counts as one half.
_HALF_KEYWORDS = 10.0
# If copies fill the results, the search reads at most this many times the wanted passages.
_MOST_COPIES = 8
# What one log-odd of the verifier adds to the score, and where its log-odds end: a passage scored
# worse than the best by more than `_HOPELESS` hardly becomes the first, so it is not read.
_ANSWERS = 0.03
_SURE = 6.0
_HOPELESS = 0.2
# More than `top_k` passages are returned if their scores are this close to the best one's, as long
# as all of them together have at most so many characters.
_CLOSE = 0.15
_ROOM = 16_000


Scores = Mapping[int, float]
Scored = Sequence[tuple[Hit, float]]
Said = dict[int, float | None]
"""`Readings` that are being made."""
NO_SCORES: Scores = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Search:
    """The retriever over the store. Call it with a question to get the evidence.

    `also` holds more filters to search with. Each adds only what the previous filters exclude.
    """

    store: Store
    index: Index
    embedder: Embedder
    settings: SearchSettings
    allowed: Filter
    also: tuple[Filter, ...] = ()
    diversity: DiversitySettings | None = None
    """Which passages count as copies of each other."""
    reader: CrossEncoder | None = None
    """Reads the first passages to order them; `None`: the scores of the index decide."""

    def __call__(self, question: str) -> Evidence:
        return self._found(question)

    def widened(self, found: Evidence, queries: Sequence[str]) -> Evidence:
        return self._found(found.question, queries, found.readings)

    def _found(
        self, question: str, queries: Sequence[str] = (), known: Readings | None = None
    ) -> Evidence:
        """The best passages for the question, of those that it and the queries find."""
        (vector, *others), problem = self._vectors([question, *queries])
        filters = (self.allowed.dated(), *self.also)
        items: list[Retrieved] = []
        readings = dict(known or {})
        near = vector is None
        for place, allowed in enumerate(filters):
            hits = self.index.search(vector, question, allowed, self.settings.candidates)
            near = near or (self._any_near(hits) and not (place and allowed.history))
            scores = self._scores(queries, others, allowed)
            missing = sorted(scores.keys() - {hit.number for hit in hits})
            if missing:
                hits = [*hits, *self.index.score(vector, question, allowed, missing)]
            read = readings if place == 0 else None
            items += [
                item
                for item in self.read(question, self.scored(hits, scores), allowed, read)
                if not any(earlier.allows(item.passage) for earlier in filters[:place])
            ]
        notes = [keywords_note(problem)] if problem else []
        if not near:
            notes.append(
                "No passage is similar in meaning to the question; searched by keywords only."
            )
        read_by = self.reader.id if self.reader else ""
        return Evidence(
            question,
            tuple(items),
            tuple(notes),
            read_by=read_by,
            readings=readings,
            without_vectors=problem,
        )

    def _scores(
        self, queries: Sequence[str], vectors: Sequence[Vectors | None], allowed: Filter
    ) -> dict[int, float]:
        """The passages that other queries find, each with its best score for one of them."""
        depth = max(self.settings.top_k, self.settings.rerank)
        scores: dict[int, float] = {}
        for query, vector in zip(queries, vectors, strict=True):
            hits = self.index.search(vector, query, allowed, self.settings.candidates)
            for hit, score in self.scored(hits)[:depth]:
                scores[hit.number] = max(scores.get(hit.number, 0.0), score)
        return scores

    @property
    def chosen(self) -> When | None:
        day, last = self.allowed.as_of, self.allowed.through or self.allowed.as_of
        if self.allowed.history:
            return When(TimeAsked.EVER)
        if day is None or last is None:
            return None
        return When(TimeAsked.THEN, day, last + timedelta(days=1), day.isoformat(), firm=True)

    def at(self, when: When, today: date) -> Search:
        """The same search over the versions in force at that time."""
        if self.chosen:
            return self
        allowed, *also = self.allowed.at(when, today)
        return replace(self, allowed=allowed, also=tuple(also))

    def again(self, question: str, queries: Sequence[str]) -> Evidence:
        (vector, *others), problem = self._vectors([question, *queries])
        allowed, depth = self.allowed.dated(), self.settings.candidates
        numbers: dict[int, None] = {}
        for query, other in zip(queries, others, strict=True):
            hits = self.scored(self.index.search(other, query, allowed, depth))
            numbers |= dict.fromkeys(hit.number for hit, _ in hits[: self.settings.top_k])
        found = self.scored(self.index.score(vector, question, allowed, list(numbers)))
        items = tuple(self._distinct(found, allowed, len(found)))
        notes = (keywords_note(problem),) if problem else ()
        return Evidence(question, items, notes, without_vectors=problem)

    def _vectors(self, texts: Sequence[str]) -> tuple[list[Vectors | None], str]:
        """The vectors of texts, or why there are none."""
        try:
            return list(self.embedder.embed(texts)), ""
        except ModelUnreachable as problem:
            return [None] * len(texts), problem.message

    @property
    def documents(self) -> StoredDocuments:
        """The stored documents that the caller may read, in force or not, for citation checks."""
        return StoredDocuments(self.store, self.allowed)

    def fused(self, hit: Hit) -> float:
        """The combined score of cosine and BM25. It depends on this passage alone."""
        if hit.similarity is None:
            return _worded(hit)
        weight = self.settings.dense_weight
        return weight * hit.similarity + (1 - weight) * _worded(hit)

    def scored(self, hits: Sequence[Hit], others: Scores = NO_SCORES) -> Scored:
        """The hits with their scores, best first. `others` are scores for other queries; a better
        one counts. If no passage is similar in meaning, BM25 alone decides."""
        near = bool(others) or self._any_near(hits)
        own = self.fused if near else _worded
        scored = [(hit, max(own(hit), others.get(hit.number, 0.0))) for hit in hits]
        kept = [(hit, score) for hit, score in scored if near or score > 0]
        return sorted(kept, key=lambda pair: (-pair[1], pair[0].number))

    def _any_near(self, hits: Sequence[Hit]) -> bool:
        return any((hit.similarity or 0.0) >= self.settings.min_dense_similarity for hit in hits)

    def read(
        self, question: str, scored: Scored, allowed: Filter, readings: Said | None
    ) -> tuple[Retrieved, ...]:
        """The best hits as passages with their neighbours."""
        items = self.ordered(question, scored, allowed, readings)
        return tuple(self._enough(joined(items, self.store, allowed, self.settings.reading)))

    def _enough(self, found: Iterable[Retrieved]) -> Iterator[Retrieved]:
        """The first items, and those after them that are nearly as good as the best."""
        best, size = 0.0, 0
        for count, item in enumerate(islice(found, max(self.settings.top_k, self.settings.most))):
            best = item.score if not count else best
            size += len(item.passage.text)
            close = item.answers is not None and item.score >= best - _CLOSE and size <= _ROOM
            if count >= self.settings.top_k and not close:
                return
            yield item

    def ordered(
        self, question: str, scored: Scored, allowed: Filter, readings: Said | None
    ) -> list[Retrieved]:
        """The best hits as they are stored, the first of them in the order that the verifier gives
        them. Its readings are used and completed; without a place for them, it is not asked."""
        depth = self.settings.rerank if self.reader and readings is not None else 0
        items = self._distinct(scored, allowed, max(self.settings.top_k, depth))
        return self._ordered(question, items, depth, {} if readings is None else readings)

    def _distinct(self, scored: Scored, allowed: Filter, most: int) -> list[Retrieved]:
        """The best hits as stored, near copies of better ones left out. The store has the final say
        on what the filter allows."""
        items: list[Retrieved] = []
        found = Evidence("")
        for start in range(0, len(scored), most):
            portion = scored[start : start + most]
            passages = self.store.passages([hit.number for hit, _ in portion])
            for hit, score in portion:
                passage = passages.get(hit.number)
                if passage is not None and allowed.allows(passage):
                    measured = hit.similarity, hit.keywords, score
                    items.append(Retrieved(passage, *measured, number=hit.number))
            found, _ = distinct(Evidence("", tuple(items)), self.diversity)
            if len(found) >= most or len(items) >= _MOST_COPIES * most:
                break
        return list(found.items[:most])

    def _ordered(
        self,
        question: str,
        items: list[Retrieved],
        depth: int,
        readings: Said,
    ) -> list[Retrieved]:
        """The items, the first of them ordered by their scores together with what the verifier says
        of each: whether it answers the question."""
        if self.reader is None or not items:
            return items
        least = items[0].score - _HOPELESS
        first = [item for item in items[:depth] if item.score >= least]
        new = [item for item in first if item.number not in readings]
        texts = [placed(item.passage) for item in new]
        said = self.reader.answers(question, texts) if texts else []
        readings.update(zip((item.number for item in new), said, strict=True))
        odds = [readings[item.number] for item in first]
        known = [value for value in odds if value is not None]
        if not known:
            return items
        middle = median(known)
        read = [
            replace(item, answers=value, score=item.score + _worth(value, middle))
            for item, value in zip(first, odds, strict=True)
        ]
        return [*sorted(read, key=lambda item: -item.score), *items[len(first) :]]


def keywords_note(problem: str = "") -> str:
    """The note on a search by keywords only, with the embedder's problem."""
    return f"Searched by keywords only: {problem}" if problem else "Searched by keywords only."


def _worded(hit: Hit) -> float:
    return hit.keywords / (hit.keywords + _HALF_KEYWORDS)


def _worth(odds: float | None, middle: float) -> float:
    """What the log-odds add to a score. A passage that cannot be read is neither helped nor
    harmed."""
    return _ANSWERS * max(-_SURE, min(_SURE, middle if odds is None else odds))


def open_index(store: Store, settings: Settings, model: str) -> Index:
    """Open the configured index. Raise an error if it was built with another embedder."""
    if settings.index_engine == "edge":
        return EdgeIndex(store, model)
    if settings.index_engine == "qdrant":
        return QdrantIndex(store, model, settings.qdrant)
    if store.last_vector() and not store.has_vectors(model):
        raise ModelMismatch(
            f"The vectors in {store.where} were not created with {model}.",
            remedy="Run: suffice index --rebuild, or restore the previous embedder.model.",
        )
    return MemoryIndex(store, model)
