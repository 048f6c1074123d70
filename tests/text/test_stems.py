"""Stems: forms of one word match, and forms of two words do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice.evidence.index import bm25
from suffice.text.words import listed, stem, stems

HANDBOOK = Path(__file__).parent.parent.parent / "src" / "suffice" / "handbook"


@pytest.mark.parametrize(
    "forms",
    [
        "agree agrees Agreed agreeing",
        "exceed exceeds exceeded exceeding",
        "apply applies applied applying",
        "stop stops stopped stopping",
        "approve approves approval approved",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_other_words_have_other_stems() -> None:
    words = "agree apply carry copy exceed proceed need feed speed seed die tie".split()
    assert len({stem(word) for word in words}) == len(words)


def test_a_long_run_of_letters_is_its_own_stem() -> None:
    assert stem("Running" * 1000) == "running" * 1000


def test_a_list_holds_a_word_and_its_plural_only() -> None:
    assert listed("weeks", {"week", "several"})
    assert listed("several", {"week", "several"})
    assert not listed("severance", {"week", "several"})


def test_the_stems_of_a_text_are_those_of_its_counted_words() -> None:
    assert stems("Don't order what she's ordering: 10 e-mails!") == {"order", "10", "e", "mail"}
    assert stems("What is it that they'll do?") == frozenset()


def test_the_stems_of_a_text_are_the_words_that_keyword_search_counts() -> None:
    read = [path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.glob("*.md"))]
    for line in (line for text in read for line in text.splitlines()):
        assert len(stems(line)) == len(bm25().embed_query(line).indices), line
