"""The checkpoint, at and around each of its two numbers."""

from __future__ import annotations

import pytest

from suffice.gate.policies.tiers import Checkpoint
from suffice.settings import CheckpointSettings
from suffice.types import Evidence, Level, Passage, Retrieved


def evidence(*scores: float | None) -> Evidence:
    items = tuple(
        Retrieved(Passage(id=str(n), text="Leave is twenty weeks.", document=f"{n}.md"), score)
        for n, score in enumerate(scores)
    )
    return Evidence("How long is leave for contractors?", items)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ((0.65, 0.1, 0.1), ()),
        ((0.65, None, None), ()),
        ((0.1, 0.9, 0.1, 0.1), ()),
        ((0.649, 0.6, 0.6), ("0.649 is under 0.65",)),
        ((0.9, 0.9), ("2 of 3",)),
        ((0.5,), ("1 of 3", "0.500 is under 0.65")),
        ((None, None, None), ("no similarity",)),
        ((), ("no passage",)),
    ],
)
def test_passages_and_top(scores: tuple[float | None, ...], says: tuple[str, ...]) -> None:
    decision = Checkpoint().decide(evidence(*scores))
    assert decision.level is (Level.INSUFFICIENT if says else Level.SUFFICIENT)
    assert all(any(part in reason for reason in decision.reasons) for part in says), (
        decision.reasons
    )
    assert bool(decision.missing) == bool(says)


def test_the_numbers_are_settings_and_signals() -> None:
    decision = Checkpoint(CheckpointSettings(min_passages=2, min_best_similarity=0.4)).decide(
        evidence(0.45, 0.2)
    )
    assert decision.open
    held = [(signal.name, signal.value, signal.threshold) for signal in decision.signals]
    assert held == [("passages", 2, 2), ("best similarity", 0.45, 0.4)]


def test_one_passage_three_times_is_one_passage() -> None:
    once = evidence(0.9)
    assert not Checkpoint().decide(Evidence(once.question, once.items * 3)).open
