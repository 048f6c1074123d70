"""Faithfulness: the share of an answer's claims that the contexts back."""

from __future__ import annotations

import pytest

from suffice.compat.faithfulness import FaithfulnessValidator

CONTEXTS = ["Parental leave lasts 18 weeks.", "Parental leave is paid in full."]


@pytest.fixture(scope="module")
def validator() -> FaithfulnessValidator:
    return FaithfulnessValidator()


def test_an_answer_that_says_what_the_contexts_say(validator: FaithfulnessValidator) -> None:
    report = validator.validate("Parental leave lasts 18 weeks. It is paid in full.", CONTEXTS)
    assert report.faithful
    assert report.score == 1.0
    assert len(report.supported) == 2
    assert report.unsupported == ()


def test_a_contradicted_claim_is_named(validator: FaithfulnessValidator) -> None:
    report = validator.validate("Parental leave lasts 20 weeks.", CONTEXTS)
    assert not report.faithful
    assert report.score == 0.0
    assert report.contradicted == report.unsupported == ("Parental leave lasts 20 weeks.",)


def test_the_threshold_is_the_share_of_claims() -> None:
    half = "Parental leave lasts 18 weeks. Dogs are welcome in the office."
    for threshold, faithful in ((0.5, True), (0.51, False)):
        report = FaithfulnessValidator(threshold).validate(half, CONTEXTS)
        assert report.score == 0.5
        assert report.faithful is faithful
        assert report.unsupported == ("Dogs are welcome in the office.",)


def test_marks_are_not_looked_at(validator: FaithfulnessValidator) -> None:
    assert validator.validate("Parental leave lasts 18 weeks [2].", CONTEXTS).faithful


def test_an_answer_that_declines_is_faithful_and_an_empty_one_is_not(
    validator: FaithfulnessValidator,
) -> None:
    assert validator.validate("I do not know.", CONTEXTS).faithful
    assert not validator.validate("", CONTEXTS).faithful
