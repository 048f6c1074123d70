"""The seam of the checks, and the run over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from suffice.types import Claim, Draft, Evidence, Finding, Support


class Check(Protocol):
    """Judges every claim of a draft exactly once."""

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]: ...


def run_checks(checks: Sequence[Check], draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """All findings, in the order of the checks."""
    return tuple(finding for check in checks for finding in check.judge(draft, evidence))


def share_read(draft: Draft, findings: Sequence[Finding]) -> float:
    """The share of the claims' characters that some check actually read."""
    total = sum(map(_length, draft.claims))
    read = {f.claim for f in findings if f.support is not Support.UNCHECKED}
    return sum(map(_length, read)) / total if total else 0.0


def _length(claim: Claim) -> int:
    return claim.end - claim.start
