"""Suffice around a real LLM, SmolLM2-135M, which invents freely: whatever it writes, only what the
evidence backs is served, and whatever it replies as a verifier, scores stay valid."""

from __future__ import annotations

import re

import pytest

import suffice
from suffice import Action, Verdict
from suffice.engine import Engine
from suffice.evidence.library import Library
from suffice.models.catalog import open_verifier
from suffice.models.llm.rulings import occurs_in
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import LLM, Pair
from suffice.settings import (
    CollectionSettings,
    CoverageSettings,
    DraftSettings,
    GateSettings,
    LlmSettings,
    VerifierSettings,
)
from suffice.text.marks import bare
from suffice.types import Support

pytest_plugins = ["tests.smollm"]

LEAVE = "Parental leave is 16 weeks for every employee."
PASSAGES = [LEAVE, "Lunch costs 4 euros and is served at noon."]
DENTAL = "What is the dental insurance deductible?"
QUESTIONS = ["How long is parental leave?", "What does lunch cost?", DENTAL]
OPEN = GateSettings(policy="coverage", coverage=CoverageSettings(sufficient=0.02, partial=0.01))
"""A gate that lets everything through: what the model writes meets the checks alone."""


def asked(url: str, library: Library, question: str, gate: GateSettings = OPEN) -> Verdict:
    draft = DraftSettings(llm=url, max_tokens=32, revisions=0, retries=0, timeout=120)
    settings = CollectionSettings(draft=draft, gate=gate)
    return (
        Engine(embedder=library.embedder)
        .pipeline(settings=settings, retriever=lambda _: PASSAGES)
        .answer(question)
    )


@pytest.fixture(scope="module")
def verdicts(real_llm: str, library: Library) -> dict[str, Verdict]:
    return {question: asked(real_llm, library, question) for question in QUESTIONS}


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)*", bare(text)))


def assert_safe(verdict: Verdict) -> None:
    """What holds of every verdict, whatever was drafted."""
    assert bool(verdict.released) == verdict.served
    if not verdict.served:
        return
    assert verdict.draft is not None
    assert not [one for one in verdict.findings if one.support is Support.CONTRADICTED]
    assert numbers(verdict.released) <= numbers(" ".join(PASSAGES))
    if verdict.action is Action.SERVE or verdict.rescue:  # trimmed, or quoted instead
        backed = {one.claim for one in verdict.findings if one.support is Support.BACKED}
        assert verdict.draft.claims
        assert set(verdict.draft.claims) <= backed


# The LLM as the drafter.


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_the_model_drafts_leaves_only_where_it_is_backed(
    verdicts: dict[str, Verdict], question: str
) -> None:
    verdict = verdicts[question]
    assert verdict.attempts[0].draft.text  # the model wrote it
    assert verdict.attempts[0].draft.drafter not in ("", "extractive")
    assert_safe(verdict)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_draft_with_citations_leaves_only_where_it_is_backed(
    verdicts: dict[str, Verdict], library: Library, question: str
) -> None:
    claims = verdicts[question].attempts[0].draft.claims
    cited = " ".join(f"{claim.text.rstrip('.')} [1]." for claim in claims)
    verdict = suffice.check(cited, PASSAGES, question=question, embedder=library.embedder)
    assert_safe(verdict)
    if question == DENTAL:
        assert verdict.action is not Action.SERVE


def test_a_question_beside_the_evidence_is_not_served(verdicts: dict[str, Verdict]) -> None:
    assert verdicts[DENTAL].action is not Action.SERVE


def test_where_the_gate_is_shut_the_model_is_not_asked(real_llm: str, library: Library) -> None:
    verdict = asked(real_llm, library, DENTAL, GateSettings())
    assert not verdict.served
    assert verdict.attempts == ()


# The LLM as a verifier.


@pytest.fixture(scope="module")
def verifier(real_llm: str) -> LlmVerifier:
    llm = LlmSettings(url=real_llm, ask="always", max_tokens=48, retries=0, total_seconds=120)
    opened = open_verifier(VerifierSettings(llm=llm))
    assert isinstance(opened, LlmVerifier)
    return opened


def test_support_is_valid_and_proved_by_a_literal_quote(verifier: LlmVerifier) -> None:
    wrong = "Parental leave is 26 weeks.", "No employee has parental leave."
    pairs = [Pair(said, (LEAVE,)) for said in ("Parental leave is 16 weeks.", *wrong)]
    before = verifier.cost.calls
    scores = verifier.support(pairs)
    assert verifier.cost.calls == before + 1  # one call for all claims on one passage
    for pair, score in zip(pairs, scores, strict=True):
        shares = score.supported, score.contradicted, score.not_mentioned
        assert all(0 <= share <= 1 for share in shares)
        assert sum(shares) == pytest.approx(1)
        assert (score.tier == LLM) != bool(score.note)  # it judged, or why it could not
        if score.tier == LLM and verifier.thresholds.supported(score):
            assert score.passage is not None
            assert occurs_in(score.quote, pair.evidence[score.passage])


def test_sufficiency_is_valid(verifier: LlmVerifier) -> None:
    before = verifier.cost.calls
    (score,) = verifier.sufficiency([Pair(DENTAL, (LEAVE,))])
    assert verifier.cost.calls == before + 1
    assert 0 <= score.enough <= 1
    assert (score.tier == LLM) != bool(score.note)
