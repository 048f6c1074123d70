"""The things a question names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.text.question import Part, parts


def named(question: str) -> list[str]:
    return [part.text for part in parts(question)]


@pytest.mark.parametrize(
    ("question", "things"),
    [
        (
            "How long is parental leave for contractors in Berlin?",
            ["parental leave", "contractors", "Berlin"],
        ),
        (
            "Does the firm reimburse the electricity bill when I work from home?",
            ["firm", "electricity bill", "home"],
        ),
        ("Which bank administers the company pension plan?", ["bank", "company pension plan"]),
        (
            "How much does the travel agency Lodestar charge for each booking?",
            ["travel agency Lodestar", "booking"],
        ),
        ("Who painted the ceiling of the Sistine Chapel?", ["ceiling", "Sistine Chapel"]),
        (
            "What did Carlo Ancelotti say about Jan Oblak's performance?",
            ["Carlo Ancelotti", "Jan Oblak's performance"],
        ),
        ("Which river does it flow into?", ["river"]),
        ("When does the Quaternary period begin and end?", ["Quaternary period"]),
        ("Who is responsible for safety?", ["safety"]),
        ("How deep is the Mariana Trench?", ["Mariana Trench"]),
        ("", []),
        ("?", []),
    ],
)
def test_the_things_a_question_names(question: str, things: list[str]) -> None:
    assert named(question) == things


def test_words_that_stand_for_anybody_name_nothing() -> None:
    (part,) = parts("How many full-time employees?")
    assert part.telling == ("full-time",)
    assert Part("10 years", 0, 8, ("10", "years")).telling == ()


def test_what_is_asked_for_is_marked_and_its_kind_need_not_be_named() -> None:
    bank, plan = parts("Which bank administers the pension plan?")
    assert (bank.asked, plan.asked) == (True, False)
    (country, *_) = parts("In what country is Waterloo?")
    assert country.telling == ()
    assert parts("Does the country have a king?")[0].telling == ("country",)


@settings(deadline=None)
@given(st.text(max_size=120))
def test_parts_are_slices_in_order(question: str) -> None:
    place = 0
    for part in parts(question):
        assert question[part.start : part.end] == part.text
        assert part.start >= place
        assert part.words
        place = part.end
