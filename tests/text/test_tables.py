"""Tables as sentences: a row keeps its names with its values; what is no table stays as it is."""

from __future__ import annotations

import re
import time
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.claims import claims
from suffice.text.digest import pieces
from suffice.text.tables import flatten

PLANS = """\
| Plan | Price | Seats |
|------|------:|:-----:|
| Basic | $10 | 5 |
| Pro | $25 | 20 |"""
TOLD = "Plan: Basic; Price: $10; Seats: 5.\nPlan: Pro; Price: $25; Seats: 20."
HTML = """\
<table class="plans"><caption>Our plans</caption>
  <thead><tr><th>Plan</th><th scope="col">Price</th></tr></thead>
  <tbody>
    <tr><td>Basic</td><td>&dollar;10 <b>a month</b></td></tr>
    <TR><TD>Pro</TD><TD></TD></TR>
  </tbody>
</table>"""
NAME = st.text(st.sampled_from("abcdé $%5"), min_size=1, max_size=9).map(str.strip)
CELLS = st.integers(1, 5).flatmap(
    lambda width: st.tuples(
        st.lists(NAME.filter(bool), min_size=width, max_size=width),
        st.lists(st.lists(NAME, min_size=width, max_size=width), min_size=1, max_size=4),
    )
)


def piped(row: list[str]) -> str:
    return f"| {' | '.join(row)} |"


@given(CELLS, st.booleans())
def test_each_row_says_its_values_with_their_names(
    table: tuple[list[str], list[list[str]]], html: bool
) -> None:
    header, rows = table
    if html:
        head = "".join(f"<th>{name}</th>" for name in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
        )
        text = f"Before.\n<table><tr>{head}</tr>{body}</table>\nAfter."
    else:
        text = "\n".join(["Before.", "", *map(piped, [header, ["---"] * len(header), *rows])])
        text += "\n\nAfter."
    wanted = [
        "; ".join(f"{name}: {' '.join(cell.split())}" for name, cell in pairs if cell) + "."
        for row in rows
        if any(row)
        for pairs in [zip([" ".join(name.split()) for name in header], row, strict=True)]
    ]
    found = [line for line in flatten(text).split("\n") if line]
    if html and not wanted:
        return
    assert found == ["Before.", *wanted, "After."]


def test_a_table_in_text() -> None:
    assert flatten(PLANS) == TOLD
    text = "# Plans\n\nAll prices are a month.\n\n{}\n\nTaxes | extra.\n{}\n"
    assert flatten(text.format(PLANS, PLANS)) == text.format(TOLD, TOLD)


def test_the_form_that_our_readers_write() -> None:
    assert flatten("Plan | Price\n--- | ---\nBasic | $10") == "Plan: Basic; Price: $10."


def test_the_form_of_claims() -> None:
    rows = [one.words for one in claims(PLANS) if one.checkable]
    assert [f"{row}." for row in rows] == flatten(PLANS).split("\n")


def test_a_row_is_one_piece() -> None:
    assert [piece.strip() for piece in pieces(flatten(PLANS))] == TOLD.split("\n")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("| Pro |", "Plan: Pro."),
        ("| Pro | | 20 |", "Plan: Pro; Seats: 20."),
        ("| Pro | $25 | 20 | new |", "Plan: Pro; Price: $25; Seats: 20; new."),
        ("  Pro | $25", "Plan: Pro; Price: $25."),
        (r"| A\|B | $25 |", "Plan: A|B; Price: $25."),
        ("| **Pro** | $25<br>a month! |", "Plan: Pro; Price: $25 a month!"),
        ("| |", ""),
        ("|---|---|---|", ""),
    ],
)
def test_rows_that_are_not_as_wide(row: str, told: str) -> None:
    first, second = TOLD.split("\n")
    lines = PLANS.split("\n")
    wanted = [first, told, second] if told else [first, second]
    assert flatten("\n".join([*lines[:3], row, lines[3]])) == "\n".join(wanted)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("| | 2023 | 2024 |\n|-|-|-|\n| Sales | 5 | 7 |", "Sales; 2023: 5; 2024: 7."),
        ("| | |\n|-|-|\n| Born | 1950 |\n| Died | |", "Born: 1950.\nDied."),
        ("| Name |\n|---|\n| Ann |\n| Bob |", "Name: Ann.\nName: Bob."),
        ("\t| A | B |\r\n\t|---|---|\r\n\t| 1 | 2 |\r\n", "A: 1; B: 2.\n"),
    ],
)
def test_other_tables(table: str, told: str) -> None:
    assert flatten(table) == told


def test_a_wide_row_says_in_each_sentence_what_it_is_about() -> None:
    header = ["City", *(f"Visitors in {1990 + n}" for n in range(40))]
    text = "\n".join(map(piped, [header, ["---"] * 41, ["Rome", *map(str, range(100, 140))]]))
    lines = flatten(text).split("\n")
    assert len(lines) > 2
    assert all(line.startswith("City: Rome; Visitors in ") for line in lines)
    assert max(map(len, lines)) < 320
    assert "Visitors in 2029: 139." in lines[-1]


