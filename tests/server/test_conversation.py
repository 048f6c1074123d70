"""The question of a conversation, and the evidence it carries."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.server.openai.carried_evidence import evidence_of, leans, question_of


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


@pytest.mark.parametrize(
    "question",
    [
        "How many days of annual leave do new employees have?",
        "How old must a volunteer be?",
        "When is pay day?",
        "What is overtime?",
        "Who approves travel?",
    ],
)
def test_a_question_that_stands_alone_does_not_lean(question: str) -> None:
    assert not leans(question)
    assert question_of([user("Hello"), user(question)]) == question


@pytest.mark.parametrize(
    "question", ["and for part-time staff?", "How long?", "Part-time staff?", "Why?", "Is it paid?"]
)
def test_what_cannot_be_understood_alone_leans(question: str) -> None:
    assert leans(question)


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
    assert evidence_of([tagged]) == []  # user text is evidence only if the route says so
    found = evidence_of([tagged], all_of_it=True)
    assert found == [{"text": "One.", "title": "a.md"}, {"text": "Two.", "title": ""}]
    assert question_of([tagged]) == "Hm?"


def test_parts_of_one_document_that_share_an_id_are_one_passage() -> None:
    """Open WebUI numbers documents, not chunks; marks in an answer use its numbers."""
    sources = (
        '<source id="1" name="a.md">One.</source>\n<source id="1" name="a.md">Two.</source>\n'
        '<source id="2" name="b.md">Three.</source>'
    )
    turn = user(f"### Task:\nUse <context></context>.\n<context>\n{sources}\n</context>\nHm?")
    found = evidence_of([turn], all_of_it=True)
    assert found == [{"text": "One.\n\nTwo.", "title": "a.md"}, {"text": "Three.", "title": "b.md"}]
    assert question_of([turn]) == "Hm?"


def test_files_as_librechat_carries_them() -> None:
    """Names of attached files, then the passages found in each, as items."""
    named = "<files>\n<file>\n<filename>a.md</filename>\n<type>text</type>\n</file>\n</files>"
    items = (
        "<contextItem>\n<![CDATA[One < two.]]>\n</contextItem>"
        "<contextItem>\n<![CDATA[Three.]]>\n</contextItem>"
    )
    first = f"<file><filename>a.md</filename><context>{items}</context></file>"
    whole = "<file><filename>b.md</filename><context>\nAll of it.\n</context></file>"
    prompt = f"The user has attached files:\n{named}\nIn <context></context> tags:\n"
    system = {"role": "system", "content": f"{prompt}<context>{first}{whole}</context>\nUse it."}
    assert evidence_of([system, user("Hm?")]) == [
        {"text": "One < two.", "title": "a.md"},
        {"text": "Three.", "title": "a.md"},
        {"text": "All of it.", "title": "b.md"},
    ]


@pytest.mark.parametrize(
    "end",
    [
        "Query: How long is leave?",
        "Given the context, answer the query.\nQuestion: How long is leave?\nHelpful Answer:",
        "<user_query>\nHow long is leave?\n</user_query>",
        "How long is leave?",
    ],
)
def test_the_question_behind_a_context(end: str) -> None:
    turn = user(f"Use this:\n<context>\nLeave: 18 weeks.\n</context>\n{end}\n")
    assert question_of([turn]) == "How long is leave?"


@pytest.mark.timing
@pytest.mark.parametrize(
    "part",
    [
        "<context>",
        "<source",
        "<source>",
        "<contextItem>",
        "<query>",
        "<file><filename>a</filename>",
    ],
)
def test_a_hostile_prompt_takes_no_longer_than_its_length_warrants(part: str) -> None:
    def seconds(times: int) -> float:
        message = user("<file><filename>a</filename><context>" + part * times)
        start = process_time()
        evidence_of([message], all_of_it=True)
        question_of([message])
        return process_time() - start

    small = min(seconds(2_000) for _ in range(3))
    assert min(seconds(16_000) for _ in range(3)) < 24 * small + 0.05


@pytest.mark.timing
@pytest.mark.parametrize(
    ("before", "part", "after"),
    [
        ("<context>a</context>\nQuestion: a", " ", "b\nc"),
        ("# Context", " ", "x"),
        ("<file><filename>a</filename>", "<context>", "</file>"),
        ("", '<source id="1">a</source>', ""),
    ],
)
def test_space_and_tags_in_a_prompt_are_read_once(before: str, part: str, after: str) -> None:
    def seconds(times: int) -> float:
        message = user(f"{before}{part * times}{after}")
        start = process_time()
        evidence_of([message], all_of_it=True)
        question_of([message])
        return process_time() - start

    small = min(seconds(2_000) for _ in range(3))
    assert min(seconds(16_000) for _ in range(3)) < 24 * small + 0.05


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
