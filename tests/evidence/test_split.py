"""Passages are slices of the source, split at headings and sentences, within the budget."""

from __future__ import annotations

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.evidence.read import Content
from suffice.evidence.split import Piece, context, split
from tests.fakes import HashEmbedder

TOKENS = HashEmbedder()


def cut(text: str, budget: int = 60, title: str = "Leave", **more: object) -> list[Piece]:
    content = Content(text, markdown=True, **more)  # type: ignore[arg-type]
    return split(content, title, TOKENS, budget)


def texts(source: str, pieces: list[Piece]) -> list[str]:
    return [source[piece.start : piece.end] for piece in pieces]


def test_headings_part_passages_and_are_kept_as_a_path() -> None:
    source = (
        "# Leave\n\nIntro.\n\n## Parental\n\nTwenty weeks.\n\n"
        "### Pay\n\nFull pay.\n\n## Sick\n\nCall.\n"
    )
    pieces = cut(source)
    assert texts(source, pieces) == ["Intro.", "Twenty weeks.", "Full pay.", "Call."]
    assert [piece.heading for piece in pieces] == [
        (),
        ("Parental",),
        ("Parental", "Pay"),
        ("Sick",),
    ]


def test_sentences_are_packed_up_to_the_budget_and_not_broken() -> None:
    source = " ".join(f"Rule number {n} holds for everyone here." for n in range(30))
    pieces = cut(source, budget=40)
    assert len(pieces) > 3
    for text in texts(source, pieces):
        assert text.startswith("Rule")
        assert text.endswith("here.")
        assert len(TOKENS.token_ends(text)) <= 40


def test_a_sentence_over_the_budget_is_cut_between_words() -> None:
    source = "word " * 200
    pieces = cut(source, budget=40)
    assert "".join(texts(source, pieces)).replace(" ", "") == "word" * 200
    assert all(len(TOKENS.token_ends(text)) <= 40 for text in texts(source, pieces))


def test_a_table_that_goes_on_in_another_passage_keeps_its_header() -> None:
    rows = "\n".join(f"| 3.{n} | {n} July 2025 | supported |" for n in range(30))
    source = (
        f"# Leave\n\nIntro.\n\n| Version | Released | Status |\n|---|---|---|\n{rows}\n\nEnd.\n"
    )
    first, *rest = cut(source, budget=80)
    assert first.heading == ()
    assert len(rest) > 3
    for piece in rest:
        assert piece.heading == ("| Version | Released | Status |",)
        text = f"{piece.heading[0]}\n{source[piece.start : piece.end]}"
        assert len(TOKENS.token_ends(text)) <= 80


def test_a_header_that_would_crowd_out_its_rows_is_left_out() -> None:
    row = "| " + " ".join(["long"] * 48) + " | x |"
    source = "| A | B |\n|---|---|\n" + "\n".join([row] * 6)
    for piece in cut(source, budget=60, title=""):
        text = "\n".join((*piece.heading, source[piece.start : piece.end]))
        assert len(TOKENS.token_ends(text)) <= 60


def test_a_heading_in_code_is_no_heading() -> None:
    source = "Start.\n\n```\n# not a heading\n```\n"
    assert len(cut(source)) == 1


def test_front_matter_is_left_out_and_pages_are_counted() -> None:
    source = "---\ntitle: x\n---\nFirst page. \n\nSecond page."
    pieces = cut(source, body=17, pages=(17, 31), budget=20)
    assert texts(source, pieces)[0].startswith("First")
    assert pieces[0].page == 1


def test_only_headings_are_kept_as_text() -> None:
    source = "# Leave\n## Parental\n"
    assert texts(source, cut(source)) == ["# Leave\n## Parental"]


def test_context() -> None:
    assert context("Leave", ("Parental", "Pay")) == "Leave > Parental > Pay"


