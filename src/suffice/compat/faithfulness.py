"""Measures how faithful an answer is to its contexts: every claim is checked against all of them.

>>> from suffice.compat.faithfulness import FaithfulnessValidator
>>> report = FaithfulnessValidator().validate("Leave is 18 weeks.", ["Leave is 16 weeks."])
>>> report.faithful, report.score, report.unsupported
(False, 0.0, ('Leave is 18 weeks.',))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from suffice.answers import open_checker
from suffice.evidence.inputs import Given
from suffice.models.verifier import Verifier
from suffice.settings import Settings
from suffice.types import Support, Verdict
from suffice.verdict.assess import assess


@dataclass(frozen=True, slots=True)
class FaithfulnessReport:
    """`score` is the share of claims backed by the contexts; `faithful` tells whether it reaches
    `threshold`. An answer without claims is not faithful, unless it declines."""

    faithful: bool
    score: float
    threshold: float
    supported: tuple[str, ...]
    contradicted: tuple[str, ...]
    unsupported: tuple[str, ...]
    """Claims without support, including contradicted and unchecked ones."""
    verdict: Verdict


class FaithfulnessValidator:
    """Opens the checks once. `threshold` is the share of claims that must be backed, by default
    all. A claim is backed if its score reaches the verifier's calibrated threshold."""

    def __init__(
        self,
        threshold: float = 1.0,
        *,
        settings: Settings | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        self.threshold = threshold
        self._checker = open_checker(settings, verifier, uncited=True)

    def validate(
        self, answer: str, contexts: Iterable[Given] | Given, question: str | None = None
    ) -> FaithfulnessReport:
        verdict = self._checker.check(answer, contexts, question)
        if verdict.draft is None or not verdict.draft.claims:
            score = float(verdict.served)
            return FaithfulnessReport(
                score >= self.threshold, score, self.threshold, (), (), (), verdict
            )
        found = assess(verdict.draft, verdict.findings)
        backed, contradicted, other = (
            tuple(claim.text for claim in found.claims_with(*supports))
            for supports in (
                (Support.BACKED,),
                (Support.CONTRADICTED,),
                tuple(one for one in Support if one is not Support.BACKED),
            )
        )
        faithful = found.faithfulness >= self.threshold
        return FaithfulnessReport(
            faithful, found.faithfulness, self.threshold, backed, contradicted, other, verdict
        )
