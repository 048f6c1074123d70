"""A claim that is not backed by the whole evidence is compared with its nearest statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from suffice.checks.entailment import FEW, Entailment, Nearest
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.text.sentences import Statement
from suffice.types import Passage, Support
from tests.checks.drafts import only, passage

TABLE = "| Version | Released |\n|---|---|\n| 3.4 | 5 May 2025 |\n| 3.5 | 23 July 2025 |\n"
OTHERS = "Support ends in May. Bugs are fixed."


@dataclass(frozen=True)
class Shortsighted:
    """Returns `near` for evidence of a few lines and `far` otherwise. The statement that contains
    "3.5" ranks first for any text."""

    near: float
    far: float = 0.1
    seen: list[Pair] = field(default_factory=list)
    id: str = "shortsighted"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)

    def sentences(self, said: str, sentences: Sequence[str]) -> list[float]:
        return [1.0 if "3.5" in one else 0.1 for one in sentences]

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        self.seen.extend(pairs)
        chances = [self.near if "3.4" not in p.evidence[0] else self.far for p in pairs]
        return [SupportScore(chance, 0.0, 1 - chance, 0, tier=self.tier) for chance in chances]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        raise AssertionError("Nothing is asked here.")


def test_the_row_that_says_it_backs_the_claim() -> None:
    verifier = Shortsighted(near=0.99)
    source = passage(f"{OTHERS}\n\n{TABLE}")
    found = only(Entailment(verifier), "Version 3.5 was released on 23 July 2025 [1].", source)
    assert found.support is Support.BACKED
    assert found.span is not None
    assert source.text[slice(*found.span)] == "| 3.5 | 23 July 2025 |"
    closest = verifier.seen[-len(FEW)].evidence[0]
    assert "| Version | Released |" in closest  # a row is read under its header
    assert "3.4" not in closest


@pytest.mark.parametrize("near", [0.05, 0.2])
def test_what_the_nearest_do_not_say_stays_unbacked(near: float) -> None:
    source = passage(f"{OTHERS}\n\n{TABLE}")
    found = only(Entailment(Shortsighted(near)), "Version 3.5 is free of charge [1].", source)
    assert found.support is Support.UNBACKED
    assert found.passage_id is None
    assert found.score is not None
    assert found.score >= 0.1  # a second reading takes nothing away


def test_each_statement_is_read_under_its_own_heading() -> None:
    said = {"a": "Leave needs approval.", "b": "Leave is 25 days.", "c": "Leave is 30 days."}
    titles = {"a": "Germany", "b": "France", "c": "Germany"}
    found = tuple(
        (Passage(name, text, name, title=titles[name]), Statement(((0, len(text)),), text))
        for name, text in said.items()
    )
    assert Nearest(found).beside(3).split("\n") == [
        "Germany", said["a"], "France", said["b"], "Germany", said["c"],
    ]  # fmt: skip


def test_what_is_backed_is_read_once() -> None:
    verifier = Shortsighted(near=0.9, far=0.9)
    found = only(Entailment(verifier), "Version 3.5 was released [1].", passage(TABLE))
    assert found.support is Support.BACKED
    assert len(verifier.seen) == 1
