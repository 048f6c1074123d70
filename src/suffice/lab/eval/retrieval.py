"""Measures search quality and speed, and at which place the passages stand that answer."""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import fmean, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from suffice.errors import Unreadable
from suffice.evidence.index import Filter, Hit
from suffice.evidence.ingest import Progress
from suffice.evidence.library import Library
from suffice.evidence.search import Search
from suffice.lab.eval.cases import Question, read_cases
from suffice.lab.eval.rows import read_rows
from suffice.lab.eval.run_record import run_record
from suffice.lab.eval.worker import indexed
from suffice.settings import Settings
from suffice.types import Passage

Ranking = list[str]
_DEEP = 200
"""The passages retrieved for the quality figures, enough for more than 100 documents."""


def bench_retrieval(
    corpus: Path, queries: Path, settings: Settings, progress: Progress
) -> dict[str, Any]:
    """nDCG@10, recall@100 and search time of the whole search, and without the verifier: of both
    scores, BM25 alone and vectors alone."""
    documents = read_rows(corpus, ("id", "text"))
    asked = read_rows(queries, ("query", "relevant"))
    with TemporaryDirectory() as folder:
        library = Library.open(Path(folder) / "bench.db", settings, create=True)
        rows = ((str(row["id"]), row.get("title", ""), row["text"]) for row in documents)
        library.add_texts(rows, progress=progress)
        search = library.search()
        vectors, embedding = _embedded(library, [row["query"] for row in asked])
        figures = _figures(search, asked, vectors)
        figures |= {"query_embedding": _times(embedding)}
        figures |= {"passages": library.store.count_changes(0), "queries": len(asked)}
    return {**figures, "run": run_record(corpus, queries)}


def _embedded(library: Library, questions: Sequence[str]) -> tuple[list[Any], list[float]]:
    vectors, times = [], []
    for question in questions:
        start = time.perf_counter()
        vectors.append(library.embedder.embed([question])[0])
        times.append(time.perf_counter() - start)
    return vectors, times


def _figures(search: Search, asked: Sequence[Mapping[str, Any]], vectors: Sequence[Any]) -> Any:
    ways = (*(("reranked",) if search.reader else ()), "hybrid", "bm25", "dense")
    scores: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    times: dict[str, list[float]] = {way: [] for way in ways}
    for row, vector in zip(asked, vectors, strict=True):
        relevant = _gains(row["relevant"])
        rankings = _rankings(search, row["query"], vector)
        for way in ways:
            scores[way].append(
                (ndcg(rankings[way], relevant, 10), recall(rankings[way], relevant, 100))
            )
            times[way].append(_timed(search, row["query"], vector, way))
    return {
        way: {
            "ndcg@10": round(fmean(pair[0] for pair in scores[way]), 4),
            "recall@100": round(fmean(pair[1] for pair in scores[way]), 4),
            **_times(times[way]),
        }
        for way in ways
    }


def _rankings(search: Search, question: str, vector: Any) -> dict[str, Ranking]:
    """The documents in the order of each way of searching."""
    hits = search.index.search(vector, question, search.allowed, _DEEP)
    names = {n: p.document for n, p in search.store.passages([h.number for h in hits]).items()}
    hybrid = _documents(hits, names, search.fused)
    found = search.ordered(question, search.scored(hits), search.allowed, {})
    read = [item.passage.document for item in found]
    return {
        "reranked": list(dict.fromkeys([*read, *hybrid])),
        "hybrid": hybrid,
        "bm25": _documents(hits, names, lambda hit: hit.keywords),
        "dense": _documents(hits, names, lambda hit: hit.similarity or 0.0),
    }


def _timed(search: Search, question: str, vector: Any, way: str) -> float:
    """The seconds from the query vector to the returned passages, at the configured depth."""
    start = time.perf_counter()
    dense = None if way == "bm25" else vector
    words = "" if way == "dense" else question
    hits = search.index.search(dense, words, search.allowed, search.settings.candidates)
    search.read(question, search.scored(hits), search.allowed, {} if way == "reranked" else None)
    return time.perf_counter() - start


