"""A draft of twice the size takes about twice the time, however long it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from suffice.checks.check import run_checks
from suffice.checks.registry import open_checks
from suffice.draft.reading import read_draft
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.settings import ChecksSettings
from suffice.text.claims import claims
from tests.checks.drafts import evidence
from tests.fakes import HashEmbedder

pytestmark = pytest.mark.timing

WORDS = "leave manager request budget travel hotel contract holiday office notice rule form".split()


@dataclass(frozen=True)
class Certain:
    """A verifier that takes no time."""

    id: str = "certain-1"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return [SupportScore(0.9, 0.0, 0.1, passage=0) for _ in pairs]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [SufficiencyScore(0.9, passage=0) for _ in pairs]


def prose(size: int, seed: int) -> str:
    rng = Random(seed)
    more: list[str] = []

    def one() -> str:
        return rng.choice(WORDS)

    while sum(map(len, more)) < size:
        more += [
            f"The {one()} of the {one()} is granted within {rng.randrange(400)} days [1].",
            f"Employees who {one()} may not carry over {one()} unless the {one()} agrees [2].",
            f"It costs ${rng.randrange(999)} and the {one()} quickly approves the {one()} [3].",
        ]
    return " ".join(more)


def quickest(run: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def test_all_checks_together() -> None:
    rows = "\n".join(f"| {n} years | {n} weeks | {n + 500} months |" for n in range(60))
    table = f"| Service | Employee | Company |\n|---|---|---|\n{rows}"
    given = evidence(*(f"{prose(1_500, n)}\n\n{table}" for n in range(10)), question="How long?")
    checks = open_checks(ChecksSettings(), Certain(), HashEmbedder())

    def seconds(size: int) -> float:
        draft = read_draft(prose(size, 99), given.passages)
        return quickest(lambda: run_checks(checks, draft, given))

    seconds(500)
    assert seconds(16_000) < 8 * seconds(4_000)  # sixteen times, if it were quadratic


def test_a_run_of_adverbs_and_a_sentence_without_an_end() -> None:
    def seconds(words: int) -> float:
        said = "# " + "quickly " * words
        return quickest(lambda: claims(said))

    assert seconds(8_000) < 9 * seconds(2_000)
