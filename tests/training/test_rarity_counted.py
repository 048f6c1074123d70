"""Words are counted by the passages that hold them."""

from __future__ import annotations

from suffice.text.words import LEVELS
from training.rarity import written


def test_a_word_stands_on_the_level_of_its_rarity() -> None:
    passages = [f"The leave of {'staff' if n % 20 == 0 else 'managers'}, number {n}, is long."
                for n in range(5000)]  # fmt: skip
    lines = written(passages).splitlines()
    assert len(lines) == LEVELS
    assert {"the", "leave", "managers", "staff"} <= set(lines[0].split())
    assert not any("17" in line.split() for line in lines)
    assert all(line.split() == sorted(line.split()) for line in lines)


def test_the_same_passages_give_the_same_file() -> None:
    passages = [f"Passage {n % 7} of {n % 5}." for n in range(100)]
    assert written(passages) == written(reversed(passages))
