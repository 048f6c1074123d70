"""Finding evidence through any retriever: the time asked about, and several questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from suffice import Filter, Library
from suffice.evidence.index import LooksBack, SearchesAgain, gather, today
from suffice.evidence.retrieve import find_each, retriever_at, time_of
from suffice.text.when import NOW, TimeAsked, When, asked_about
from suffice.types import Evidence, Passage, Retrieved

TODAY = today()
QUESTION = "How many days per week may I work remotely?"


def documents(library: Library, when: When, allowed: Filter | None = None) -> set[str]:
    search = retriever_at(library.search(allowed, top=60), when, TODAY)
    found = gather(QUESTION, search(QUESTION), None)
    return {passage.document for passage in found.passages}


def test_the_store_looks_back_and_searches_again(library: Library) -> None:
    assert isinstance(library.search(), LooksBack)
    assert isinstance(library.search(), SearchesAgain)
    assert not isinstance(lambda question: [], LooksBack)


def test_what_a_time_finds(library: Library) -> None:
    then = asked_about("What did the 2023 policy say?", TODAY)
    assert "remote-work-2023.md" in documents(library, then)
    before = When(TimeAsked.BEFORE, words="the old policy")
    assert {"remote-work-2023.md", "remote-work.md"} <= documents(library, before)
    assert {"remote-work-2023.md", "mobility-budget.md"} <= documents(library, When(TimeAsked.EVER))


def test_looking_back_gives_no_rights(library: Library) -> None:
    for asked in TimeAsked:
        when = When(asked, date(2026, 1, 1), date(2027, 1, 1), version="6.0")
        assert "salary-bands.md" not in documents(library, when)
    hr = Filter(labels=frozenset({"hr"}))
    assert "salary-bands.md" in documents(library, NOW, hr)


def test_now_finds_what_it_always_found_and_what_is_left_out_after_it(library: Library) -> None:
    plain = library.search()(QUESTION)
    looked = library.search().at(NOW, TODAY)(QUESTION)
    assert looked.items[: len(plain)] == plain.items
    allowed = Filter()
    assert all(not allowed.allows(item.passage) for item in looked.items[len(plain) :])
    assert "remote-work-2023.md" in {p.document for p in looked.passages[len(plain) :]}


def test_a_caller_who_set_a_time_is_not_overruled(library: Library) -> None:
    day = date(2024, 6, 1)
    past = library.search(Filter(as_of=day))
    when = time_of("What is it in 2019?", past, TODAY)
    assert (when.start, when.until, when.firm) == (day, day + timedelta(days=1), True)
    assert retriever_at(past, when, TODAY) is past
    assert time_of("What?", library.search(Filter(history=True)), TODAY).asked is TimeAsked.EVER
    assert time_of("What was it in 2019?", library.search(), TODAY).start == date(2019, 1, 1)
    assert time_of("What?", lambda question: [], TODAY) == NOW


def test_each_of_several_questions_adds_passages(library: Library) -> None:
    asked = f"{QUESTION} And how do I get a refund for a hotel?"
    search = library.search(top=3)
    everything = replace(library.search(top=1_000), reader=None)(asked)
    raw = {item.passage.id: item.relevance for item in everything}
    first = search(asked)
    more = find_each(search, first, None)
    assert more.items[:3] == first.items
    added = more.items[3:]
    assert {"expenses.md", "business-travel.md"} & {item.passage.document for item in added}
    assert len({passage.id for passage in more.passages}) == len(more)
    known = [item for item in added if item.passage.id in raw]
    assert known
    for item in known:
        assert item.relevance == pytest.approx(raw[item.passage.id], abs=1e-5)


def test_one_question_is_searched_once(library: Library) -> None:
    first = Evidence(QUESTION)
    assert find_each(library.search(), first, None) == first


class OwnRetriever:
    """Somebody's own retriever, which scores by itself."""

    def __call__(self, question: str) -> Sequence[Retrieved]:
        texts = {"leave": "Leave is long.", "fee": "The fee is 3 euros."}
        return [
            Retrieved(Passage(id=word, text=text, document=word), 0.99)
            for word, text in texts.items()
            if word in question
        ]


def test_scores_for_another_query_are_dropped(library: Library) -> None:
    first = Evidence("How long is my leave? And what is the fee?", tuple(OwnRetriever()("leave")))
    unscored = find_each(OwnRetriever(), first, None)
    assert [item.relevance for item in unscored] == [0.99, None]
    scored = find_each(OwnRetriever(), first, library.embedder)
    assert scored.items[0] == first.items[0]
    asked, fee = library.embedder.embed([first.question, "The fee is 3 euros."])
    assert scored.items[1].relevance == pytest.approx(float(asked @ fee), abs=1e-5)
