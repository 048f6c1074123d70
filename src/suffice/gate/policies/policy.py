"""The `Policy` protocol: decides before generation whether the evidence is sufficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, get_args, get_type_hints

from suffice.errors import SettingsError
from suffice.gate.missing import missing_aspects
from suffice.gate.policies.bound import LowerBound
from suffice.gate.policies.coverage import Coverage
from suffice.gate.policies.learned import Aspects, Learned
from suffice.gate.policies.tiers import NO_PASSAGE, Checkpoint, Reranked, Tiers
from suffice.models.verifier import Verifier
from suffice.settings import GateSettings
from suffice.types import Evidence, GateDecision, Level, Signal

OFF = "the gate is switched off"


@dataclass(frozen=True, slots=True)
class Ungated:
    """Opens with any passage. Without passages it stays closed: nothing could back an answer."""

    def decide(self, evidence: Evidence) -> GateDecision:
        if not evidence:
            missing = missing_aspects(evidence)
            return GateDecision(Level.INSUFFICIENT, 0.0, "none", (NO_PASSAGE,), missing)
        passages = Signal("passages", len(evidence))
        return GateDecision(Level.SUFFICIENT, 1.0, "none", (OFF,), signals=(passages,))


class Policy(Protocol):
    """Decides from the evidence alone. The same evidence gives the same decision."""

    def decide(self, evidence: Evidence, /) -> GateDecision: ...


def known_policy(name: str) -> Any:
    """Return a valid policy name, or raise an error that lists the available policies."""
    names = get_args(get_type_hints(GateSettings)["policy"])
    if name not in names:
        raise SettingsError(f"Unknown policy '{name}'.", remedy=f"Use one of {', '.join(names)}.")
    return name


def open_policy(
    settings: GateSettings, verifier: Verifier, aspects: Aspects = missing_aspects
) -> Policy:
    """Open the policy named in the settings."""
    if settings.policy == "learned":
        return Learned(verifier, settings.learned, aspects)
    if settings.policy == "reranked":
        return Reranked(verifier, settings.reranked)
    if settings.policy == "coverage":
        return Coverage(settings.coverage)
    if settings.policy == "bound":
        return LowerBound(settings.bound)
    if settings.policy == "checkpoint":
        return Checkpoint(settings.checkpoint)
    if settings.policy == "none":
        return Ungated()
    return Tiers(settings.tiers)
