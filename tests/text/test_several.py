"""Several questions in one text are separated; a single question is never split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.question import several, with_subject


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("How much is it, and who pays?", ("How much is it", "who pays?")),
        ("What is a quota? How is it set?", ("What is a quota?", "How is it set?")),
        ("Can I take leave and is it paid?", ("Can I take leave", "is it paid?")),
        ("I moved. What is due? Do I pay it?", ("I moved. What is due?", "Do I pay it?")),
        ("how do I apply; what does it cost", ("how do I apply", "what does it cost")),
        (
            "Who signs, when is it due and where do I send it?",
            ("Who signs, when is it due", "where do I send it?"),
        ),
    ],
)
def test_each_is_asked_by_itself(text: str, questions: tuple[str, ...]) -> None:
    assert several(text) == questions


@pytest.mark.parametrize(
    "text",
    [
        "When and where do I apply?",
        "What happens if I move and my lease ends?",
        "Which game involves drawing cards and has no best strategy?",
        "Who runs HR and IT?",
        "I left the company and what I earned was kept.",
        "Tell me about leave. And what else?",
        "",
        "?",
    ],
)
def test_one_question_stays_whole(text: str) -> None:
    assert several(text) == (text,)


def test_a_pronoun_stands_after_what_it_refers_to() -> None:
    asked = several("What is the fee? who pays it, and when is it due?")
    assert with_subject(asked) == (
        "What is the fee?",
        "What is the fee? who pays it",
        "What is the fee? who pays it? when is it due?",
    )
    assert with_subject(("What is the fee?", "is the pool heated?"))[1] == "is the pool heated?"
    assert with_subject(("What is the fee",)) == ("What is the fee",)


@given(st.text(alphabet="what how is it and ,;?.\n", max_size=80))
def test_any_text_has_a_question_and_loses_no_word(text: str) -> None:
    found = several(text)
    assert found
    assert set(" ".join(found).split()) >= set(text.split()) - {"and", ",", ";"} or found == (text,)
