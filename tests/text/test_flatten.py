"""Records as lines: each value keeps its keys; other text is unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.tables import flatten

NAMES = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=6)
LEAVES = st.integers() | st.sampled_from(["Zurich", "at noon", "x" * 90])
RECORDS = st.dictionaries(
    NAMES,
    st.recursive(
        LEAVES,
        lambda inner, **_: st.lists(inner, min_size=1) | st.dictionaries(NAMES, inner, min_size=1),
        max_leaves=8,
    ),
    min_size=1,
)


def lines(value: Any) -> list[str]:
    return flatten(json.dumps(value, indent=2)).split("\n")


def leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Each value with the names above it."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item, path)]
    return [(path, str(value))]


@given(RECORDS)
def test_every_value_stands_on_a_line_with_its_keys(record: dict[str, Any]) -> None:
    found = lines(record)
    for path, value in leaves(record):
        assert any(value in line and all(name in line for name in path) for line in found)


def test_a_plain_record() -> None:
    record = {"name": "Café Luna", "stars": 4.5, "open": True, "closed": False, "owner": None}
    assert lines(record) == [
        "name: Café Luna.",
        "stars: 4.5.",
        "open: yes.",
        "closed: no.",
        "owner: not stated.",
    ]


def test_a_small_record_inside_is_one_line() -> None:
    hours = {"Monday": "8:0-22:30", "Sunday": "10:00-16:5"}
    assert lines({"hours": hours}) == ["hours: Monday 8:00 to 22:30, Sunday 10:00 to 16:05."]
    assert lines({"a": {"b": {"c": 1, "d": {"e": 2}}}}) == ["a, b, c: 1.", "a, b, d, e: 2."]


def test_a_long_value_has_a_line_of_its_own() -> None:
    review = "It was good. " * 10
    assert lines({"reviews": [{"stars": 5, "text": review}, {"stars": 1, "text": "Bad!"}]}) == [
        "reviews, 1, stars: 5.",
        f"reviews, 1, text: {review.strip()}",
        "reviews, 2: stars 1, text Bad!.",
    ]


def test_lists() -> None:
    assert lines({"tags": ["tea", True, None, 3]}) == ["tags: tea, yes, not stated, 3."]
    assert lines([{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == ["1: a 1, b 2.", "2: a 3, b 4."]
    assert lines([[1, 2], [3]]) == ["1: 1, 2.", "2: 3."]
    assert lines([1, 2]) == ["value: 1, 2."]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("OutdoorSeating", "Outdoor Seating"),
        ("business_stars", "business stars"),
        ("WiFi", "WiFi"),
    ],
)
def test_keys_are_read_as_words(key: str, words: str) -> None:
    assert lines({key: 1}) == [f"{words}: 1."]


def test_white_space_inside_a_value_is_one_blank() -> None:
    assert lines({"text": " two\n\n lines\t"}) == ["text: two lines."]


@given(st.text())
def test_other_text_is_left_as_it_is(text: str) -> None:
    for given_ in (f"x{text}", f"{{{text}", f"{{'{text}"):
        assert flatten(given_) == given_


@pytest.mark.parametrize(
    "text",
    ['{"a": 1', "[1] See page 3.", "[", "{}", " [] ", '"a"', "12", '{"a": 1} and more', "[1,]", ""],
)
def test_what_is_no_record_is_left_as_it_is(text: str) -> None:
    assert flatten(text) == text


def test_long_numbers_keep_their_digits() -> None:
    long = "9" * 5000
    assert flatten(f"[{long}]") == f"value: {long}."


@pytest.mark.parametrize("depth", [50, 900, 5_000, 100_000])
def test_deep_nesting_does_not_fail(depth: int) -> None:
    text = "[" * depth + "7" + "]" * depth
    found = flatten(text)
    assert found == text or found.endswith(": 7.")


def test_nor_does_nesting_that_only_some_parsers_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    value: Any = 7
    for _ in range(20_000):  # Python 3.12 parses this; calls do not go as deep
        value = [value]
    with monkeypatch.context() as patch:
        patch.setattr(json.JSONDecoder, "raw_decode", lambda _, text, at=0: (value, len(text)))
        text = "[deep]" + "." * 100_000
        assert flatten(text) == ", ".join(["1"] * 19_999) + ": 7."
        assert flatten("[deep]") == "[deep]"  # would grow too much
    while isinstance(value, list):  # else letting go of it is deep as well
        value = value.pop()


def test_names_that_would_be_repeated_without_end_leave_a_record_as_it_is() -> None:
    key = "k" * 1000
    for record in ({key: [{"a": 1}] * 1000}, {key: {str(n): [[n]] for n in range(1000)}}):
        text = json.dumps(record)
        assert flatten(text) == text
    for depth, short in ((60, True), (900, False)):
        text = '{"x": 1, "a": ' * depth + "2" + "}" * depth
        assert (flatten(text) != text) == short


def test_several_values() -> None:
    plans = [{"plan": "Basic", "price": 10}, {"plan": "Pro", "price": 25}]
    told = ["1: plan Basic, price 10.", "2: plan Pro, price 25."]
    for between, indent in (("\n", None), ("\n\n", None), ("", None), (" ", 2), ("\r\n", 2)):
        text = between.join(json.dumps(plan, indent=indent) for plan in plans)
        assert flatten(f" {text}\n").split("\n") == told
    assert lines(plans) == told
    assert flatten('["a", "b"]\n["c"]') == "1: a, b.\n2: c."


def test_lines_of_json_among_other_lines() -> None:
    text = 'Plans:\n\n{"plan": "Basic", "price": 10}\n  {"plan": "Pro"},\n{"cut": "of'
    assert flatten(text) == 'Plans:\n\n1: plan Basic, price 10.\n2, plan: Pro.\n{"cut": "of'
    assert flatten('One:\n{"plan": "Pro"}\n') == "One:\nplan: Pro.\n"
    mixed = 'Both:\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n{"c": 3}'
    assert flatten(mixed) == "Both:\n\na: 1; b: 2.\n\nc: 3."


@pytest.mark.parametrize(
    "text",
    ["[1] [2]", "[1]\n[2, 3]", '{"a": 1} 2', "See\n[1]\n[2]", "{}\n{}", "{ x }\n{ y }", "f {\n}"],
)
def test_what_is_no_row_of_records_is_left_as_it_is(text: str) -> None:
    assert flatten(text) == text


def test_numbers_stay_as_they_are_written() -> None:
    assert flatten('{"version": 3.10, "price": 1.50}') == "version: 3.10.\nprice: 1.50."
