"""The words that a literal is linked to."""

from __future__ import annotations

from suffice.text.literals import literals


def test_what_is_left_out_before_a_later_value_is_shared() -> None:
    first, second = literals("Printing costs 0.10 euros a page in black and 0.40 euros in colour.")
    assert not first.shared
    assert "print" in second.shared
    assert "black" not in second.shared
    apart = literals("It lies 70 miles (113 kilometers) west of the town.")
    assert not any(one.shared for one in apart)


def test_words_with_accents_are_whole() -> None:
    (fee,) = literals("They serve 3 crèmes brûlées to guests.")
    assert fee.nouns == ("crèmes", "brûlées")
    assert not literals("Ella tenía un perro.")  # no "ten"
