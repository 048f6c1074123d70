"""JSON: flattened to lines, keys with their values."""

from __future__ import annotations

from datetime import date

import pytest

from suffice.errors import Unreadable
from suffice.evidence.read import read_bytes


def text_of(source: str) -> str:
    return read_bytes(source.encode(), ".json", "a.json").text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            '{"leave": {"weeks": 20, "paid": true, "note": null}}',
            "leave.weeks: 20\nleave.paid: true\nleave.note: null",
        ),
        (
            '{"price": 2.10, "big": 1e400, "days": [1, 2.50, "x"]}',
            "price: 2.10\nbig: 1e400\ndays: 1, 2.50, x",
        ),
        ('[{"a": 1, "b": 2}, {"a": 3}]', "a: 1\nb: 2\n\na: 3"),
        (
            '{"x": 1, "rows": [{"a": 1}, {"a": 2}], "y": 2}',
            "x: 1\n\nrows.a: 1\n\nrows.a: 2\n\ny: 2",
        ),
        ('{"m": [[1, 2], [3], "z"], "none": [], "no": {}}', "m: 1, 2\n\nm: 3\n\nm: z"),
        ('{"body": "one\\r\\ntwo\\u0000\\ud800"}', "body: one\ntwo\ufffd\ufffd"),
        ('"just text"', "just text"),
        ("9" * 5000, "9" * 5000),
        ('{"a": 1}\n\n{"a": 2, "b": [{"c": 3}]}\n', "a: 1\n\na: 2\n\nb.c: 3"),
    ],
)
def test_flattened(source: str, text: str) -> None:
    assert text_of(source) == text


def test_front_matter_of_a_top_level_object() -> None:
    source = (
        '{"Title": "Leave", "version": 2.10, "effective": "2025-03-01", "kind": "policy",'
        ' "access": ["hr"], "id": 7, "weeks": 20}'
    )
    content = read_bytes(source.encode(), ".json", "a.json")
    front = content.front
    assert (front.title, front.version) == ("Leave", "2.10")
    assert front.id is None  # a record's number, not a name that documents share
    assert (front.effective, front.kind) == (date(2025, 3, 1), "fact")
    assert front.access == {"hr"}
    assert content.text.endswith("weeks: 20")
    assert not content.markdown


def test_keys_that_mean_something_else_are_no_front_matter() -> None:
    source = '{"kind": "Deployment", "version": {"major": 1}, "title": ["x"], "replicas": 3}'
    front = read_bytes(source.encode(), ".json", "a.json").front
    assert (front.kind, front.version, front.title) == (None, None, None)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('{"a": 1', r"is not valid JSON \(line 1, column 8: Expecting ',' delimiter\)"),
        ('{"a": 1}\n{"a": }', r"is not valid JSON \(line 2, column 7: Expecting value\)"),
        ("not json", "is not valid JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "is nested too deeply"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "is nested too deeply"),
        ("{}", "is empty"),
        ("[[], {}]", "is empty"),
        ("", "is empty"),
        ('{"expires": "soon", "a": 1}', "invalid date: expires is 'soon'"),
        ('{"access": {"a": 1}}', "declares access as something other than plain text"),
    ],
)
def test_refused(source: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        text_of(source)
