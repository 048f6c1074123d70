"""The learned gate's levels: what a missing part does to a score."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from suffice.gate.learned import Learned
from suffice.models.catalog import open_verifier
from suffice.settings import LearnedSettings, VerifierSettings
from suffice.types import Evidence, Level, Passage, Retrieved

QUESTION = "How long is parental leave?"
ITEMS = (Retrieved(Passage("1", "Parental leave is 20 weeks.", "1.md"), 0.7),)


@dataclass(frozen=True)
class At:
    """The level of one and the same evidence, the thresholds set around its score."""

    missing: tuple[str, ...]

    def level(self, **around: float) -> Level:
        verifier = open_verifier(VerifierSettings())
        evidence = Evidence(QUESTION, ITEMS)
        score = Learned(verifier).decide(evidence).score
        moved = {name: min(max(score + by, 0.01), 1.0) for name, by in around.items()}
        settings = LearnedSettings(**moved, review=0.02)
        return Learned(verifier, settings, lambda _: self.missing).decide(evidence).level


@pytest.mark.parametrize(
    ("missing", "level"), [((), Level.SUFFICIENT), (("nothing about nuns",), Level.REVIEW)]
)
def test_over_the_threshold_a_missing_part_goes_to_a_person(
    missing: tuple[str, ...], level: Level
) -> None:
    assert At(missing).level(threshold=-0.1, sufficient=0.1, doubt=-0.3) is level


@pytest.mark.parametrize(
    ("missing", "level"), [((), Level.PARTIAL), (("nothing about nuns",), Level.INSUFFICIENT)]
)
def test_in_doubt_every_part_must_be_spoken_of(missing: tuple[str, ...], level: Level) -> None:
    assert At(missing).level(threshold=0.1, sufficient=0.2, doubt=-0.1) is level


def test_what_is_plainly_enough_needs_no_words() -> None:
    missing = At(("nothing about nuns",))
    assert missing.level(threshold=-0.3, sufficient=-0.1, doubt=-0.4) is Level.SUFFICIENT
