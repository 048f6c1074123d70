"""CSV: every value with its column's name."""

from __future__ import annotations

import pytest

from suffice.errors import Unreadable
from suffice.evidence.read import read_bytes


def text_of(source: str) -> str:
    content = read_bytes(source.encode(), ".csv", "a.csv")
    assert not content.markdown
    return content.text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_rows_keep_keys_with_values(delimiter: str) -> None:
    source = 'Name,City\nAnna,"Paris"\nBob,Rome\n'.replace(",", delimiter)
    assert text_of(source) == "Name: Anna; City: Paris.\nName: Bob; City: Rome."


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Item;Price\nTea;1,50\nMilk;2,25", "Item: Tea; Price: 1,50.\nItem: Milk; Price: 2,25."),
        ('A,B\n"x, ""y""\nz",1', 'A: x, "y" z; B: 1.'),
        ("A,B,C\n1,2\n\n,,\n1,2,3,4", "A: 1; B: 2.\nA: 1; B: 2; C: 3; Column 4: 4."),
        ("A,,C\n1,2,3", "A: 1; Column 2: 2; C: 3."),
        ("A,B\n1,\n,2", "A: 1.\nB: 2."),
        ("Item,2023,2024\nSales,10,12", "Item: Sales; 2023: 10; 2024: 12."),
        ("1,2\n3,4", "Column 1: 1; Column 2: 2.\nColumn 1: 3; Column 2: 4."),
        ("Note\nIt ends.\nDoes it?", "Note: It ends.\nNote: Does it?"),
        ("Name,City", "Name; City."),
        ("A,B\na\u2028b,1", "A: a b; B: 1."),
        ('A,B\n"never closed,1\n2,3', "A: never closed,1 2,3."),
    ],
)
def test_tables(source: str, text: str) -> None:
    assert text_of(source) == text


def test_very_long_field() -> None:
    assert len(text_of(f"A,B\n{'x' * 500_000},1")) > 500_000


@pytest.mark.parametrize("source", ["", " \n", ",,\n,,", '""'])
def test_empty(source: str) -> None:
    with pytest.raises(Unreadable, match="is empty"):
        text_of(source)


def test_headers_that_grow_without_bound() -> None:
    source = "h" * 1_000_000 + ",B\n" + "1,2\n" * 200
    with pytest.raises(Unreadable, match="expands to more than 100 million characters"):
        text_of(source)
