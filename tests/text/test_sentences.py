"""Sentences keep their position in the text; items, rows and code stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.sentences import sentences
from suffice.text.words import content_words


def said(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_abbreviations_and_decimals_do_not_end_a_sentence() -> None:
    text = "Dr. Smith paid $4.2M on Jan. 5, 2024. See Sec. 4.2 for details (e.g. taxes). Done!"
    assert said(text) == [
        "Dr. Smith paid $4.2M on Jan. 5, 2024.",
        "See Sec. 4.2 for details (e.g. taxes).",
        "Done!",
    ]


def test_sentences_that_lost_the_space_between_them() -> None:
    text = "It affects the brain.The effect (n = 7).Later, Node.js and e.g.x stay."
    assert said(text) == [
        "It affects the brain.",
        "The effect (n = 7).",
        "Later, Node.js and e.g.x stay.",
    ]


def test_a_wrapped_paragraph_is_read_across_its_lines() -> None:
    assert said("Leave is\n20 weeks. It is\npaid.") == ["Leave is\n20 weeks.", "It is\npaid."]


def test_items_and_rows_stand_alone() -> None:
    text = "You need:\n- a form\n- two copies. Signed ones.\n\n| a | b |\n|---|---|\n| 1 | 2. 3 |\n"
    assert said(text) == [
        "You need:",
        "- a form",
        "- two copies.",
        "Signed ones.",
        "| a | b |",
        "|---|---|",
        "| 1 | 2. 3 |",
    ]


def test_a_row_without_outer_bars_ends_with_its_line() -> None:
    text = "$50 | $4.50\nHow do I pay?\nBy card. Or by\ntransfer."
    found = [text[slice(*span)] for span in sentences(text)]
    assert found == ["$50 | $4.50", "How do I pay?", "By card.", "Or by\ntransfer."]
    piped = "Run ls | sort\nto list the files."
    assert [piped[slice(*span)] for span in sentences(piped)] == [piped]


def test_code_is_not_cut() -> None:
    text = "Run this.\n\n```\nfirst. second.\n\nthird.\n```\n"
    assert said(text) == ["Run this.", "```\nfirst. second.\n\nthird.\n```"]


@given(st.text())
def test_spans_are_in_order_and_lose_only_white_space(text: str) -> None:
    place = 0
    for start, end in sentences(text):
        assert text[place:start].strip() == ""
        assert start < end
        assert text[start:end] == text[start:end].strip()
        place = end
    assert text[place:].strip() == ""


def test_content_words() -> None:
    question = "How many weeks of Parental leave, and leave for whom?"
    assert content_words(question) == ["weeks", "parental", "leave"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Zürich café HR", ["zürich", "café", "hr"]),
        ("Zu\u0308rich", ["zürich"]),  # decomposed
        ("Отпуск длится 16 недель", ["отпуск", "длится", "недель"]),
        ("ABC go IT I2C x_HR", ["abc", "hr"]),
    ],
)
def test_content_words_are_whole_in_any_script(text: str, words: list[str]) -> None:
    assert content_words(text) == words


def test_ends_that_the_splitter_misses() -> None:
    text = (
        "It is near Ojai, CA. The soup is cold. Gravy is hot. See approx. Fig. 3 there. So be it."
    )
    assert said(text) == [
        "It is near Ojai, CA.",
        "The soup is cold.",
        "Gravy is hot.",
        "See approx. Fig. 3 there.",
        "So be it.",
    ]


def test_code_ends_at_its_closing_line_and_needs_one() -> None:
    assert said("Run:\n```\na. b\n```\nThen stop.") == ["Run:", "```\na. b\n```", "Then stop."]
    assert said("```\nLeave is paid. Tax is due.")[-1] == "Tax is due."
