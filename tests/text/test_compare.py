"""Differences of texts: every line of both is accounted for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suffice.review.documents import Change, compare, counts

TEXTS = st.lists(st.sampled_from(["a", "b b", "c d e", ""]), max_size=8).map("\n".join)


def test_equal_texts_have_no_differences() -> None:
    assert compare("a\nb", "a\nb") == []


def test_changed_words_are_marked() -> None:
    (hunk,) = compare("Leave lasts 16 weeks.", "Leave lasts 18 weeks.")
    removed, added = hunk
    assert (removed.change, added.change) == (Change.REMOVED, Change.ADDED)
    assert [part.text for part in removed.parts if part.changed] == ["16"]
    assert [part.text for part in added.parts if part.changed] == ["18"]


def test_lines_far_from_a_change_are_left_out() -> None:
    old = [str(n) for n in range(100)]
    new = [*old[:50], "new", *old[51:]]
    (hunk,) = compare("\n".join(old), "\n".join(new), context=2)
    assert [line.old for line in hunk] == [49, 50, 51, None, 52, 53]
    assert counts([hunk]) == (1, 1)


@given(TEXTS, TEXTS)
def test_the_new_text_follows_from_the_old_one(old: str, new: str) -> None:
    lines = [line for hunk in compare(old, new, context=100) for line in hunk]
    if not lines:
        assert old.splitlines() == new.splitlines()
        return
    for text, but in ((old, Change.ADDED), (new, Change.REMOVED)):
        kept = [
            "".join(part.text for part in line.parts) for line in lines if line.change is not but
        ]
        assert kept == text.splitlines()
