"""How informative a word is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suffice.text.words import FILE, LEVELS, fold, folded, rarity, weight


def test_common_words_tell_little() -> None:
    assert rarity("the") == rarity("first") == 0
    assert 0 < rarity("germany") < rarity("hindu") < rarity("winteler") == 1


def test_words_are_compared_without_case_and_separators() -> None:
    assert list(folded("In Oslo, 4,000 km² for U.S. staff")) == [
        "in", "oslo", "4000", "km2", "for", "u", "s", "staff",
    ]  # fmt: skip
    assert fold("１２") == "12"


def test_the_file_holds_each_word_once() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    words = [word for line in lines for word in line.split()]
    assert len(lines) == LEVELS
    assert len(words) == len(set(words)) > 5000
    assert all(word == fold(word) for word in words)


@given(st.sets(st.text("abcxyz", min_size=1, max_size=6), max_size=8))
def test_the_weight_of_words_is_at_most_their_number(words: set[str]) -> None:
    assert 0 <= weight(words) <= len(words)
