"""Words by their stems: the forms of one word meet, and those of two do not."""

from __future__ import annotations

import pytest

from suffice.checks.aligned import roots
from suffice.text.literals import literals
from suffice.text.literals.binding import stem


@pytest.mark.parametrize(
    "forms",
    [
        "agree agrees agreed agreeing",
        "guarantee guarantees guaranteed guaranteeing",
        "exceed exceeds exceeded exceeding",
        "speed speeds speeding",
        "apply applies applied applying",
        "carry carries carried carrying",
        "stop stops stopped stopping",
        "release releases released releasing",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_other_words_have_other_stems() -> None:
    words = "agree apply carry copy exceed proceed need feed speed seed die tie".split()
    assert len({stem(word) for word in words}) == len(words)


def test_what_is_agreed_has_the_consent_of_who_agrees() -> None:
    assert roots("It is agreed with a supervisor.") == roots("The manager consents.")


def test_what_is_left_out_before_a_later_value_is_shared() -> None:
    first, second = literals("Printing costs 0.10 euros a page in black and 0.40 euros in colour.")
    assert not first.shared
    assert "print" in second.shared
    assert "black" not in second.shared
    _, later = literals("Old passes cost 49 euros and new passes 42 euros.")
    assert later.shared == ("cost",)
    apart = literals("It lies 70 miles (113 kilometers) west of the town.")
    assert not any(one.shared for one in apart)


def test_words_with_accents_are_whole() -> None:
    (fee,) = literals("They serve 3 crèmes brûlées to guests.")
    assert fee.nouns == ("crèm", "brûlé")
    assert not literals("Ella tenía un perro.")  # no "ten"