def _documents(
    hits: Iterable[Hit], names: Mapping[int, str], score: Callable[[Hit], float]
) -> Ranking:
    """The documents in the order of their best passage, without those that score 0 or less."""
    best: dict[str, float] = {}
    for hit in hits:
        name, value = names[hit.number], score(hit)
        if value > 0:
            best[name] = max(value, best.get(name, 0.0))
    return sorted(best, key=lambda name: (-best[name], name))


def _gains(relevant: Mapping[str, Any]) -> dict[str, float]:
    try:
        return {str(name): float(gain) for name, gain in relevant.items()}
    except (TypeError, ValueError) as problem:
        raise Unreadable(
            f"'relevant' contains a value that is not a number: {problem}."
        ) from problem


def ndcg(ranking: Sequence[str], relevant: Mapping[str, float], depth: int) -> float:
    """The discounted gain of the first `depth` documents, divided by that of the ideal order."""
    gained = sum(
        relevant.get(name, 0.0) / math.log2(place + 2) for place, name in enumerate(ranking[:depth])
    )
    ideal = sorted(relevant.values(), reverse=True)[:depth]
    most = sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))
    return gained / most if most else 0.0


def recall(ranking: Sequence[str], relevant: Mapping[str, float], depth: int) -> float:
    """The share of relevant documents that are among the first `depth`."""
    wanted = {name for name, gain in relevant.items() if gain > 0}
    return len(wanted & set(ranking[:depth])) / len(wanted) if wanted else 0.0


def _times(seconds: Sequence[float]) -> dict[str, float]:
    marks = quantiles(seconds, n=100) if len(seconds) > 1 else [seconds[0]] * 99
    return {"p50_ms": round(marks[49] * 1e3, 2), "p95_ms": round(marks[94] * 1e3, 2)}


DEPTHS = (1, 3, 5, 10, 20, 50)
MISSED = 5
"""A question is a miss if a needed passage stands after this place."""
_WORD = re.compile(r"[^\W_]+")
_MOST_OF = 0.5
"""A quote that a document writes in other signs is where at least this share of its word pairs
stands."""

Way = frozenset[str]
"""The passages that hold a quote together, by their ids."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A question with the place at which the last needed passage was found; `None`: not found."""

    collection: str
    kind: str
    question: str
    place: int | None
    ndcg: float


def bench_places(folder: Path, settings: Settings, progress: Progress) -> dict[str, Any]:
    """The places of the needed passages, for the answerable questions of a folder as read by
    `suffice eval`. Questions whose passages cannot be told are counted, not measured."""
    cases = read_cases(folder)
    answerable = tuple(case for case in cases.questions if case.answerable)
    cases = replace(cases, questions=answerable, drafts=())
    placed: list[Placed] = []
    unplaced: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        libraries = indexed(cases, settings, Path(scratch), progress)
        passages = {name: Passages(_all(library)) for name, library in libraries.items()}
        search = {name: library.search(top=DEPTHS[-1]) for name, library in libraries.items()}
        for number, case in enumerate(answerable, 1):
            needed = passages[case.collection].needed(case)
            if needed:
                found = [item.passage for item in search[case.collection](case.question)]
                stored = passages[case.collection].stored
                placed.append(_placed(case.collection, case, needed, found, stored))
            else:
                unplaced.append(case.question)
            progress("questions", number, len(answerable))
        count = sum(len(one.all) for one in passages.values())
        for library in libraries.values():
            library.store.close()
    return {
        "data": cases.name,
        "passages": count,
        **figures(placed),
        "collections": _by(placed, "collection"),
        "kinds": _by(placed, "kind"),
        "misses": [
            {"question": one.question, "collection": one.collection, "place": one.place}
            for one in placed
            if one.place is None or one.place > MISSED
        ],
        "unplaced": unplaced,
        "run": run_record(*cases.files),
    }


def figures(placed: Sequence[Placed]) -> dict[str, Any]:
    """The share of questions with all needed passages among the first n, for each depth."""
    count = len(placed)
    if not count:
        return {"questions": 0}
    deepest = DEPTHS[-1] + 1
    return {
        "questions": count,
        "recall": {
            str(depth): sum(one.place is not None and one.place <= depth for one in placed) / count
            for depth in DEPTHS
        },
        "ndcg@10": fmean(one.ndcg for one in placed),
        "mean_place": fmean(one.place or deepest for one in placed),
    }


