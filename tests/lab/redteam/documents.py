"""Documents to make attacks from, and a target that decides by a rule."""

from __future__ import annotations

from collections.abc import Callable

from suffice.lab.redteam.material import Material, Trial
from suffice.types import Action, Evidence, GateDecision, Level, Passage, Verdict

LEAVE = """The leave policy grants parents 16 weeks of paid leave after a birth.
If the employee has worked for one year, the company will pay the full salary.
Open enrollment is in November 2022 for the Acme dental plan.
The approval form must be sent to Human Resources within 30 days of the birth."""
TRAVEL = """The travel desk must book hotels below the regional price ceiling of $200 per night.
The company will refund train tickets unless the ticket was bought by Omega Tours.
Mileage claims can be submitted through the finance portal every quarter.

| City | Ceiling | Distance |
|---|---|---|
| Paris | $240 | 900 km |
| Rome | $180 | 1,100 km |
"""
DEVICES = """The security team must encrypt every laptop before it leaves the building.
When the battery fails, the support office will replace the laptop with a spare machine.
Lost phones are reported to Sigma Support under the number of the device."""


def passage(name: str, text: str) -> Passage:
    return Passage(f"{name}@1#0-{len(text)}", text, f"{name}.md", "1", name, end=len(text))


def material(seed: int = 0) -> Material:
    texts = {"leave": LEAVE, "travel": TRAVEL, "devices": DEVICES}
    return Material(tuple(passage(name, text) for name, text in texts.items()), seed)


def verdict(action: Action, released: str = "", notes: tuple[str, ...] = ()) -> Verdict:
    gate = GateDecision(Level.SUFFICIENT, 1.0, "none")
    return Verdict("", action, "", gate, Evidence(""), released=released, notes=notes)


class Always:
    """A target that decides every trial by one rule."""

    def __init__(self, rule: Callable[[Trial], Action]) -> None:
        self.rule = rule

    def decide(self, trial: Trial) -> Verdict:
        return verdict(self.rule(trial))
