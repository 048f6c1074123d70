"""Blocks that can be understood alone: paragraphs, lists, table rows, answers to questions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suffice.draft.extractive import quotable

PAGE = """\
## Leave

Employees get 25 days. Managers get 30 days, except in Paris.
They must be taken by March.

However, interns get 10 days.

### Steps

To apply:

1. Open the form.
2. Fill it in.
   Use black ink.

- Free plan: 10 MB
- Plus plan: 1 GB. This is per file.

| Plan | Size |
| --- | --- |
| Free | 10 MB |
| Plus | 1 GB |

**How long?**

Ten days."""
WHOLE = [
    "Employees get 25 days. Managers get 30 days, except in Paris.\nThey must be taken by March."
    "\n\nHowever, interns get 10 days.",
    "To apply:\n\n1. Open the form.\n2. Fill it in.\n   Use black ink.",
    "- Free plan: 10 MB\n- Plus plan: 1 GB. This is per file.",
    "| Plan | Size |\n| --- | --- |\n| Free | 10 MB |",
    "| Plan | Size |\n| --- | --- |\n| Plus | 1 GB |",
    "**How long?**\nTen days.",
]


def test_blocks_of_a_page() -> None:
    assert [block.wording(PAGE) for block in quotable(PAGE)] == WHOLE
    assert [block.headings for block in quotable(PAGE)][::3] == [("Leave",), ("Leave", "Steps")]


def test_an_item_of_a_long_list_comes_with_its_lead_in() -> None:
    items = [f"- Plan {n}: " + "storage " * 20 for n in range(6)]
    text = "Each plan has its limit:\n\n" + "\n".join(items)
    assert [block.wording(text) for block in quotable(text)] == [
        f"Each plan has its limit:\n{item.strip()}" for item in items
    ]


def test_a_long_paragraph_is_several_blocks() -> None:
    said = [f"Sentence number {n} has ten words and is not long." for n in range(20)]
    found = quotable(" ".join(said))
    assert len(found) == 3
    assert " ".join(block.wording(" ".join(said)) for block in found) == " ".join(said)


@given(st.text(alphabet=st.sampled_from("ab .?:|\n-1#*"), max_size=120))
def test_spans_are_in_order_and_hold_words(text: str) -> None:
    for block in quotable(text):
        assert all(0 <= start < end <= len(text) for start, end in block.slices)
        assert text[slice(*block.slices[-1])].strip()


def test_rows_of_two_cells_without_outer_marks_keep_their_header() -> None:
    text = "Service | Fee\n--- | ---\nReplacement card | 10 EUR\nOutgoing wire transfer | 25 EUR"
    assert [block.wording(text) for block in quotable(text)] == [
        "Service | Fee\n--- | ---\nReplacement card | 10 EUR",
        "Service | Fee\n--- | ---\nOutgoing wire transfer | 25 EUR",
    ]
