"""Chooses operating thresholds for a collection on all other collections.

Thresholds that were chosen on a collection look better on it than on the next one. Here each
collection is decided with the thresholds that did best on the others (leave one out).

One run with an open gate gives every case its scores and its outcome. The chosen thresholds are
then run for real on the collection that was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from suffice.eval.outcomes import Answer, Outcome
from suffice.settings import CollectionSettings
from suffice.verdict.assess import QUOTED, Assessment
from suffice.verdict.route import first_match, read_routes
from suffice.verdict.thresholds import WITH_CAVEAT, Thresholds, in_force

WORTH: Mapping[str, float] = {
    Answer.RIGHT: 1.0, Answer.IN_PART: 0.5, Answer.WRONG: -3.0, Answer.ANSWERED: -3.0,
}  # fmt: skip
"""What an answer is worth. A wrong one costs as much as three right ones gain, so answers are
released as long as three of four are right, as a caveat promises."""
_STEPS = [n / 20 for n in range(20)]


@dataclass(frozen=True, slots=True)
class Operating:
    """An answer is released if the gate's score and the answer's confidence both reach these."""

    gate: float
    confidence: float

    def apply(self, settings: CollectionSettings) -> CollectionSettings:
        """The settings with these thresholds. Nothing is sent to review by its confidence: review
        is a refusal, and the thresholds alone shall decide what is refused."""
        rows = tuple(row for row in settings.verdict.routes if not _reviews_by_confidence(row))
        verdict = replace(settings.verdict, routes=rows, thresholds_file="")
        gate = self.gate if settings.gate.policy == "learned" else None
        own = Thresholds(gate, self.confidence, WITH_CAVEAT)
        applied = own.apply(replace(settings, verdict=verdict))
        split = settings.gate.split_questions
        return replace(applied, gate=replace(applied.gate, split_questions=split))

    def releases(self, outcome: Outcome) -> bool:
        return outcome.gate >= self.gate and outcome.confidence >= self.confidence

    def __str__(self) -> str:
        return f"{self.gate:.2f} and {self.confidence:.2f}"


OPEN = Operating(0.0, 0.0)


def shipped(settings: CollectionSettings) -> Operating:
    """The thresholds in the settings: the least confidence with which an answer that nothing
    speaks against is released."""
    flags = frozenset({QUOTED}) if settings.draft.llm == "extractive" else frozenset[str]()
    routes = read_routes(settings.verdict.routes)

    def released(percent: int) -> bool:
        found = Assessment({}, 1.0, 1.0, 0.0, 1.0, flags, confidence=percent / 100)
        return first_match(routes, found).action in WITH_CAVEAT

    least = next((percent for percent in range(101) if released(percent)), 100)
    return Operating(in_force(settings, WITH_CAVEAT).gate or 0.0, least / 100)


def choose(outcomes: Sequence[Outcome]) -> Operating:
    """The thresholds with which these answers, found with an open gate, are worth most; of several,
    the one in the middle."""
    ways = [Operating(gate, confidence) for gate, confidence in product(_STEPS, repeat=2)]
    worth = [
        sum(WORTH.get(one.answer, 0.0) for one in outcomes if way.releases(one)) for way in ways
    ]
    best = [way for way, own in zip(ways, worth, strict=True) if own == max(worth)]
    return best[len(best) // 2]


def _reviews_by_confidence(row: str) -> bool:
    when, _, then = row.partition("->")
    return "confidence" in when and then.strip().startswith("REVIEW")
