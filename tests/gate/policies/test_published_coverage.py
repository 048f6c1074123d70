"""The exact mode of the weighted score, number by number and text by text."""

from __future__ import annotations

from datetime import date
from itertools import product

import pytest

from suffice.gate.policies.coverage import STOP_WORDS, Context, Coverage, coverage_score, terms
from suffice.settings import CoverageSettings
from suffice.types import Evidence, GateDecision, Level, Passage, Retrieved

QUESTION = "How long is parental leave for contractors?"  # long parental leave contractors
EXACT = CoverageSettings(exact=True)


def test_the_23_stop_words() -> None:
    assert len(STOP_WORDS) == 23
    asked = "What and which: the one who was out, or why, when, where and how you can, for her?"
    assert terms(asked) == []
    assert terms("all are but had has not our") == []


def test_terms_are_distinct_words_of_three_latin_letters() -> None:
    assert terms(QUESTION) == ["long", "parental", "leave", "contractors"]
    assert terms("HR and IT: does Leave leave in 2024?") == ["does", "leave"]
    assert terms("Größe café über4 snake_case x-ray") == ["ray"]


def coverage(question: str, *texts: str) -> float:
    contexts = [Context(text) for text in texts]
    return coverage_score(question, contexts, None, 1, as_published=True).coverage


def test_a_term_is_found_inside_a_longer_word() -> None:
    assert coverage("leave", "Leaves fall.") == 1.0
    assert coverage("leave contract", "Cleaved.", "Subcontracting.") == 1.0
    assert coverage("leave", "leav", "e") == 0.0  # contexts are joined by a space
    plain = coverage_score("leave", [Context("Leaves fall.")], None, 1)
    assert plain.coverage == 0.0


def test_words_that_only_our_list_stops_are_terms() -> None:
    assert coverage("Does this apply?", "apply") == pytest.approx(1 / 3)
    assert coverage_score("Does this apply?", [Context("apply")], None, 1).coverage == 1.0


@pytest.mark.parametrize("question", ["", "How?", "Is it 42?", "那么"])
def test_a_question_without_terms_is_covered(question: str) -> None:
    assert coverage(question, "anything") == 1.0


def test_the_summary_counts_for_coverage_and_not_for_density() -> None:
    with_it = coverage_score("alpha beta", [Context("alpha", "Beta")], None, 1, as_published=True)
    assert with_it.coverage == 1.0
    assert with_it.density == pytest.approx((0.005 + 0.74) / 2)


@pytest.mark.parametrize(
    ("covered", "cosine", "length", "temperature", "contexts", "wanted"),
    [*product((0, 2, 4), (None, -0.5, 0.6), (20, 2000), (None, 0.0, 50.0, 90.0), (1, 3), (1, 2))],
)
def test_every_part_of_the_formula(
    covered: int,
    cosine: float | None,
    length: int,
    temperature: float | None,
    contexts: int,
    wanted: int,
) -> None:
    told = " ".join(terms(QUESTION)[:covered])
    held = [Context("x" * length, told, temperature) for _ in range(contexts)]
    warmth = min((37 if temperature is None else temperature) / 50, 1)
    density = (min(length * contexts / 1000, 1) + warmth) / 2
    relevance = 0.15 if cosine is None else 0.3 * cosine
    expected = 0.4 * covered / 4 + relevance + 0.2 * density + 0.1 * min(contexts / wanted, 1)
    assessed = Coverage(CoverageSettings(min_contexts=wanted, exact=True)).assess(
        QUESTION, held, cosine
    )
    assert assessed.score.total == pytest.approx(expected)
    levels = [(0.8, Level.SUFFICIENT), (0.5, Level.PARTIAL), (-9, Level.INSUFFICIENT)]
    assert assessed.level is next(level for least, level in levels if expected >= least - 1e-9)


def test_a_temperature_below_0_is_not_clipped() -> None:
    cold = [Context("x" * 1000, temperature=-50)]
    assert coverage_score("", cold, None, 1, as_published=True).density == 0.0
    assert coverage_score("", cold, None, 1).density == 0.5


def test_missing_aspects_and_factors_in_their_words_and_order() -> None:
    settings = CoverageSettings(min_contexts=3, exact=True)
    assessed = Coverage(settings).assess("alpha beta gamma delta", [Context("x")], 0.71)
    assert assessed.missing == (
        "Query term 'alpha' not found in context",
        "Query term 'beta' not found in context",
        "Query term 'gamma' not found in context",
        "Retrieved context lacks detailed information",
        "Only 1 context(s), need 3",
    )
    assert assessed.factors == ("High semantic relevance (71%)",)
    full = Coverage(settings).assess("alpha", [Context("alpha" * 300)] * 3, None)
    assert full.missing == ()
    assert full.factors == ("Good keyword coverage (100%)",)


def test_a_part_must_be_over_the_limit_to_be_a_factor() -> None:
    asked = "aaa bbb ccc ddd eee fff ggg hhh iii jjj"
    seven = Coverage(EXACT).assess(asked, [Context("aaa bbb ccc ddd eee fff ggg")], 0.7)
    assert seven.factors == ()


def test_no_context() -> None:
    assessed = Coverage(EXACT).assess("", [], None)
    assert (assessed.score.total, assessed.level) == (0.0, Level.INSUFFICIENT)
    assert assessed.missing == ("No relevant context found",)
    assert assessed.factors == ()


def decide(text: str, cosine: float | None, **more: object) -> GateDecision:
    passage = Passage("1", text, "a.md", **more)  # type: ignore[arg-type]
    return Coverage(EXACT).decide(Evidence(QUESTION, (Retrieved(passage, cosine),)))


def test_the_policy_decides_by_it() -> None:
    decision = decide("Long leaves.", 0.9, summary="subcontractors, parental", temperature=50.0)
    assert decision.score == pytest.approx(0.4 + 0.27 + 0.1 * (0.012 + 1) + 0.1)
    assert decision.level is Level.SUFFICIENT
    assert decision.missing == ()
    assert decision.factors == ("Good keyword coverage (100%)", "High semantic relevance (90%)")


def test_age_counts_for_nothing() -> None:
    old = decide("Parental leave.", 0.9, effective=date(1990, 1, 1))
    assert old.score == decide("Parental leave.", 0.9).score
    assert not any("older" in reason for reason in old.reasons)


def test_embeddings_may_be_required() -> None:
    strict = Coverage(CoverageSettings(require_embeddings=True, exact=True))
    assessed = strict.assess("alpha", [Context("alpha" * 300)], None)
    assert assessed.level is Level.INSUFFICIENT
    assert assessed.missing == ("embeddings are required, but no similarity is known",)
