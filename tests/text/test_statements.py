"""Quotable statements, with the context they need."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suffice.text.sentences import apart, statements


def quotes(text: str) -> list[list[str]]:
    return [[text[a:b] for a, b in statement.slices] for statement in statements(text)]


def test_sentences() -> None:
    assert quotes("Leave is 20 weeks. Pay is full.") == [["Leave is 20 weeks."], ["Pay is full."]]


def test_a_sentence_that_leans_is_quoted_with_the_one_before() -> None:
    found = quotes("Up to 5 days may be carried over. They lapse on 31 March.")
    assert found[1] == ["Up to 5 days may be carried over. They lapse on 31 March."]


def test_an_answer_is_found_by_its_question_and_quoted_without_it() -> None:
    text = "**Q:** When is pay day?\n**A:** On the 26th. Always.\n\n**Q:** Who pays?\n**A:** We do."
    found = list(statements(text))
    assert [text[slice(*s.slices[0])] for s in found] == ["On the 26th. Always.", "We do."]
    assert "When is pay day?" in found[0].wording


def test_an_answer_ends_with_its_paragraph_also_without_blank_lines() -> None:
    text = "How do I pay?\nPay by card\nor by transfer.\nRefunds take a week.\nAsk the bank."
    assert quotes(text)[0] == ["Pay by card\nor by transfer."]
    listed = "What do I need?\n- a form\n- a badge\n\nBring both."
    assert quotes(listed)[0] == ["- a form\n- a badge"]


def test_a_list_belongs_to_the_line_before_it() -> None:
    text = "You need:\n- a form\n- a badge\n\nBring both."
    assert quotes(text) == [["You need:\n- a form\n- a badge"], ["Bring both."]]


def test_a_row_comes_with_its_header() -> None:
    text = "| service | notice |\n|---|---|\n| 1 year | 4 weeks |\n| 5 years | 8 weeks |"
    header = "| service | notice |\n|---|---|"
    assert quotes(text) == [[header, "| 1 year | 4 weeks |"], [header, "| 5 years | 8 weeks |"]]


@given(st.text(alphabet=st.sampled_from("aB.?:|-\n *1")))
def test_slices_are_never_blank(text: str) -> None:
    for statement in statements(text):
        for start, end in statement.slices:
            assert text[start:end].strip()


def test_a_header_without_a_rule_names_the_columns_of_values() -> None:
    text = "Coverage | Premium\n$200 | $14\n$150 | $10"
    assert quotes(text) == [
        ["Coverage | Premium", "$200 | $14"],
        ["Coverage | Premium", "$150 | $10"],
    ]
    words = "red | blue\ngreen | grey"
    assert quotes(words) == [["red | blue"], ["green | grey"]]


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=6))
def test_nothing_is_in_two_spans_and_nothing_is_lost(drawn: set[tuple[int, int]]) -> None:
    spans = {(start, start + size) for start, size in drawn}
    found = apart(spans)
    places = [place for start, end in found for place in range(start, end)]
    assert places == sorted({place for start, end in spans for place in range(start, end)})