@given(st.text(alphabet=st.sampled_from("ab.# \n-|é漢1`"), max_size=400), st.integers(32, 80))
def test_pieces_are_ordered_slices_that_lose_nothing_but_headings(source: str, budget: int) -> None:
    place = 0
    for piece in split(Content(source, markdown=True), "", TOKENS, budget):
        assert place <= piece.start < piece.end <= len(source)
        assert source[piece.start : piece.end].strip()
        place = piece.end


@given(st.text(max_size=400))
def test_plain_text_loses_no_words(source: str) -> None:
    pieces = split(Content(source), "", TOKENS, 40)
    kept = "".join(source[p.start : p.end] for p in pieces)
    assert [*filter(str.isalnum, kept)] == [*filter(str.isalnum, source)]


@pytest.mark.parametrize("tail", ["\u200b", "\ufffd", "\xad", "\ufe0f", "\x07", "…" * 50])
def test_characters_that_are_no_token_end_nothing(tail: str) -> None:
    source = "word " * 400 + tail
    pieces = split(Content(source), "", TOKENS, 40)
    assert source[pieces[-1].end :].strip() in ("", tail)


def test_a_passage_stays_on_one_page() -> None:
    source = "First page.\n\nSecond page.\n\nThird page."
    pieces = split(Content(source, pages=(0, 13, 27)), "", TOKENS, 60)
    assert [(source[p.start : p.end], p.page) for p in pieces] == [
        ("First page.", 1),
        ("Second page.", 2),
        ("Third page.", 3),
    ]


class CountingTokens:
    """One token a word. Counts the characters that it is given."""

    def __init__(self) -> None:
        self.characters = 0

    def token_ends(self, text: str) -> list[int]:
        self.characters += len(text)
        return [match.end() for match in re.finditer(r"\S+", text)]


@pytest.mark.parametrize(
    "text",
    [
        f"| {'word ' * 20_000}|\n|---|\n" + "| 1 | two |\n" * 20_000,
        f"# {'word ' * 20_000}\n\n" + "Leave is 30 days. " * 20_000,
    ],
    ids=["a long header", "a long heading"],
)
def test_what_stands_above_passages_is_not_tokenized_for_each_of_them(text: str) -> None:
    tokens = CountingTokens()
    pieces = split(Content(text, markdown=True), "T", tokens, 256)
    assert len(pieces) > 100
    assert tokens.characters < 3 * len(text)
    assert all(len(context("T", piece.heading)) < 1_000 for piece in pieces)


@pytest.mark.timing
@pytest.mark.parametrize(
    "unit", ["| 1 | two |\n", "```\n# a\n```\n# b\n"], ids=["a table", "code blocks"]
)
def test_splitting_takes_time_in_proportion_to_the_text(unit: str) -> None:
    def seconds(times: int) -> float:
        content = Content("| a | b |\n|---|---|\n" + unit * times, markdown=True)
        began = perf_counter()
        split(content, "T", CountingTokens(), 256)
        return perf_counter() - began

    seconds(1_000)
    assert seconds(32_000) < 8 * seconds(8_000)


def pieces_of(source: str, budget: int) -> list[str]:
    return [source[p.start : p.end] for p in split(Content(source), "", TOKENS, budget)]


@pytest.mark.parametrize(
    "together",
    [
        "You must bring:\n\n- a passport of your own",
        "**How long is it valid?**\n\nFor ten years after issue.",
        "| Goods | Duty |\n| --- | --- |\n| Beer | 16 |",
    ],
)
def test_what_introduces_a_text_stays_with_it(together: str) -> None:
    """Wherever the passage before it is full."""
    for words in range(1, 40):
        source = f"{'A word. ' * words}\n\n{together}\n"
        assert any(together in piece for piece in pieces_of(source, 40)), words


def test_a_rule_alone_is_no_passage() -> None:
    assert pieces_of("* * *\n\n" * 40 + "# Leave\n\n---\n", 16) == ["# Leave\n\n---"]


def test_long_code_is_cut_between_lines() -> None:
    code = "```\n" + "".join(f"line {n} of a file\n" for n in range(40)) + "```"
    first, *_ = pieces_of(code, 40)
    assert first.endswith("of a file")
