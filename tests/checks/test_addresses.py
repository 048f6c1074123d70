"""The addresses check flags an answer that does not address the question, even if it is backed."""

from __future__ import annotations

from dataclasses import replace

import pytest

import suffice
from suffice.checks.structure import Addresses
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.settings import EmbedderSettings, VerifierSettings
from suffice.types import Action, Code
from tests.checks.drafts import draft, evidence, only

SOURCE = "Parental leave lasts 18 weeks and is paid in full. The canteen opens at eleven."
LEAVE = "How long is parental leave?"


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return open_verifier(VerifierSettings())


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return open_embedder(EmbedderSettings())


@pytest.mark.parametrize(
    ("answer", "beside"),
    [
        ("Parents may stay at home for 18 weeks [1].", False),
        ("The canteen opens at eleven [1].", True),
    ],
)
def test_what_is_beside_the_question(
    verifier: Verifier, embedder: Embedder, answer: str, beside: bool
) -> None:
    found = only(Addresses(verifier, embedder), answer, SOURCE, question=LEAVE)
    assert (found.code is Code.BESIDE) is beside


def test_a_true_answer_to_another_question_is_withheld(verifier: Verifier) -> None:
    answer = "The canteen opens at eleven [1]."
    verdict = suffice.check(answer, [SOURCE], LEAVE, verifier=verifier)
    assert verdict.action is Action.WITHHOLD
    assert verdict.reason == "The draft does not address the question."
    assert suffice.check(answer, [SOURCE], verifier=verifier).action is Action.SERVE
    asked = suffice.check(answer, [SOURCE], "When does the canteen open?", verifier=verifier)
    assert asked.served


def test_quotations_and_drafts_without_a_question_are_left_alone(
    verifier: Verifier, embedder: Embedder
) -> None:
    given = evidence(SOURCE, question=LEAVE)
    written = draft("The canteen opens at eleven [1].", given)
    check = Addresses(verifier, embedder)
    assert [one.code for one in check.judge(written, given)] == [Code.BESIDE]
    for left, beside in (
        (replace(written, drafter="extractive"), given),
        (written, evidence(SOURCE)),
    ):
        assert [one.code for one in check.judge(left, beside)] == [None]


def test_which_of_several_questions_is_left_without_an_answer(verifier: Verifier) -> None:
    asked = "How long is parental leave, and when does the canteen open?"
    whole = "Parental leave lasts 18 weeks [1]. The canteen opens at eleven [1]."
    half = "Parental leave lasts 18 weeks [1]."
    assert suffice.check(whole, [SOURCE], asked, verifier=verifier).action is Action.SERVE
    verdict = suffice.check(half, [SOURCE], asked, verifier=verifier)
    assert verdict.action is Action.CAVEAT
    assert verdict.reason == "Not answered: “when does the canteen open”."