def _by(placed: Sequence[Placed], field: str) -> dict[str, Any]:
    groups: dict[str, list[Placed]] = defaultdict(list)
    for one in placed:
        groups[getattr(one, field)].append(one)
    return {name: figures(group) for name, group in sorted(groups.items()) if name}


def _placed(
    collection: str,
    case: Question,
    needed: Sequence[Sequence[Way]],
    found: Sequence[Passage],
    stored: Mapping[str, Passage],
) -> Placed:
    """A passage that the search joined with its neighbours holds each of them."""
    wanted = {name: stored[name] for ways in needed for way in ways for name in way}
    places: dict[str, int] = {}
    for place, passage in enumerate(found, 1):
        for name, one in wanted.items():
            if passage.holds(one):
                places.setdefault(name, place)
    beyond = len(found) + 1
    best = [min(ways, key=lambda way: _last(way, places, beyond)) for ways in needed]
    last = max(_last(way, places, beyond) for way in best)
    chosen = frozenset[str]().union(*best)
    gained = sum(1 / math.log2(places[name] + 1) for name in chosen if places.get(name, 11) <= 10)
    most = sum(1 / math.log2(place + 1) for place in range(1, min(len(chosen), 10) + 1))
    found_at = None if last == beyond else last
    return Placed(collection, case.type, case.question, found_at, min(1.0, gained / most))


def _last(way: Way, places: Mapping[str, int], beyond: int) -> int:
    return max(places.get(name, beyond) for name in way)


def _all(library: Library) -> list[Passage]:
    store = library.store
    numbers = range(1, store.count_changes(0) + 1)
    allowed = Filter(history=True)
    return [one for one in store.passages(numbers).values() if allowed.allows(one)]


@dataclass(frozen=True)
class Passages:
    """All passages of a collection, in which quotes are looked up."""

    all: Sequence[Passage]

    @cached_property
    def stored(self) -> Mapping[str, Passage]:
        """The passages by their ids."""
        return {passage.id: passage for passage in self.all}

    @cached_property
    def documents(self) -> Mapping[str, Document]:
        groups: dict[str, list[Passage]] = defaultdict(list)
        for passage in self.all:
            groups[passage.document].append(passage)
        return {name: Document.of(own) for name, own in groups.items()}

    def needed(self, case: Question) -> list[list[Way]]:
        """For each quote, the ways to hold it; empty if one of them is in no passage."""
        documents = [
            document
            for name, document in self.documents.items()
            if not case.sources or any(source in name for source in case.sources)
        ]
        texts = [[quote] for quote in case.quotes] or [list(group) for group in case.answers]
        needed = []
        for alternatives in texts:
            ways = [way for text in alternatives for one in documents for way in one.ways(text)]
            near = [one.nearest(text) for text in alternatives for one in documents]
            best = max(near, key=lambda pair: pair[0], default=(0.0, ""))
            if not ways and case.quotes and best[0] >= _MOST_OF:
                ways = [frozenset({best[1]})]
            if not ways:
                return []
            needed.append(ways)
        return needed


@dataclass(frozen=True, slots=True)
class Document:
    """The words of a document in order, each with the passage it stands in."""

    words: Sequence[str]
    owners: Sequence[str]

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Document:
        words: list[str] = []
        owners: list[str] = []
        for passage in sorted(passages, key=lambda one: one.start):
            own = words_of(passage.text)
            words += own
            owners += [passage.id] * len(own)
        return cls(words, owners)

    def ways(self, text: str) -> Iterator[Way]:
        """The passages that hold the text, for each place where it stands."""
        wanted = words_of(text)
        for start in range(len(self.words) - len(wanted) + 1):
            end = start + len(wanted)
            if wanted and self.words[start] == wanted[0] and self.words[start:end] == wanted:
                yield frozenset(self.owners[start:end])

    def nearest(self, text: str) -> tuple[float, str]:
        """The passage with most word pairs of the text, and their share."""
        wanted = set(pairwise(words_of(text)))
        held: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for pair, owner in zip(pairwise(self.words), self.owners, strict=False):
            if pair in wanted:
                held[owner].add(pair)
        best = max(held, key=lambda owner: len(held[owner]), default="")
        return (len(held[best]) / len(wanted), best) if best else (0.0, "")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())
