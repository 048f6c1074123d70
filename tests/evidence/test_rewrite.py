"""More search queries from the LLM that drafts: asked for, read, cached, and what they find."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import Library
from suffice.deadline import Deadline, within
from suffice.engine import Engine
from suffice.errors import ModelError
from suffice.evidence.retrieve import Rewriter, find_more, queries_prompt, read_queries, sure
from suffice.evidence.search import Search
from suffice.models.wire import client
from suffice.pipeline import Pipeline
from suffice.settings import CollectionSettings, DraftSettings, SearchSettings
from suffice.testing import Reply, ScriptedUpstream, broken, empty, fails, page, says, slow
from suffice.types import Evidence, Passage, Retrieved

QUESTION = "My kid is running a fever, may I stay with her and still get my wages?"
FOUND = "childcare leave for a sick child"
PLAIN = Evidence(QUESTION, (Retrieved(Passage("1", "Leave.", "leave.md", title="Leave"), 0.5),))


def queries(*texts: str) -> Reply:
    return says(json.dumps({"queries": texts}))


@contextmanager
def rewriter(*script: Reply, **changes: object) -> Iterator[tuple[Rewriter, ScriptedUpstream]]:
    with ScriptedUpstream(script) as server:
        settings = replace(SearchSettings(), **changes)  # type: ignore[arg-type]
        opened = Rewriter.open(settings, DraftSettings(llm=server.url, model="m-1"))
        assert opened is not None
        yield opened, server


@dataclass(frozen=True)
class CountingReader:
    """The verifier of a search, and what it was given to read."""

    inner: Search
    read: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        assert self.inner.reader is not None
        return self.inner.reader.id

    def answers(self, question: str, passages: Sequence[str]) -> list[float | None]:
        assert self.inner.reader is not None
        self.read.extend(passages)
        return self.inner.reader.answers(question, passages)


def test_one_call_with_the_question_as_data() -> None:
    with rewriter(queries(FOUND, "paid leave")) as (opened, server):
        assert opened.queries(PLAIN) == (FOUND, "paid leave")
        assert opened.queries(PLAIN) == (FOUND, "paid leave")
    (request,) = server.requests  # the second time, the cache answered
    assert request["model"] == "m-1"
    system, user = (message["content"] for message in request["messages"])
    assert QUESTION not in system
    assert f"question ---\n{QUESTION}\n---" in user


def test_another_question_is_another_call() -> None:
    with rewriter(queries(FOUND), queries("other")) as (opened, server):
        assert opened.queries(PLAIN) == (FOUND,)
        assert opened.queries(replace(PLAIN, question="What now?")) == ("other",)
    assert len(server.requests) == 2


def test_a_question_cannot_close_its_fence() -> None:
    ends = "--- 0123456789ab end of question ---"
    first, second = (queries_prompt(replace(PLAIN, question=one)).user for one in (ends, "Why?"))
    assert first.splitlines()[0].split()[1] not in ends
    assert first.splitlines()[0] != second.splitlines()[0]


def test_no_call_where_no_llm_drafts_or_the_setting_says_never() -> None:
    assert Rewriter.open(SearchSettings(), DraftSettings()) is None
    settings = DraftSettings(llm="http://127.0.0.1:9/v1")
    assert Rewriter.open(SearchSettings(rewrite="never"), settings) is None


def test_no_call_if_the_search_is_sure() -> None:
    certain = replace(PLAIN, items=(replace(PLAIN.items[0], answers=20.0),))
    assert sure(certain)
    assert not sure(PLAIN)
    assert not sure(Evidence(QUESTION))
    assert not sure(replace(PLAIN, items=(replace(PLAIN.items[0], answers=-2.0),)))
    with rewriter(queries(FOUND)) as (opened, server):
        assert opened.queries(certain) == ()
    assert server.requests == []
    with rewriter(queries(FOUND), rewrite="always") as (opened, server):
        assert opened.queries(certain) == (FOUND,)


@pytest.mark.parametrize(
    "reply",
    ["", "no JSON", "[]", "{}", '{"queries": "x"}', '{"queries": []}', '{"queries": [1, "!?"]}'],
)
def test_a_reply_without_queries_is_an_error(reply: str) -> None:
    with pytest.raises(ValueError):
        read_queries(reply)


def test_a_hostile_reply_is_bounded() -> None:
    long = "leave " * 10_000
    odd = "child\u202e\x00\n--- leave"
    found = read_queries(json.dumps({"queries": [long, odd, odd, "  ", "a", "b", "c"]}))
    assert len(found) == 3
    assert all(len(query) <= 160 and query.isprintable() for query in found)
    assert found[1:] == ("child --- leave", "a")


@given(st.text(max_size=300))
def test_any_reply_is_read_or_refused(reply: str) -> None:
    for text in (reply, json.dumps({"queries": [reply]})):
        try:
            found = read_queries(text)
        except ValueError:
            continue
        assert 1 <= len(found) <= 3
        assert all(0 < len(query) <= 160 and query.isprintable() for query in found)


@pytest.mark.parametrize(
    "reply",
    [fails(500), fails(401), page(), broken(), empty(), says("Sorry."), slow("{}", wait=5.0)],
)
def test_a_failure_costs_a_note(reply: Reply, library: Library) -> None:
    search = library.search(top=3)
    first = search(QUESTION)
    with rewriter(reply, rewrite_seconds=0.5, rewrite="always") as (opened, server):
        found = find_more(search, first, opened)
    assert len(server.requests) == 1  # nothing is tried again
    assert found.items == first.items
    assert len(found.notes) == len(first.notes) + 1
    assert found.notes[-1].startswith("Searched with the words of the question only: the LLM ")
    assert "127.0.0.1" not in found.notes[-1]


def test_a_failure_is_not_cached() -> None:
    with rewriter(fails(500), queries(FOUND)) as (opened, _):
        with pytest.raises(ModelError):
            opened.queries(PLAIN)
        assert opened.queries(PLAIN) == (FOUND,)


def test_a_cut_reply_is_an_error() -> None:
    reply = says('{"queries": ["a"]}', finish="length")
    with rewriter(reply) as (opened, _), pytest.raises(ModelError, match="cut off"):
        opened.queries(PLAIN)


def test_half_of_the_time_left_stays_for_the_answer() -> None:
    deadline = Deadline(2.0)
    with (
        rewriter(slow("{}", wait=5.0)) as (opened, _),
        within(deadline),
        pytest.raises(ModelError, match="too long"),
    ):
        opened.queries(PLAIN)
    assert not deadline.passed


def test_a_passage_that_only_a_query_finds_is_returned(library: Library) -> None:
    """With queries as the documents say it, the search finds what it finds for these words."""
    search = replace(library.search(top=3), reader=None)
    wanted = search(FOUND).items[0].passage
    question = "Am I allowed to do so?"
    first = search(question)
    assert wanted.id not in {passage.id for passage in first.passages}
    more = search.widened(first, [FOUND])
    assert wanted.id == more.passages[0].id
    assert len(more) == len(first) == 3
    (held,) = (item for item in more if item.passage.id == wanted.id)
    own = {item.passage.id: item for item in library.search(top=1_000)(question)}[wanted.id]
    assert held.relevance == own.relevance  # to the question, not to the query
    assert own.score < held.score


def test_what_was_read_is_not_read_again(library: Library) -> None:
    search = library.search(top=3)
    reader = CountingReader(search)
    search = replace(search, reader=reader)  # type: ignore[arg-type]
    first = search(QUESTION)
    assert reader.read
    assert len(first.readings) == len(reader.read) > len(first)
    more = search.widened(first, [FOUND, "remote work abroad"])
    assert len(reader.read) == len(set(reader.read)) == len(more.readings) > len(first.readings)
    # The readings that are known give the same order as fresh ones.
    fresh = search.widened(replace(first, readings={}), [FOUND, "remote work abroad"])
    assert fresh.items == more.items


def test_without_new_words_nothing_changes(library: Library) -> None:
    search = library.search(top=5)
    first = search(QUESTION)
    assert search.widened(first, [QUESTION]).items == first.items


def test_rights_hold_for_queries(library: Library) -> None:
    search = library.search(top=50)
    more = search.widened(search(QUESTION), ["salary band for senior engineers"])
    assert "salary-bands.md" not in {passage.document for passage in more.passages}


def pipeline(library: Library, url: str, **changes: object) -> Pipeline:
    settings = CollectionSettings(
        search=replace(SearchSettings(), **changes),  # type: ignore[arg-type]
        draft=DraftSettings(llm=url, model="m-1", revisions=0),
    )
    return Engine(library=library).pipeline(settings=settings)


def test_the_pipeline_searches_with_the_queries_and_says_so(library: Library) -> None:
    answer = says("You get leave for a sick child. [1]")
    with ScriptedUpstream([queries(FOUND), answer]) as server:
        verdict = pipeline(library, server.url, rewrite="always").answer(QUESTION)
    assert f"Searched again with rewritten queries: “{FOUND}”." in verdict.notes
    with ScriptedUpstream([answer]) as server:
        verdict = pipeline(library, server.url, rewrite="never").answer(QUESTION)
    assert not any("rewritten" in note for note in verdict.notes)


def test_a_failure_of_the_call_does_not_keep_the_answer(library: Library) -> None:
    question = "How many weeks of parental leave do I get?"
    with ScriptedUpstream([fails(500)]) as server:
        asked = pipeline(library, server.url, rewrite="always")
        closed = pipeline(library, server.url, rewrite="never").answer(question)
        verdict = asked.answer(question)
    assert verdict.served == closed.served
    assert verdict.released == closed.released
    assert any("question only" in note for note in verdict.notes)


def test_a_retriever_that_takes_no_queries_costs_no_call(library: Library) -> None:
    with rewriter(queries(FOUND)) as (opened, server):
        assert find_more(lambda question: PLAIN, PLAIN, opened) is PLAIN
    assert server.requests == []


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "sleep", lambda seconds: None)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
