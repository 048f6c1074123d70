"""Charts: readable axes, a hover text for each point in time, and the same figures as a table."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from suffice.server.ui.charts import Band, Chart, percent, seconds, ticks, whole


def chart(*values: float | None, **more: object) -> Chart:
    times = [f"day <{n}>" for n in range(len(values))]
    return Chart("c", "A & B", "About.", times, [Band("x", "s-c1", values)], whole, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 87, [0, 25, 50, 75, 100]),
        (0, 4, [0, 1, 2, 3, 4]),
        (0.8, 1.0, [0.8, 0.85, 0.9, 0.95, 1.0]),
        (0, 0.003, [0, 0.001, 0.002, 0.003]),
    ],
)
def test_ticks_are_round_and_cover_the_values(low: float, high: float, found: list[float]) -> None:
    assert ticks(low, high, 4) == pytest.approx(found)


@pytest.mark.parametrize("stacked", [True, False])
def test_a_chart_is_valid_svg_with_a_text_for_each_time(stacked: bool) -> None:
    made = chart(3, None, 0, 12, stacked=stacked)
    assert made.narrow is not None
    for svg in (made.wide, made.narrow):
        root = ElementTree.fromstring(str(svg))
        titles = [one.text for one in root.iter("title")]
        assert titles == [f"day <{n}>\nx: {told}" for n, told in enumerate(["3", "–", "0", "12"])]
        assert root.attrib["aria-label"].startswith("A & B. About.")
        assert not re.search(r"style=|nan|inf", str(svg))


def test_a_line_is_interrupted_where_nothing_was_measured() -> None:
    line = re.search(r'class="line s-c1" d="([^"]*)"', str(chart(1, 2, None, 3).wide))
    assert line
    assert re.sub(r"[^ML]", "", line[1]) == "MLM"


def test_zero_is_data_and_nothing_is_not() -> None:
    assert not chart(0, 0).empty
    assert chart(None, None).empty
    assert chart(0, 0, stacked=True).empty
    assert "nan" not in str(chart(0, 0).wide)


def test_the_table_has_the_newest_first() -> None:
    assert chart(1, None).rows == [("day <1>", ["–"]), ("day <0>", ["1"])]


def test_numbers_carry_their_unit() -> None:
    assert [percent(one) for one in (0, 0.25, 0.054)] == ["0 %", "25 %", "5.4 %"]
    assert [seconds(one) for one in (0, 0.0312, 1.5)] == ["0 ms", "31.2 ms", "1.5 s"]
    assert [whole(one) for one in (1234, 2.5)] == ["1,234", "2.5"]
