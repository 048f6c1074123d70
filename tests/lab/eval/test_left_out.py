"""Thresholds that are chosen on other collections."""

from __future__ import annotations

from dataclasses import replace

from suffice.lab.eval.outcomes import Outcome
from suffice.lab.eval.twins import OPEN, Operating, choose, shipped, with_llm
from suffice.settings import CollectionSettings
from suffice.verdict.assess import QUOTED, Assessment
from suffice.verdict.route import first_match, read_routes


def outcome(answer: str, gate: float, confidence: float) -> Outcome:
    return Outcome("", "SERVE", 0.0, answer, gate, confidence)


def released(settings: CollectionSettings, confidence: float, *flags: str) -> bool:
    found = Assessment({}, 1.0, 1.0, 0.0, 1.0, frozenset(flags), confidence=confidence)
    return first_match(read_routes(settings.verdict.routes), found).action in ("SERVE", "CAVEAT")


def test_the_thresholds_keep_the_right_answers_and_stop_the_wrong_ones() -> None:
    right = [outcome("right", 0.62, 0.52) for _ in range(5)]
    by_gate = [outcome("answered", 0.41, 0.9) for _ in range(3)]
    by_confidence = [outcome("wrong", 0.9, 0.33) for _ in range(3)]
    found = choose([*right, *by_gate, *by_confidence])
    assert all(map(found.releases, right))
    assert not any(map(found.releases, [*by_gate, *by_confidence]))


def test_a_wrong_answer_costs_as_much_as_three_right_ones() -> None:
    """A threshold cannot tell these apart: it keeps all or none."""
    wrong = outcome("wrong", 0.5, 0.5)
    for count, kept in ((2, False), (4, True)):
        both = [wrong, *(outcome("right", 0.5, 0.5) for _ in range(count))]
        assert choose(both).releases(wrong) is kept


def test_thresholds_apply_to_gate_and_routes() -> None:
    own = Operating(0.35, 0.7).apply(CollectionSettings())
    assert (own.gate.learned.threshold, own.gate.learned.review_band) == (0.35, 0.0)
    assert own.gate.split_questions == CollectionSettings().gate.split_questions
    for flags in ((), (QUOTED,)):
        assert released(own, 0.71, *flags)
        assert not released(own, 0.69, *flags)
        opened = OPEN.apply(CollectionSettings())
        assert all(released(opened, confidence, *flags) for confidence in (0.01, 0.5))


def test_the_shipped_thresholds_are_those_of_the_settings() -> None:
    """Quotations need more confidence than an LLM's draft, by a row that sends them to review."""
    settings = CollectionSettings()
    for own, flags in ((settings, (QUOTED,)), (with_llm(settings), ())):
        least = shipped(own).confidence
        assert released(own, least, *flags)
        assert not released(own, least - 0.01, *flags)
    learned = replace(settings.gate.learned, threshold=0.3, review_band=0.1)
    wider = replace(settings, gate=replace(settings.gate, learned=learned))
    assert shipped(wider).gate == 0.35
