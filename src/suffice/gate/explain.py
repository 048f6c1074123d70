"""Explains a decision: what was left out, what is missing, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from suffice.gate.freshness import left_out
from suffice.gate.missing import missing_aspects, missing_dates
from suffice.gate.next_steps import next_steps
from suffice.text.synonyms import Synonyms
from suffice.types import Evidence, Exclusion, GateDecision, Level


@dataclass(frozen=True, slots=True)
class Explain:
    """What an explanation needs besides the evidence. It does not change the decision."""

    synonyms: Synonyms = field(default_factory=Synonyms.read)
    contact: str = ""

    def missing(self, evidence: Evidence) -> tuple[str, ...]:
        return missing_aspects(evidence, self.synonyms)

    def __call__(
        self,
        decision: GateDecision,
        evidence: Evidence,
        stale: Sequence[Exclusion] = (),
        copies: Sequence[Exclusion] = (),
    ) -> GateDecision:
        """Add the explanation. Passages excluded by date are named, because they may contain the
        answer; copies are not, because their text was read. For evidence judged sufficient, only
        missing dates are listed."""
        enough = decision.level is Level.SUFFICIENT
        said = replace(
            decision,
            missing=missing_dates(evidence) if enough else self.missing(evidence),
            excluded=(*decision.excluded, *stale, *copies),
            reasons=(*decision.reasons, *(f"left out {line}" for line in left_out(stale))),
        )
        return replace(said, next_steps=next_steps(said, evidence, self.contact, stale))
