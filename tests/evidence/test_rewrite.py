"""Rewritten queries for a second search."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.evidence.rewrite import rewritten
from suffice.text.synonyms import Synonyms


def test_keywords_synonyms_and_clauses() -> None:
    own = Synonyms.read(["laptop, notebook"])
    queries = rewritten("I lost my work laptop; how soon do I have to tell the service desk?", own)
    assert queries[0] == "lost work laptop soon service desk"
    assert "notebook" in queries[1]
    assert "how soon do I have to tell the service desk?" in queries


def test_words_of_a_setting() -> None:
    own = Synonyms.read(["mot, roadworthiness test"])
    assert "when MOT due" not in rewritten("When is the MOT due?", own)
    assert any("roadworthiness test" in query for query in rewritten("When is the MOT due?", own))
    assert not any("roadworthiness" in query for query in rewritten("When is the MOT due?"))


def test_a_question_of_keywords_has_nothing_to_rewrite() -> None:
    assert rewritten("probation") == ()
    assert rewritten("") == ()


@settings(deadline=None)
@given(st.text(max_size=200))
def test_few_queries_and_never_the_question_itself(question: str) -> None:
    queries = rewritten(question)
    assert len(queries) <= 4
    assert len(set(queries)) == len(queries)
    assert question not in queries
    assert all(query.strip() for query in queries)
