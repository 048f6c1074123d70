"""Fail closed: what leaves where a check failed, or did not end in time."""

from __future__ import annotations

from dataclasses import replace

from suffice.settings import RouteSettings
from suffice.types import (
    Action,
    Attempt,
    Code,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Support,
    Verdict,
)
from suffice.verdict.decide import withhold

FAILED = "Withheld: a check failed, so the answer could not be verified."
GONE = "Nothing was sent: the request ended before its answer was checked."
_ACTIONS = {"review": Action.REVIEW, "withhold": Action.WITHHOLD, "caveat": Action.WITHHOLD}


def bounded(verdict: Verdict, route: RouteSettings) -> Verdict:
    """A verdict on a draft that some check failed on: at best what the route says."""
    failed = any(finding.code is Code.FAILED for finding in verdict.findings)
    if not failed or not verdict.served or route.failed == "caveat":
        return verdict
    held = withhold(
        verdict.evidence,
        verdict.gate,
        FAILED,
        verdict.draft,
        verdict.findings,
        _ACTIONS[route.failed],
    )
    return replace(held, attempts=verdict.attempts, faithfulness=verdict.faithfulness)


def unchecked(
    evidence: Evidence, gate: GateDecision, draft: Draft, route: RouteSettings
) -> Verdict:
    """The checks did not end in time: nothing was checked, and nothing leaves."""
    reason = f"the checks took longer than {route.check_seconds:g} s"
    findings = [
        Finding(claim, "checks", Support.UNCHECKED, reason=reason, code=Code.FAILED)
        for claim in draft.claims
    ]
    held = withhold(evidence, gate, FAILED, draft, findings, _ACTIONS[route.failed])
    return replace(held, attempts=(Attempt(draft, tuple(findings)),))


def abandoned(evidence: Evidence, gate: GateDecision, draft: Draft) -> Verdict:
    """The caller has gone, or the request ran out of time, before there was a verdict."""
    held = withhold(evidence, gate, GONE, draft)
    return replace(held, attempts=(Attempt(draft, ()),))
