"""The learned gate: a calibrated blend of the verifier's word, similarity, words and count."""

from __future__ import annotations

from dataclasses import dataclass, field

from suffice.gate.blend import Blend, Looks, blend_for, look, read
from suffice.gate.missing import missing_words
from suffice.gate.similarity import NO_PASSAGE
from suffice.models.verifier import Pair, Verifier
from suffice.settings import LearnedSettings
from suffice.types import Evidence, GateDecision, Level, Signal

_NO_SIMILARITY = "no similarity is known for these passages; judged without it"


@dataclass(frozen=True, slots=True)
class Learned:
    """Open from the blend's own threshold on, unless the settings name one; what lies near it goes
    to a person. What no verifier could read goes to a person too."""

    verifier: Verifier
    settings: LearnedSettings = field(default_factory=LearnedSettings)

    def decide(self, evidence: Evidence) -> GateDecision:
        if not evidence:
            return self._decision(Level.INSUFFICIENT, 0.0, (NO_PASSAGE,), evidence)
        pair = Pair(evidence.question, tuple(read(item.passage) for item in evidence))
        score = self.verifier.sufficiency([pair])[0]
        looks = look(evidence, None if score.unchecked else score.enough)
        blend = blend_for(self.verifier.tier, looks)
        chance = blend.probability(looks)
        said = () if looks.similarity is not None else (_NO_SIMILARITY,)
        if score.unchecked:
            reason = f"nobody could judge the passages: {score.unchecked}"
            return self._decision(Level.REVIEW, chance, (reason, *said), evidence, looks, blend)
        level, reason = self._level(chance, self.settings.threshold or blend.threshold)
        return self._decision(level, chance, (reason, *said), evidence, looks, blend)

    def _level(self, chance: float, opens: float) -> tuple[Level, str]:
        told = f"the passages answer the question with probability {chance:.2f}"
        if abs(chance - opens) < self.settings.review / 2:
            return Level.REVIEW, f"{told}, too near to {opens:.2f} to tell"
        if chance < opens:
            return Level.INSUFFICIENT, f"{told}, under {opens:.2f}"
        if chance < self.settings.sufficient:
            return Level.PARTIAL, f"{told}, under {self.settings.sufficient:.2f}"
        return Level.SUFFICIENT, told

    def _decision(
        self,
        level: Level,
        chance: float,
        reasons: tuple[str, ...],
        evidence: Evidence,
        looks: Looks | None = None,
        blend: Blend | None = None,
    ) -> GateDecision:
        return GateDecision(
            level=level,
            score=chance,
            policy="learned",
            reasons=reasons,
            missing=() if level is Level.SUFFICIENT else missing_words(evidence),
            signals=_signals(
                chance, looks, self.settings.threshold or getattr(blend, "threshold", None)
            ),
        )


def _signals(chance: float, looks: Looks | None, opens: float | None) -> tuple[Signal, ...]:
    if looks is None:
        return (Signal("probability", chance, opens),)
    return (
        Signal("probability", chance, opens),
        Signal("verifier", looks.enough),
        Signal("best similarity", looks.similarity),
        Signal("words covered", looks.coverage),
        Signal("passages", looks.count),
    )
