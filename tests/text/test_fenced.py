"""Texts as data: no fence can be forged from inside, no quotation ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.models.chat import described, fence, fenced, quoted
from suffice.types import Kind, Passage


def test_a_text_between_its_fences() -> None:
    assert fenced("ab", "claim", "x\ny") == "--- ab claim ---\nx\ny\n--- ab end of claim ---"
    assert fenced("ab", "passage 1", "x", '"T"').startswith('--- ab passage 1: "T" ---\n')


@given(st.lists(st.text(alphabet="0123456789abcdef- ", max_size=60), max_size=4))
def test_a_mark_stands_in_none_of_the_texts(texts: list[str]) -> None:
    mark = fence(texts)
    assert mark == fence(texts)
    assert not any(mark in text for text in texts)
    assert fence([*texts, mark]) != mark


def test_a_mark_that_happens_to_stand_in_a_passage_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digests = iter(["a" * 64, "b" * 64])

    class Digest:
        def __init__(self, data: bytes) -> None: ...

        def hexdigest(self) -> str:
            return next(digests)

    monkeypatch.setattr("suffice.models.chat.hashlib.sha256", Digest)
    assert fence(["x" + "a" * 20]) == "b" * 12


@given(st.text())
def test_a_quotation_cannot_be_ended_from_inside(text: str) -> None:
    line = quoted(text)
    assert '"' not in line
    assert "\n" not in line
    assert len(line) <= 301


def test_a_discussion_is_named_as_one() -> None:
    assert described(Passage("d@1#0-1", "Hm.", "d", kind=Kind.DISCUSSION)).endswith(
        "minutes of a discussion"
    )
