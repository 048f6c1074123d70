"""Fail-closed verdicts, for checks that failed or did not finish in time."""

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
LATE = "Withheld: the checks took longer than {:g} s, so the answer could not be verified."
LONG = (
    "Withheld: the draft is longer than {:,} characters, so it was not checked "
    "(server.limits.draft_characters)."
)
GONE = "Withheld: the request ended before the answer was checked."
_ACTIONS = {"review": Action.REVIEW, "withhold": Action.WITHHOLD, "caveat": Action.WITHHOLD}


def bounded(verdict: Verdict, route: RouteSettings) -> Verdict:
    """Limit the verdict to what the route allows for a draft with a failed check."""
    failed = any(finding.code is Code.FAILED for finding in verdict.findings)
    if not failed or not verdict.served or route.on_check_failure == "caveat":
        return verdict
    held = withhold(
        verdict.evidence,
        verdict.gate,
        FAILED,
        verdict.draft,
        verdict.findings,
        _ACTIONS[route.on_check_failure],
    )
    return replace(held, attempts=verdict.attempts, faithfulness=verdict.faithfulness)


def unchecked(
    evidence: Evidence, gate: GateDecision, draft: Draft, route: RouteSettings
) -> Verdict:
    """The verdict if the checks did not finish in time: nothing is released."""
    reason = f"the checks took longer than {route.check_seconds:g} s"
    findings = [
        Finding(claim, "checks", Support.UNCHECKED, reason=reason, code=Code.FAILED)
        for claim in draft.claims
    ]
    held = withhold(
        evidence,
        gate,
        LATE.format(route.check_seconds),
        draft,
        findings,
        _ACTIONS[route.on_check_failure],
    )
    return replace(held, attempts=(Attempt(draft, tuple(findings)),))


def too_long(evidence: Evidence, gate: GateDecision, draft: Draft, most: int) -> Verdict:
    """The verdict on a draft longer than the limit; `draft` holds its beginning."""
    held = withhold(evidence, gate, LONG.format(most), draft)
    return replace(held, attempts=(Attempt(draft, ()),))


def abandoned(evidence: Evidence, gate: GateDecision, draft: Draft) -> Verdict:
    """The verdict if the caller disconnected or the request timed out before the checks ended."""
    held = withhold(evidence, gate, GONE, draft)
    return replace(held, attempts=(Attempt(draft, ()),))
