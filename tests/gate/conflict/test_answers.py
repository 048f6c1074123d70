"""What a passage answers, as far as words tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.gate.conflict.answers import AnswerKind, Reading, answer_kind, same_answer


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the fund founded?", AnswerKind.DATE),
        ("What year did the office open?", AnswerKind.DATE),
        ("How many weeks of leave are there?", AnswerKind.NUMBER),
        ("How long is parental leave?", AnswerKind.NUMBER),
        ("What is the population of Oslo?", AnswerKind.NUMBER),
        ("Who leads the Oslo office?", AnswerKind.NAME),
        ("Where is the archive?", AnswerKind.NAME),
        ("In which country was it built?", AnswerKind.NAME),
        ("What is the notice period?", AnswerKind.ANYTHING),
        ("Is remote work allowed?", AnswerKind.ANYTHING),
        ("Will staff be paid when they are ill?", AnswerKind.ANYTHING),
        ("Is the fee capped at the amount of the invoice?", AnswerKind.ANYTHING),
        ("Can you tell me when the fund was founded?", AnswerKind.DATE),
        ("Do you know how long parental leave is?", AnswerKind.NUMBER),
    ],
)
def test_the_kind_asked_for(question: str, kind: AnswerKind) -> None:
    assert answer_kind(question) is kind


@pytest.mark.parametrize(
    ("question", "text", "nearest"),
    [
        (
            "How long is parental leave?",
            "The notice period is 3 months. Parental leave is 16 weeks. Pay day is the 25th.",
            "16 weeks",
        ),
        (
            "When was the Bergen office opened?",
            "The Oslo office dates from 1990. The Bergen office was opened on 4 May 1995.",
            "4 May 1995",
        ),
        (
            "Who leads the Oslo office?",
            "Ann Lee wrote this page. The Oslo office is led by Ingrid Dahl.",
            "Ingrid Dahl",
        ),
        (
            "What is the profession of Tom Hill?",
            "Tom Hill is a British judge. He lives in Leeds.",
            "British judge",
        ),
    ],
)
def test_the_nearest_answer(question: str, text: str, nearest: str) -> None:
    assert Reading.of(text, question).answers[0].text == nearest


def test_a_name_that_the_question_gives_is_no_answer() -> None:
    reading = Reading.of("Ingrid Dahl met Tom Holm.", "Who met Ingrid Dahl?")
    assert [answer.text for answer in reading.answers] == ["Tom Holm"]


def test_the_capital_of_a_first_word_names_nothing() -> None:
    reading = Reading.of("Employees get leave. Oslo has more. In Oslo, staff rest.", "Who rests?")
    assert "employees" not in reading.telling
    assert "oslo" in reading.telling


def test_what_is_said_in_another_sentence_is_farther_away() -> None:
    reading = Reading.of("Leave is 16 weeks. Notice is 8 weeks.", "How long is leave?")
    first, second = reading.answers
    assert first.weight > 2 * second.weight


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The budget is four million dollars.", "The budget is $4,000,000.", True),
        ("The budget is four million dollars.", "The budget is $5 million.", False),
        ("The fee is 40 euros.", "The fee is up to 40 EUR per day.", True),
        ("Leave is 2 weeks.", "Leave is 14 days.", True),
        ("It was a British novel.", "It was a novel.", True),
        ("It was a film.", "It was a novel.", False),
    ],
)
def test_the_same_answer_in_other_writing(one: str, other: str, same: bool) -> None:
    question = "What is it?"
    first, second = (Reading.of(text, question).answers[0] for text in (one, other))
    assert same_answer(first, second) is same
    assert same_answer(second, first) is same


def test_a_year_is_the_same_as_a_day_of_it() -> None:
    question = "When did he die?"
    texts = ("He died in 1737.", "He died on 1 December 1737.", "He died on 5 May 1737.")
    year, day, other = (Reading.of(text, question).answers[0] for text in texts)
    assert same_answer(year, day)
    assert same_answer(year, other)
    assert not same_answer(day, other)


@given(
    st.text(max_size=120),
    st.sampled_from(["When was it?", "How many?", "Who is Ann?", "What is it?", "", "?"]),
)
def test_any_text_can_be_read(text: str, question: str) -> None:
    reading = Reading.of(text, question)
    for answer in reading.answers:
        assert text[answer.start : answer.end] == answer.text
        assert 0 <= answer.weight <= 1
        start, end = reading.sentence(answer.start)
        assert start <= answer.start < end
    weights = [answer.weight for answer in reading.answers]
    assert weights == sorted(weights, reverse=True)
