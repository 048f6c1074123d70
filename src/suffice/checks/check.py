"""The seam of the checks, and the run over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from suffice.types import Claim, Draft, Evidence, Finding, Support


class Check(Protocol):
    """Judges every claim of a draft exactly once."""

    @property
    def name(self) -> str: ...

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]: ...


def run_checks(checks: Sequence[Check], draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """All findings, in the order of the checks; what a check fails to judge is UNCHECKED."""
    return tuple(finding for check in checks for finding in _judged(check, draft, evidence))


def share_read(draft: Draft, findings: Sequence[Finding]) -> float:
    """The share of the claims' characters that some check actually read."""
    total = sum(map(_length, draft.claims))
    read = {f.claim for f in findings if f.support is not Support.UNCHECKED}
    return sum(map(_length, read)) / total if total else 0.0


def _judged(check: Check, draft: Draft, evidence: Evidence) -> list[Finding]:
    try:
        found = {finding.claim: finding for finding in check.judge(draft, evidence)}
        reason = "the check gave no judgement"
    except Exception as problem:  # whatever a check dies of, its claims are unchecked, not lost
        found, reason = {}, f"the check failed: {problem}"
    return [
        found.get(claim) or Finding(claim, check.name, Support.UNCHECKED, reason=reason)
        for claim in draft.claims
    ]


def _length(claim: Claim) -> int:
    return claim.end - claim.start
