"""Two statements conflict only if they speak of the same."""

from __future__ import annotations

import pytest

from suffice.gate.conflict.answers import Reading
from suffice.gate.conflict.aspect import Aspect, Stated, both_hold
from suffice.types import Passage

KEPT = "How long are invoices kept?"


def stated(question: str, text: str, title: str = "", answer: int = 0) -> Stated:
    passage = Passage("1", text, "1.md", title=title)
    reading = Reading.of(text, question)
    given = sorted(reading.answers, key=lambda one: one.start)[answer]
    return Stated(passage, reading.sentence(given.start), given)


def shared(question: str, first: str, second: str) -> float:
    return Aspect(question).shared(stated(question, first), stated(question, second))


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        (KEPT, "Invoices are kept for 10 years.", "All invoices are kept for seven years."),
        (
            "What does a new badge cost?",
            "A new badge costs 20 euros.",
            "A badge costs 12 euros.",
        ),
        (
            "How many sets of clothing does a nurse receive?",
            "Each nurse receives five sets of clothing.",
            "Nurses receive four sets of work clothing.",
        ),
    ],
)
def test_of_the_same(question: str, first: str, second: str) -> None:
    assert shared(question, first, second) >= 0.7


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        (KEPT, "Invoices are kept for 10 years.", "Invoices are paid 45 days after receipt."),
        (
            "How many days of annual leave are there?",
            "There are 30 days of annual leave.",
            "Five days of leave are granted for training.",
        ),
        (
            "How much is reimbursed for meals with customers?",
            "Meals with customers are reimbursed up to 60 euros.",
            "Parking is reimbursed up to 45 euros.",
        ),
    ],
)
def test_of_another_side_or_another_thing(question: str, first: str, second: str) -> None:
    assert shared(question, first, second) < 0.7


def test_what_stands_around_a_statement_counts_by_half() -> None:
    aspect = Aspect("How long is the probation?")
    bare = stated(aspect.question, "It lasts 6 months.")
    under = stated(aspect.question, "It lasts 6 months.", title="Probation")
    full = stated(aspect.question, "Probation lasts 6 months.")
    assert (aspect.covered(bare), aspect.covered(under), aspect.covered(full)) == (0, 0.5, 1)


TABLE = "| Case | Notice |\n| --- | --- |\n| During probation | 1 week |\n"


def test_a_value_in_a_table_is_that_of_its_column() -> None:
    for question, same in (
        ("How long is the probation?", False),
        ("How long is the notice during probation?", True),
    ):
        row = stated(question, TABLE)
        assert row.column == "Notice"
        said = stated(question, "The notice during probation is 2 weeks.")
        assert (Aspect(question).shared(row, said) >= 0.7) is same


def test_bounds_that_leave_room_for_each_other_hold_both() -> None:
    question = "What is paid for meals?"
    most = stated(question, "Meals are paid up to 45 euros.")
    least = stated(question, "Meals of more than 25 euros need a receipt.")
    not_least = stated(question, "Meals of more than 25 euros are not paid.")
    assert both_hold(most, least)
    assert not both_hold(most, not_least)
    assert not both_hold(most, stated(question, "Meals are paid up to 25 euros."))


FIRM = "What is the cancellation fee at Orlando Lodge?"


@pytest.mark.parametrize(
    ("other", "one"),
    [
        ("Orlando Lodge charges a cancellation fee of 50 euros.", True),
        ("Breakfast at Orlando Lodge costs 50 euros.", False),
        ("Orlando Lodge pays its porters 50 euros.", False),
    ],
)
def test_a_name_that_both_have_tells_nothing_of_the_side(other: str, one: bool) -> None:
    side = Aspect(FIRM).side
    both = stated(FIRM, "The cancellation fee at Orlando Lodge is 80 euros."), stated(FIRM, other)
    assert side.of_one(both, side.most(both)) == one


def test_a_question_that_has_but_a_name_keeps_it() -> None:
    aspect = Aspect("Who was Ada Winter?")
    said = stated(aspect.question, "Ada Winter was a friend of Tom Reed.")
    assert aspect.side.covered(said) == aspect.covered(said) == 1


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("Porters at Orlando Lodge earn 50 euros.", True),
        ("Come to Orlando Lodge. Porters earn 50 euros.", True),
        ("Orlando Lodge takes a fee of 50 euros.", False),
        ("A night costs 50 euros in town.", False),
    ],
)
def test_silent_is_what_has_the_name_and_no_word_of_what_is_asked(text: str, silent: bool) -> None:
    assert Aspect(FIRM).silent(stated(FIRM, text)) == silent


def test_without_a_name_nothing_is_silent() -> None:
    assert not Aspect(KEPT).silent(stated(KEPT, "Suppliers are paid after 45 days."))
