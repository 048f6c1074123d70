"""Parsing a text into a draft: exact spans, all citations kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.draft.reading import THOUGHT, read_draft
from tests.draft.asked import passage

PASSAGES = [passage(n, f"Text {n}.") for n in range(5)]


def test_claims_and_citations() -> None:
    draft = read_draft("Hello! Leave is paid. [2] It lasts 20 weeks [1, 7].", PASSAGES, drafter="x")
    assert [(c.text, c.cites) for c in draft.claims] == [
        ("Leave is paid.", (2,)),
        ("It lasts 20 weeks [1, 7].", (1, 7)),
    ]
    # There is no seventh passage: no `Citation`, but the number stays for the citations check.
    assert [(c.n, c.passage.id) for c in draft.citations] == [(1, "d0@1#0-1"), (2, "d1@1#0-1")]


NUMBERS = st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True)
FULL_WIDTH = str.maketrans("0123456789[]", "０１２３４５６７８９［］")
STYLES = {
    "[1, 2]": lambda ns: f"[{', '.join(map(str, ns))}]",
    "[1][2]": lambda ns: "".join(f"[{n}]" for n in ns),
    "[1], [2]": lambda ns: ", ".join(f"[{n}]" for n in ns),
    "[[1], [2]]": lambda ns: f"[{', '.join(f'[{n}]' for n in ns)}]",
    "([1]; [2])": lambda ns: f"({'; '.join(f'[{n}]' for n in ns)})",
    "【1】【2】": lambda ns: "".join(f"【{n}】" for n in ns),
    "【1†a】": lambda ns: "".join(f"【{n}†a】" for n in ns),
    "［１，２］": lambda ns: "".join(f"[{n}]".translate(FULL_WIDTH) for n in ns),
    "⟦1, 2⟧": lambda ns: f"⟦{', '.join(map(str, ns))}⟧",
    "(sources 1, 2)": lambda ns: f"(sources {', '.join(map(str, ns))})",
    "[Passage 1; Passage 2]": lambda ns: f"[{'; '.join(f'Passage {n}' for n in ns)}]",
    "①②": lambda ns: "".join(chr(0x245F + n) for n in ns),
}


@pytest.mark.parametrize("style", STYLES)
@given(numbers=NUMBERS, inside=st.booleans())
@settings(max_examples=20, deadline=None)
def test_every_way_to_write_a_mark(style: str, numbers: list[int], inside: bool) -> None:
    mark = STYLES[style](numbers)
    text = f"Leave is paid {mark}." if inside else f"Leave is paid. {mark}"
    (claim,) = read_draft(text, PASSAGES).claims
    assert claim.cites == tuple(numbers)
    shown = text.replace("†a", "")
    assert shown[claim.start : claim.end] == claim.text


@given(first=st.integers(1, 9), more=st.integers(1, 9), dash=st.sampled_from("-–—‑−"))
def test_a_range_cites_all_of_it(first: int, more: int, dash: str) -> None:
    (claim,) = read_draft(f"Leave is paid [{first}{dash}{first + more}].", PASSAGES).claims
    assert claim.cites == tuple(range(first, first + more + 1))


PIECES = st.sampled_from(
    [
        "Leave is paid",
        ". ",
        "[1]",
        "【2】",
        "(3)",
        "[[",
        "]]",
        "①",
        "²",
        "\n\n",
        "- ",
        "| a |",
        "\ud800",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=150))
@settings(deadline=None)
def test_spans_are_exact_and_no_statement_is_lost(text: str) -> None:
    draft = read_draft(text, PASSAGES)
    place = 0
    for claim in draft.claims:
        assert draft.text[claim.start : claim.end] == claim.text
        assert place <= claim.start
        place = claim.end
    claimed = "".join(claim.text for claim in draft.claims)
    if "```" not in text and "?" not in text and "|" not in text and ":" not in text:
        assert claimed.count("Leave is paid") == draft.text.count("Leave is paid")
    draft.text.encode()


@pytest.mark.parametrize("text", ["[1]", "[1] [2]\n\n[3]", "[[1], [2]]", "【1】", "", "  \n", "①"])
def test_only_marks_are_no_claim(text: str) -> None:
    draft = read_draft(text, PASSAGES)
    assert draft.claims == ()
    assert draft.text == text.strip()


def test_what_was_thought_aloud_is_left_out() -> None:
    draft = read_draft("<think>\nIs it 5? [3]\n</think>\n\nLeave is paid. [1]", PASSAGES)
    assert draft.text == "Leave is paid. [1]"
    assert THOUGHT in draft.notes
    assert [c.n for c in draft.citations] == [1]
    assert read_draft("<think>It never ended", PASSAGES).text == ""
    assert read_draft("<THINK>No.</Think> Leave is paid.", ()).text == "Leave is paid."
    late = read_draft("Leave is paid <think>.", PASSAGES)
    assert late.text == "Leave is paid &lt;think>."
