"""Finds evidence with any retriever: for the time asked about, with the queries of an LLM, and for
each of several questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import islice

from suffice.errors import ModelError
from suffice.evidence.retriever import LooksBack, Retriever, SearchesAgain, Widens, gather
from suffice.evidence.rewrite import Rewriter
from suffice.models.embedder import Embedder
from suffice.text.several import several, with_subject
from suffice.text.times import When
from suffice.text.when import asked_about
from suffice.types import Evidence, Retrieved

SEARCHED_AGAIN = "Searched again with rewritten queries: {}."
NOT_AGAIN = "Searched with the words of the question only: {}"
_MORE = 5
"""A second search adds as many passages as the first found, but at least this many."""


def time_of(question: str, retriever: Retriever, today: date) -> When:
    """The time set on the retriever by the caller, or else the time the question asks about."""
    chosen = retriever.chosen if isinstance(retriever, LooksBack) else None
    return chosen or asked_about(question, today)


def retriever_at(retriever: Retriever, when: When, today: date) -> Retriever:
    """The retriever for that time. A retriever without `LooksBack` is returned unchanged."""
    return retriever.at(when, today) if isinstance(retriever, LooksBack) else retriever


def find_each(retriever: Retriever, evidence: Evidence, embedder: Embedder | None) -> Evidence:
    """The evidence, with more passages for each of several questions asked at once."""
    asked = several(evidence.question)
    if len(asked) == 1:
        return evidence
    return _with_more(
        retriever, evidence, [*map(evidence.in_context, with_subject(asked))], embedder
    )


def find(
    retriever: Retriever, asked: Evidence, embedder: Embedder | None, rewriter: Rewriter | None
) -> Evidence:
    """The evidence for a question. `asked` holds the question, with the subject of the documents
    if the question does not name it: search and LLM read both."""
    question = asked.in_context(asked.question)
    found = gather(question, retriever(question), embedder)
    found = find_more(retriever, found, rewriter)
    found = replace(found, question=asked.question, subject=asked.subject)
    return find_each(retriever, found, embedder)


def find_more(retriever: Retriever, found: Evidence, rewriter: Rewriter | None) -> Evidence:
    """The evidence of a search that also looks for other queries for the question, with a note
    about it."""
    if rewriter is None or not isinstance(retriever, Widens):
        return found
    try:
        queries = rewriter.queries(found)
    except ModelError as problem:
        return replace(found, notes=(*found.notes, NOT_AGAIN.format(problem.message)))
    if not queries:
        return found
    found = retriever.widened(found, queries)
    note = SEARCHED_AGAIN.format("; ".join(f"“{query}”" for query in queries))
    return replace(found, notes=(*found.notes, note))


def _with_more(
    retriever: Retriever, evidence: Evidence, queries: Sequence[str], embedder: Embedder | None
) -> Evidence:
    """Add passages, scored by their relevance to the original question."""
    question = evidence.in_context(evidence.question)
    if isinstance(retriever, SearchesAgain):
        found = retriever.again(question, queries).items
    else:
        found = _rescored(retriever, question, queries, embedder)
    known = evidence.passages
    new = (item for item in found if not any(one.holds(item.passage) for one in known))
    more = islice(new, max(len(known), _MORE))
    return replace(evidence, items=(*evidence.items, *more))


def _rescored(
    retriever: Retriever, question: str, queries: Sequence[str], embedder: Embedder | None
) -> tuple[Retrieved, ...]:
    """Passages that the queries find, with scores for the question instead of the query."""
    passages = {
        item.passage.id: item.passage
        for query in queries
        for item in gather(query, retriever(query), None)
    }
    return gather(question, list(passages.values()), embedder).items
