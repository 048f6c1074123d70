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
