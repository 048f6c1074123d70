"""Letters of another script inside a Latin word are read as they look."""

from __future__ import annotations

import pytest

from suffice.checks.claim_text import alone
from suffice.draft.reading import read_draft
from suffice.text.words import unmasked


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("It must nоt be paid.", "It must not be paid."),
        ("You cаnnоt work.", "You cannot work."),
        ("The office in Москва is open.", "The office in Москва is open."),
        ("It is 5 μm thick, or 5 °C.", "It is 5 μm thick, or 5 °C."),
    ],
)
def test_only_words_of_mixed_script_change(text: str, seen: str) -> None:
    assert unmasked(text) == seen
    assert len(unmasked(text)) == len(text)


def test_checks_read_a_claim_as_it_looks() -> None:
    draft = read_draft("Both fees must nоt be paid [1].", (), drafter="given")
    assert "nоt" in draft.claims[0].text  # the draft itself stays as it was written
    assert alone(draft)[0].startswith("Both fees must not be paid")
