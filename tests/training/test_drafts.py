"""Drafts as rows: sentences beside the passages that were found, and beside too few of them."""

from __future__ import annotations

import pytest

from training.drafts import Drafted, draft_rows
from training.rows import Label, Row, Task

OPENING = "Opening hours\nThe pool opens at nine. On Sundays it opens at ten."
PRICES = "Prices\nA ticket costs six euros. Members pay four."
LOCKERS = "Lockers\nLockers take a coin of one euro."


def draft(**more: object) -> Drafted:
    fields: dict[str, object] = {
        "q": "When does it open, and what does a ticket cost?",
        "enough": "yes",
        "p": [1, 2],
        "d": [
            {"t": "It opens at nine, on Sundays at ten [1].", "y": "s"},
            {"t": "A ticket is six euros [2].", "y": "s"},
        ],
        "bad": [{"i": 2, "t": "A ticket is four euros [2].", "x": "four", "k": "scope"}],
    }
    return Drafted.of(fields | more, (OPENING, PRICES, LOCKERS))


def rows_of(one: Drafted) -> list[Row]:
    return [row for seed in range(4) for row in draft_rows([one], seed)]


def test_each_sentence_and_the_whole_are_judged() -> None:
    labels = {row.text: row.label for row in rows_of(draft()) if "euros" in row.text}
    assert labels["A ticket is six euros."] is Label.SUPPORTED
    assert labels["A ticket is four euros."] is Label.NOT_SUPPORTED
    wrong = "It opens at nine, on Sundays at ten. A ticket is four euros."
    assert labels[wrong] is Label.NOT_SUPPORTED


def test_wrong_words_are_marked_and_citations_are_gone() -> None:
    for row in rows_of(draft()):
        assert "[" not in row.text
        assert {row.text[a:z] for a, z in row.wrong} <= {"four"}
    assert any(row.wrong for row in rows_of(draft()))


def test_what_an_answer_rests_on_is_there_and_then_not() -> None:
    asked = [row for row in rows_of(draft()) if row.task is Task.SUFFICIENCY]
    assert {row.label for row in asked} == {Label.SUPPORTED, Label.NOT_MENTIONED}
    for row in asked:
        both = OPENING in row.evidence and PRICES in row.evidence
        assert both == (row.label is Label.SUPPORTED)


@pytest.mark.parametrize("enough", ["part", "no"])
def test_passages_that_do_not_answer_are_too_little(enough: str) -> None:
    asked = [row for row in rows_of(draft(enough=enough)) if row.task is Task.SUFFICIENCY]
    assert {row.label for row in asked} == {Label.NOT_MENTIONED}
