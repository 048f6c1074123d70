"""Measures search quality against relevance judgements, and search speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from suffice.errors import Unreadable
from suffice.eval.rows import read_rows
from suffice.eval.run_record import run_record
from suffice.evidence.index import Hit
from suffice.evidence.ingest import Progress
from suffice.evidence.library import Library
from suffice.evidence.search import Search
from suffice.settings import Settings

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
