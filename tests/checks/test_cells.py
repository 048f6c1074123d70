"""Values of a table under the right header, beside the right name."""

from __future__ import annotations

import pytest

from suffice.checks.cells import misplaced, tables

TEXT = """The period depends on the years of service.

| Length of service | Notice given by the employee | Notice given by the company |
| --- | --- | --- |
| During probation | 1 week | 2 weeks |
| 5 to 10 years | 8 weeks | 15 weeks |
| More than 10 years | 13 weeks | 26 weeks |

It starts on a Monday."""


def test_a_table_is_read() -> None:
    (table,) = tables(TEXT)
    assert table.header[2] == "Notice given by the company"
    assert table.rows[2] == ("More than 10 years", "13 weeks", "26 weeks")


@pytest.mark.parametrize(
    "said",
    [
        "The company gives 13 weeks of notice to employees with more than 10 years of service.",
        "Employees give 26 weeks of notice after more than 10 years.",
        "The notice given by the company is 8 weeks.",
        "During probation the notice is 13 weeks.",
    ],
)
def test_a_value_of_another_cell_is_seen(said: str) -> None:
    assert "stands" in misplaced(said, [*tables(TEXT)])


@pytest.mark.parametrize(
    "said",
    [
        "The company gives 26 weeks of notice to employees with more than 10 years of service.",
        "Employees give 13 weeks of notice after more than 10 years.",
        "During probation the notice given by the company is 2 weeks.",
        "The notice is 13 weeks.",
        "It starts on a Monday.",
        "Notice is 99 weeks.",
    ],
)
def test_what_may_be_right_is_left_alone(said: str) -> None:
    assert misplaced(said, [*tables(TEXT)]) == ""


def test_no_table_is_no_trouble() -> None:
    assert [*tables("a | b\n\n|--|\nLeave is 20 weeks.")] == []


HOURS = """| Place | Monday | Saturday | Fee, peak | Fee, off-peak |
|---|---|---|---|---|
| Old hall, north | 09:00-17:00 | closed | 12.00 | 8.00 |
| New hall | 10:00-18:00 | 09:00-12:00 | 15.00 | 9.50 |"""


@pytest.mark.parametrize(
    "said",
    [
        "The old hall is open from 09:00 to 12:00 on Saturday.",
        "On Monday the new hall closes at 17:00.",
        "The old hall costs 15.00 euros.",
    ],
)
def test_a_row_is_known_by_its_words_and_a_cell_by_its_numbers(said: str) -> None:
    assert misplaced(said, [*tables(HOURS)])


@pytest.mark.parametrize(
    "said",
    [
        "The old hall is closed on Saturday.",
        "On Monday the new hall closes at 18:00.",
        "The new hall is open from 10:00 on Monday, and from 09:00 to 12:00 on Saturday.",
        "Both halls are open on Monday.",
    ],
)
def test_the_right_cell_is_left_alone(said: str) -> None:
    assert misplaced(said, [*tables(HOURS)]) == ""


def test_a_header_within_another_is_told_from_it() -> None:
    (table,) = tables("| Court | Peak | Off-peak |\n|---|---|---|\n| Squash | 14 | 9 |")
    assert table.columns("It costs 14 off-peak.") == [2]
    assert table.columns("It costs 14 at peak times.") == [1]
