"""The whole answer is read at once. The score decides no claim, but is part of the confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

import suffice
from suffice.checks.check import run_checks
from suffice.checks.entailment import WholeAnswer
from suffice.models.catalog import open_verifier
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds, Verifier
from suffice.settings import VerifierSettings
from suffice.types import Finding, Support
from tests.checks.drafts import draft, evidence

SOURCE = "Staff may work from home. Interns may not: they need a desk at the office."
TWO = "Interns have a desk at the office [1]. They may work from home [1]."
THREE = f"{TWO} Staff may do so, too [1]."


@dataclass
class Recording:
    """Gives every pair the same score and remembers what it was asked."""

    score: SupportScore = field(default_factory=lambda: SupportScore(0.3, 0.4, 0.3, 0, tier="fast"))
    asked: list[Pair] = field(default_factory=list)
    id: str = "recording"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        self.asked += pairs
        return [self.score for _ in pairs]

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [SufficiencyScore(0.5) for _ in pairs]


def found(verifier: Verifier, answer: str) -> list[Finding]:
    given = evidence(SOURCE, "Dogs bark.", question="May interns work from home?")
    return list(run_checks([WholeAnswer(verifier)], draft(answer, given), given))


def test_every_claim_gets_the_score_and_none_is_decided() -> None:
    verifier = Recording()
    findings = found(verifier, TWO)
    assert [one.score for one in findings] == [0.3, 0.3]
    assert {one.support for one in findings} == {Support.UNCHECKED}
    assert findings[0].reason == "the answer as a whole has a 30% chance of being supported (fast)"
    (pair,) = verifier.asked
    assert pair.text == "Interns have a desk at the office. They may work from home."
    assert len(pair.evidence) == 2


def test_an_answer_with_many_claims_is_likelier_to_be_right() -> None:
    (first, *_) = found(Recording(), THREE)
    assert first.score == pytest.approx(0.501, abs=1e-3)


def test_a_single_claim_is_not_read_again() -> None:
    verifier = Recording()
    (finding,) = found(verifier, "Interns have a desk at the office [1].")
    assert (finding.score, verifier.asked) == (None, [])


def test_nothing_is_read_if_other_checks_have_decided_every_claim() -> None:
    verifier = Recording()
    given = evidence(SOURCE)
    written = draft(TWO, given)
    findings = WholeAnswer(verifier).only([]).judge(written, given)
    assert [one.score for one in findings] == [None, None]
    assert verifier.asked == []


def test_what_cannot_be_read_has_no_score() -> None:
    verifier = Recording(score=SupportScore(unchecked="The evidence is in Polish."))
    (first, *_) = found(verifier, TWO)
    assert (first.score, first.reason) == (None, "The evidence is in Polish.")


def test_a_wrong_combination_of_right_sentences_is_less_sure() -> None:
    verifier = open_verifier(VerifierSettings())
    right = "Staff may work from home [1]. Interns need a desk at the office [1]."
    sure = suffice.check(right, [SOURCE], verifier=verifier).confidence
    unsure = suffice.check(TWO, [SOURCE], verifier=verifier).confidence
    assert sure is not None
    assert unsure is not None
    assert unsure < sure
