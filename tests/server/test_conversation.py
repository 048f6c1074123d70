"""What a conversation asks, and what it carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.server.conversation import evidence_of, leans, question_of


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("turns", "question"),
    [
        (["How long is parental leave?"], "How long is parental leave?"),
        (
            ["How long is parental leave?", "And for part-time staff?"],
            "How long is parental leave? And for part-time staff?",
        ),
        (
            ["How long is parental leave?", "What is the notice period for managers?"],
            "What is the notice period for managers?",
        ),
        (["Tell me about the mobility budget.", "Who gets it?"], None),
        (["What is the travel allowance in Berlin?", "What about Paris?", "And Rome?"], None),
    ],
)
def test_a_question_is_read_with_what_it_leans_on(turns: list[str], question: str | None) -> None:
    assert question_of([user(turn) for turn in turns]) == (question or " ".join(turns))


def test_a_question_that_stands_alone_does_not_lean() -> None:
    assert not leans("How many days of annual leave do new employees have?")
    assert leans("and for part-time staff?")


def test_answers_and_instructions_are_no_question() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        user("How long is parental leave?"),
        {"role": "assistant", "content": "Which country?"},
    ]
    assert question_of(messages) == "How long is parental leave?"
    assert question_of([{"role": "system", "content": "Be kind."}]) == ""


def test_what_counts_as_evidence() -> None:
    plain = [{"role": "system", "content": "You are kind."}, user("Hello?")]
    assert evidence_of(plain) == []
    assert evidence_of(plain, all_of_it=True) == ["You are kind."]
    tool = [{"role": "tool", "content": "It is 3.", "name": "find"}]
    assert evidence_of(tool) == [{"text": "It is 3.", "title": "find"}]
    tagged = user("<context><source name='a.md'>One.</source><source>Two.</source></context> Hm?")
    assert evidence_of([tagged]) == []  # a user's word is no evidence, unless the route says so
    found = evidence_of([tagged], all_of_it=True)
    assert found == [{"text": "One.", "title": "a.md"}, {"text": "Two.", "title": ""}]
    assert question_of([tagged]) == "Hm?"


roles = st.sampled_from(["system", "user", "assistant", "tool", "developer"])
contents = st.one_of(
    st.none(),
    st.text(),
    st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()})),
)


@given(st.lists(st.fixed_dictionaries({"role": roles, "content": contents})), st.booleans())
def test_anything_can_be_read(messages: list[dict[str, object]], all_of_it: bool) -> None:
    question_of(messages)
    evidence_of(messages, all_of_it=all_of_it)
