"""The readable text of Markdown and HTML, and the position of each character in the source."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.readable import Readable, readable


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("See the [guide](/docs/a_b.md#start).", "See the guide."),
        ("See the [guide](/wiki/Pump_(device)).", "See the guide."),
        ("See [the **short** guide][ref].", "See the short guide."),
        ("![A chart](chart.png)", "A chart"),
        ("Write to <help@example.org>.", "Write to help@example.org."),
        ("**Bold**, *slanted*, __both__ and `code_name`.", "Bold, slanted, both and code_name."),
        ("Set <code>limit</code> to 5.", "Set limit to 5."),
        ("One<br/>two", "One two"),
        ("Fish &amp; chips &lt; 5", "Fish & chips < 5"),
        ("## Leave ##", "Leave"),
        ('!!! info "Good to know"', "Good to know"),
        ("{{< note >}}Mind the gap.{{< /note >}}", "Mind the gap."),
        (r"2 \* 3", "2 * 3"),
        ("<!-- hidden -->Seen.", "Seen."),
        ("Certificates last.[^1] So do keys.", "Certificates last. So do keys."),
        ("[^1]: For one year.", "For one year."),
    ],
)
def test_marks_are_not_read(source: str, read: str) -> None:
    assert readable(source).strip() == read


@pytest.mark.parametrize(
    "text",
    [
        "snake_case_name and another_one",
        "2 * 3 * 4, a*b*c",
        "x < 5 and y > 3",
        "Really?! Yes = no.",
        "Item [1] and [2].",
        "Match [^0-9] once.",
        "R&D; AT&T",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_what_is_no_mark_stays(text: str) -> None:
    assert readable(text) == text


def test_code_stays_as_it_is() -> None:
    assert readable("```yaml\na: *b*\n```\n").strip() == "a: *b*"


def test_a_part_is_read_as_in_the_whole() -> None:
    source = "**Ask first. Then [sign](form.md)** it."
    read = Readable.of(source)
    assert read.cut(0, 12) == "Ask first."
    assert read.cut(13, len(source)) == "Then sign it."


@given(st.text(alphabet='ab *_`[]()<>/!#&;\\{}|.\n-="', max_size=60))
def test_every_letter_has_its_place(source: str) -> None:
    read = Readable.of(source)
    assert len(read.text) == len(read.places)
    assert list(read.places) == sorted(read.places)
    assert all(
        source[place] in (char, "&", "<")
        for char, place in zip(read.text, read.places, strict=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        "The fee is <del>50</del> 70 euros.",
        "> 30 days before departure the fee is 10 euros.",
        "The plan covers <not> dental care.",
        "2**10 and 2**20",
        "[Anna]: The budget was not approved.",
        "| A \\| B | 5 |",
    ],
)
def test_what_carries_meaning_stays(text: str) -> None:
    assert readable(text) == text


def test_a_raised_number_is_not_joined_to_the_one_before_it() -> None:
    assert readable("10<sup>6</sup> cells") == "10^6 cells"


@pytest.mark.timing
@pytest.mark.parametrize("part", ["<!-- ", "**a ", " __a", "{{< ", "[a](", "=== ab ", "`a", "<a "])
def test_unclosed_marks_take_time_by_their_size(part: str) -> None:
    def seconds(count: int) -> float:
        began = time.perf_counter()
        readable(part * count)
        return time.perf_counter() - began

    seconds(50)
    assert seconds(8000) < 12 * max(seconds(2000), 0.01)  # four times the size
