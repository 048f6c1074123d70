"""What code and verifier find together: where they disagree on a value, the claim is doubted."""

from __future__ import annotations

import pytest

from suffice.answers import open_checker
from suffice.checker import Checker
from suffice.models.catalog import open_verifier
from suffice.settings import VerifierSettings
from suffice.types import Action, Code, Finding, Support, Verdict

TARIFF = "Furniture is charged at 8% of the insured value. For a sofa of £900 the charge is £72."
QUESTION = "What do we pay for furniture?"


@pytest.fixture(scope="module")
def checker() -> Checker:
    return open_checker(verifier=open_verifier(VerifierSettings()))


def values(verdict: Verdict) -> list[Finding]:
    return [one for one in verdict.findings if one.check == "literals"]


def test_a_value_that_the_verifier_finds_supported_is_doubted(checker: Checker) -> None:
    answer = "The charge is 8% of the insured value, so for £1,800 it is £1,800 x 8% = £144 [1]."
    verdict = checker.check(answer, [TARIFF], QUESTION)
    assert [(one.code, one.support) for one in values(verdict)] == [
        (Code.DOUBTED, Support.UNCHECKED)
    ]
    assert verdict.action is Action.CAVEAT
    assert "does not stand in the documents" in verdict.reason


def test_a_value_that_neither_finds_is_contradicted(checker: Checker) -> None:
    verdict = checker.check("Furniture is charged at 6% of the insured value [1].", [TARIFF])
    assert [(one.code, one.support) for one in values(verdict)] == [
        (Code.CHANGED, Support.CONTRADICTED)
    ]
    assert verdict.action is Action.WITHHOLD


def test_a_calculation_with_another_result_is_contradicted(checker: Checker) -> None:
    answer = "The charge is 8% of the insured value, so for £1,800 it is £1,800 x 8% = £154 [1]."
    verdict = checker.check(answer, [TARIFF], QUESTION)
    assert [(one.code, one.support) for one in values(verdict)] == [
        (Code.MISCALCULATED, Support.CONTRADICTED)
    ]
    assert verdict.action is Action.WITHHOLD
