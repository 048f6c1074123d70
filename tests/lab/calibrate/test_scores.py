"""Scores of labelled answers: those of the pipeline, kept so that a run can continue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from suffice.lab.calibrate.labels import Label
from suffice.lab.calibrate.scores import Scorer, score
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.settings import CollectionSettings, VerdictSettings
from suffice.types import Action
from suffice.verdict.thresholds import SERVE_ONLY
from tests.fakes import HashEmbedder

EVIDENCE = ("Pay day is the 25th of each month.",)


@dataclass
class WordVerifier:
    """Finds a claim supported if all of its words are in the evidence."""

    id: str = "words-1"
    tier: str = "fast"
    asked: int = 0

    @property
    def thresholds(self) -> Thresholds:
        return Thresholds()

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        self.asked += len(pairs)
        return [SupportScore(0.95, 0.01) if _within(p) else SupportScore(0.1, 0.2) for p in pairs]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [SufficiencyScore(0.9) for _ in pairs]


def _within(pair: Pair) -> bool:
    held = " ".join(pair.evidence).lower()
    return all(word.strip(".") in held for word in pair.text.lower().split())


@pytest.fixture
def verifier() -> WordVerifier:
    return WordVerifier()


@pytest.fixture
def scorer(verifier: WordVerifier) -> Scorer:
    return Scorer.of(CollectionSettings(), HashEmbedder(), verifier, SERVE_ONLY, gated=True)


def label(answer: str, digest: str) -> Label:
    return Label(digest, True, "When is pay day?", EVIDENCE, answer)


RIGHT = label("Each month pay day is the 25th.", "a")
WRONG = label("Pay day is announced by the treasury department.", "b")


def test_a_supported_answer_is_allowed_and_more_confident(scorer: Scorer) -> None:
    right, wrong = scorer(RIGHT), scorer(WRONG)
    assert right.action is Action.SERVE
    assert wrong.action is not Action.SERVE
    assert right.confidence > wrong.confidence
    assert right.gate == wrong.gate  # the gate judges the evidence, not the answer


def test_a_score_under_the_configured_gate_is_still_measured(verifier: WordVerifier) -> None:
    """The thresholds of the settings do not hide the answers that others would serve."""
    closed = CollectionSettings()
    learned = replace(closed.gate.learned, threshold=0.99, sufficient=1.0, review_band=0.0)
    closed = replace(closed, gate=replace(closed.gate, learned=learned))
    scorer = Scorer.of(closed, HashEmbedder(), verifier, SERVE_ONLY, gated=True)
    assert scorer(RIGHT).action is Action.SERVE


def test_a_run_continues_where_it_stopped(
    scorer: Scorer, verifier: WordVerifier, tmp_path: Path
) -> None:
    path, seen = tmp_path / "thresholds.scores.jsonl", []

    def progress(what: str, done: int, total: int) -> None:
        seen.append((done, total))

    first = score([RIGHT], scorer, path, progress)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut off')
    path.write_text(path.read_text() + "\n")
    both = score([RIGHT, WRONG], scorer, path, progress)
    assert both[0] == first[0]
    assert seen == [(1, 1), (1, 1)]  # the second run computes only what is missing
    asked = verifier.asked
    assert score([RIGHT, WRONG], scorer, path, progress) == both
    assert verifier.asked == asked


def test_scores_of_other_settings_are_not_reused(
    scorer: Scorer, verifier: WordVerifier, tmp_path: Path
) -> None:
    path = tmp_path / "thresholds.scores.jsonl"
    score([RIGHT], scorer, path, lambda what, done, total: None)
    routes = ("conflict -> CONFLICT", "else -> WITHHOLD")
    other = replace(CollectionSettings(), verdict=VerdictSettings(routes=routes))
    strict = Scorer.of(other, HashEmbedder(), verifier, SERVE_ONLY, gated=True)
    (found,) = score([RIGHT], strict, path, lambda what, done, total: None)
    assert found.action is Action.WITHHOLD