@pytest.mark.parametrize(
    "text",
    [
        PLANS.replace("|------|", "|"),  # a rule that is not as wide
        PLANS.replace("-", "="),
        "\n".join(PLANS.split("\n")[:2]),  # no rows
        "\n".join(PLANS.split("\n")[2:]),  # no header: the rest of a table that was cut
        PLANS.replace("\n", " "),
        PLANS.replace("\n", "\n\n"),
        "> " + PLANS.replace("\n", "\n> ").replace("|------|------:|:-----:|", "---"),
        "Home | About | Contact\nNews | Jobs | Imprint",
        "|---|---|\n|---|---|\n| a | b |",
        "a || b && c\n--\nd || e",
        "|",
        "|\n|\n|",
        "||\n|-|",
        r"\|\n\|-\|\n\|",
    ],
)
def test_what_is_no_table_is_left_as_it_is(text: str) -> None:
    assert flatten(text) == text


def test_html() -> None:
    told = "Our plans\nPlan: Basic; Price: $10 a month.\nPlan: Pro."
    assert flatten(HTML) == told
    assert flatten(f"See:\n\n{HTML}\n\nor {HTML} ask.") == f"See:\n{told}\nor \n{told}\n ask."


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("<tr><th>Born<td>1950<tr><th>Died<td>2001", "Born: 1950.\nDied: 2001."),
        ("<tr><td>Born</td><td>1950</td></tr>", "Born: 1950."),
        ("<tr><th>Open</th></tr><tr></tr>", "Open."),
        ("<tr><td></td><th>Q1<th>Q2</tr><tr><th>Sales<td>5<td>7", "Sales; Q1: 5; Q2: 7."),
        ("<tr><td>A<td>B<td>C<tr><td>1<td>2<td>3 < 4", "A: 1; B: 2; C: 3 < 4."),
        ("<tr><td>A<td>B<td>C<tr><td>1<td>2", "A: B, C.\n1: 2."),
        ('<tr><th colspan="1">A<th>B<tr><td>1<td>2', "A: 1; B: 2."),
    ],
)
def test_html_tables_of_other_kinds(rows: str, told: str) -> None:
    assert flatten(f"<table>{rows}</table>") == told


@pytest.mark.parametrize(
    "text",
    [
        HTML.removesuffix("</table>"),
        HTML.replace("<td>Basic", '<td colspan="2">Basic'),
        HTML.replace("<td>Basic", "<td ROWSPAN = 12>Basic"),
        HTML.replace("Basic", "<table><tr><td>1</table>"),
        HTML.replace("<tr><td>", "<tr>stray<td>"),
        "<table></table>",
        "<table><tr></tr></table>",
        "</table><table>",
        "a <table of contents",
        "if a <b and c> d | e",
    ],
)
def test_html_that_is_not_simple_is_left_as_it_is(text: str) -> None:
    assert flatten(text) == text


LINES = st.lists(
    st.lists(st.sampled_from(["a", "b", "12", "3", "", "-", ":--"]), min_size=1, max_size=4).map(
        "|".join
    ),
    max_size=8,
)


@given(LINES, st.booleans())
def test_no_word_is_lost_but_names_of_empty_columns(lines: list[str], closed: bool) -> None:
    lines = [f"|{line}|" if closed else line for line in lines]
    found = flatten("\n".join(lines)).split("\n")
    words = [word for line in found for word in re.findall(r"\w+", line)]
    for line, below in zip_longest(lines, lines[1:], fillvalue=""):
        if not re.fullmatch(r"[|:-]+", below):
            assert all(word in words for word in re.findall(r"\w+", line))


@pytest.mark.timing
@pytest.mark.parametrize(
    "unit",
    [
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        "| a |\n",
        "|",
        "|-",
        "|-|\n",
        "<table>",
        "<table",
        "<table><tr><td>",
        "</table   ",
        "<table><tr><td>1</table>",
        '{"a": 1}\n',
        '{"a":\n',
        '{"a": [',
        "[",
        "{",
        " ",
    ],
)
def test_a_time_that_grows_no_faster_than_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        if unit == " ":
            text = f"<table colspan={text}>colspan={text}</table>"
        start = time.process_time()
        flatten(text)
        return time.process_time() - start

    short = max(min(seconds(2_000) for _ in range(3)), 1e-3)
    assert seconds(40_000) < 100 * short


def test_names_that_would_be_repeated_without_end_leave_a_table_as_it_is() -> None:
    header = [str(n) * 500 for n in range(100)]
    rows = [["1"] * 100] * 500
    text = "\n".join(map(piped, [header, ["-"] * 100, *rows]))
    assert flatten(text) == text
    head, cells = "<th>".join(["", *header]), "<td>".join(["", *rows[0]])
    text = f"<table><tr>{head}{f'<tr>{cells}' * 500}</table>"
    assert flatten(text) == text
