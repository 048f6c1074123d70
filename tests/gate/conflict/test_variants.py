"""Where two wordings of one text differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.gate.conflict.answers import Reading
from suffice.gate.conflict.candidates import partners, slots

LEAVE = "All staff may take {} of paid parental leave, to be asked for {} before the birth."


def found(one: str, other: str) -> list[tuple[str, str]]:
    first, second = (Reading.of(text, "How long is it?") for text in (one, other))
    return [(one[slice(*s.first)], other[slice(*s.second)]) for s in slots(first, second)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Parental leave is 16 weeks.", "Parental leave is 18 weeks.", [("16", "18")]),
        (
            LEAVE.format("16 weeks", "a month"),
            LEAVE.format("18 weeks", "a quarter"),
            [("16", "18"), ("month", "quarter")],
        ),
        ("The fund is led by Ann Lee.", "The fund is led by Tom Hill.", [("Ann Lee", "Tom Hill")]),
        (
            "Remote work is allowed on Fridays.",
            "Remote work is not allowed on Fridays.",
            [("allowed", "not allowed")],
        ),
    ],
)
def test_a_change_is_found(one: str, other: str, expected: list[tuple[str, str]]) -> None:
    assert found(one, other) == expected
    assert found(other, one) == [(b, a) for a, b in expected]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The yearly budget is four million dollars.", "The yearly budget is $4,000,000."),
        ("The plot covers 12 km² of land.", "The plot covers 12 km 2 of land."),
        ("The big old house has a garden.", "The big old house has the garden."),
        ("The office was opened on 4 May 1995.", "The office was opened on May 4, 1995."),
        ("Leave is 16 weeks.", "Pay day is the 25th of the month."),
    ],
)
def test_another_way_of_writing_is_no_change(one: str, other: str) -> None:
    assert found(one, other) == []


def test_a_passage_that_repeats_the_question_hides_nothing() -> None:
    """Planted passages begin with the question that they answer wrongly."""
    asked = "Must every domain have two records that point to the proxy?"
    said = "Every domain must {}have two records that point to the proxy."
    assert found(said.format(""), f"{asked} {said.format('not ')}") == [("have", "not have")]
    both = f"{asked} " + "It is up to {} days."
    assert found(both.format("three"), both.format("five")) == [("three", "five")]


def test_two_words_alike_are_too_few_to_tell() -> None:
    assert found("It is Oslo.", "It is Bergen.") == []


def readings(count: int) -> list[Reading]:
    texts = [LEAVE.format(f"{n} weeks", "a month") for n in range(count)]
    return [Reading.of(text, "How long is leave?") for text in texts]


@pytest.mark.parametrize("count", [2, 8, 16, 40])
def test_partners_grow_with_the_passages(count: int) -> None:
    pairs = partners(readings(count))
    assert len(pairs) <= 4 * count
    assert all(first < second for first, second in pairs)


def test_passages_without_a_run_in_common_are_no_partners() -> None:
    texts = ("Leave is 16 weeks long.", "Pay day is the 25th of the month.", "Leave is 16 weeks.")
    read = [Reading.of(text, "How long is leave?") for text in texts]
    assert partners(read) == [(0, 2)]


@given(st.text("ab 12.", max_size=60), st.text("ab 12.", max_size=60))
def test_slots_are_pieces_of_both_texts(one: str, other: str) -> None:
    for mine, theirs in found(one, other):
        assert mine
        assert theirs
        assert mine != theirs
    assert found(one, one) == []
