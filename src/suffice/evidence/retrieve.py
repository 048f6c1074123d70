"""Finds evidence with any retriever: for the time asked about, with the queries of an LLM, and for
each of several questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from math import inf

from suffice.deadline import current
from suffice.errors import ModelError
from suffice.evidence.index import LooksBack, Retriever, SearchesAgain, Widens, gather
from suffice.models.cache import Cache, cache_key
from suffice.models.chat import fence, fenced, quoted
from suffice.models.embedder import Embedder
from suffice.models.llm.client import Budget, Llm, LlmUse, open_llm
from suffice.models.llm.prompts import Prompt, build_prompt
from suffice.models.llm.replies import read_reply
from suffice.settings import DraftSettings, SearchSettings
from suffice.text.one_line import printable_line
from suffice.text.question import several, with_subject
from suffice.text.when import When, asked_about
from suffice.types import Evidence, Retrieved

PROMPT = "queries-1"
REWRITING = LlmUse("queries", "draft.llm", "draft.max_tokens")
_MOST = 3
_LONGEST = 160
_PLACES = 10
_CACHED = 1_000
_SURE = 4.0
"""Log-odds from which the best passage is taken to answer."""
_ODD = "Use a model that follows instructions, or set search.rewrite to never."


@dataclass(frozen=True, slots=True)
class QueriesReply:
    """The reply with other queries."""

    queries: tuple[str, ...]


def queries_prompt(evidence: Evidence) -> Prompt[QueriesReply]:
    """The prompt: the question, and where the first search found passages."""
    places = dict.fromkeys(
        quoted(" > ".join((passage.title or passage.document, *passage.headings)))
        for passage in evidence.passages
    )
    listed = "\n".join([*places][:_PLACES])
    mark = fence([evidence.question, listed])
    blocks = [
        *([fenced(mark, "places that a first search found", listed)] if listed else []),
        fenced(mark, "question", evidence.question),
    ]
    return build_prompt(PROMPT, blocks, QueriesReply)


def read_queries(reply: str) -> tuple[str, ...]:
    """The queries of a reply: the first few, each of one short line. Raise `ValueError` if it holds
    none."""
    queries = read_reply(reply, QueriesReply).queries
    lines = (
        printable_line(query[:_LONGEST], _LONGEST)
        for query in queries
        if any(map(str.isalnum, query))
    )
    distinct = tuple(dict.fromkeys(filter(None, lines)))[:_MOST]
    if not distinct:
        raise ValueError("it contains no query")
    return distinct


@dataclass(frozen=True)
class Rewriter:
    """An LLM that is asked for other queries if the first search is not sure of its result."""

    llm: Llm
    settings: SearchSettings
    cache: Cache[str, tuple[str, ...]] = field(
        default_factory=lambda: Cache(_CACHED), compare=False
    )

    @classmethod
    def open(cls, search: SearchSettings, draft: DraftSettings) -> Rewriter | None:
        """The rewriter of the settings: the LLM that writes the drafts, if there is one."""
        if search.rewrite == "never" or not draft.llm.startswith(("http://", "https://")):
            return None
        llm = open_llm(
            REWRITING,
            url=draft.llm,
            model=draft.model,
            key_env=draft.key_env,
            timeout=search.rewrite_seconds,
            retries=0,
            max_tokens=draft.max_tokens,
        )
        # Notes are shown to callers, who should not see the URL.
        return cls(replace(llm, endpoint=replace(llm.endpoint, called="the LLM")), search)

    def asking(self, model: str) -> Rewriter:
        """The same rewriter, asking this model if none is configured."""
        return self if self.llm.model else replace(self, llm=replace(self.llm, model=model))

    def queries(self, evidence: Evidence) -> tuple[str, ...]:
        """Other queries for the question; none if the first search is sure. Raise `ModelError` if
        the LLM gives none."""
        if self.settings.rewrite == "auto" and sure(evidence):
            return ()
        prompt = queries_prompt(evidence)
        key = cache_key(self.llm.endpoint.url, self.llm.model, prompt.version, prompt.user)
        queries = self.cache.get(key)
        if queries is None:
            queries = self._requested(prompt)
            self.cache.put(key, queries)
        return queries

    def _requested(self, prompt: Prompt[QueriesReply]) -> tuple[str, ...]:
        seconds = min(self.settings.rewrite_seconds, _half_of_time_left())
        reply = self.llm.reply(prompt, Budget(seconds, "search.rewrite_seconds"))
        try:
            return read_queries(reply)
        except ValueError as problem:
            raise self.llm.endpoint.problem(str(problem), _ODD) from None


def sure(found: Evidence) -> bool:
    """Whether the verifier that read the passages is sure that one of them answers."""
    best = max((item.answers for item in found if item.answers is not None), default=None)
    return best is not None and best >= _SURE


def _half_of_time_left() -> float:
    """Half of the time that is left for the answer: the rest needs some, too."""
    work = current()
    left = None if work is None else work.left
    return inf if left is None else left / 2


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
