"""The protocol of a check, and the function that runs all checks on a draft."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from suffice.deadline import watched
from suffice.types import RULES_ON_MEANING, Claim, Code, Draft, Evidence, Finding, Support

_LOG = logging.getLogger("suffice.checks")

MOST_CLAIMS = 2_000
MOST_MARKS = 2_000
MOST_NUMBERS = 10_000
"""A draft with more claims, cited passages or numbers is not checked: no answer has so many."""
_NUMBER = re.compile(r"\d+")

# If a check returns two findings for a claim, the stricter one, which comes first here, wins.
_HOLDS = (Support.CONTRADICTED, Support.UNBACKED, Support.UNCHECKED, Support.BACKED)


class Check(Protocol):
    """Judges every claim of a draft exactly once."""

    @property
    def name(self) -> str: ...

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]: ...


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """Replaces a disabled check and marks every claim UNCHECKED."""

    name: str

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        reason = f"this check is switched off (checks.{self.name})"
        return [
            Finding(claim, self.name, Support.UNCHECKED, reason=reason, code=Code.OFF)
            for claim in draft.claims
        ]


@runtime_checkable
class Costly(Check, Protocol):
    """An expensive check that can skip claims that other checks have decided."""

    def only(self, claims: Collection[Claim], /) -> Check: ...


def run_checks(checks: Sequence[Check], draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """Exactly one finding per check and claim, in that order. A claim that a check fails to judge
    is UNCHECKED. List cheap checks first, because a `Costly` check only gets the claims still
    open."""
    found: list[Finding] = []
    if reason := _too_much(draft):
        return tuple(
            Finding(claim, check.name, Support.UNCHECKED, reason=reason, code=Code.FAILED)
            for check in checks
            for claim in draft.claims
        )
    for check in watched(checks):
        found += _judged(check, draft, evidence, found)
    return tuple(found)


def _too_much(draft: Draft) -> str:
    """Why a draft is not checked; empty if it is within the limits."""
    counted = (
        ("claims", len(draft.claims), MOST_CLAIMS),
        ("citations", sum(len(claim.cites) for claim in draft.claims), MOST_MARKS),
        ("numbers", len(_NUMBER.findall(draft.text)), MOST_NUMBERS),
    )
    over = (f"{n:,} {name}, over the limit of {most:,}" for name, n, most in counted if n > most)
    return next((f"not checked: the draft has {text}" for text in over), "")


def _open(draft: Draft, findings: Sequence[Finding]) -> list[Claim]:
    """The claims that no check has decided. A rule's contradiction decides nothing, unless it is
    calculated: a judge reads what the rule flagged."""
    closed = {
        finding.claim
        for finding in findings
        if finding.support is Support.BACKED
        or (
            finding.support is Support.CONTRADICTED
            and (finding.check not in RULES_ON_MEANING or finding.code is Code.MISCALCULATED)
        )
    }
    return [claim for claim in draft.claims if claim not in closed]


def share_read(draft: Draft, findings: Sequence[Finding], unread: int = 0) -> float:
    """The share of a draft's characters that at least one check judged. The total is the length of
    its claims plus `unread`, the number of unchecked characters outside them."""
    total = sum(map(_length, draft.claims)) + unread
    read = {
        f.claim for f in findings if f.support is not Support.UNCHECKED or f.code is Code.UNSURE
    }
    return sum(map(_length, read)) / total if total else 0.0


def _judged(
    check: Check, draft: Draft, evidence: Evidence, before: Sequence[Finding]
) -> list[Finding]:
    found: dict[Claim, Finding] = {}
    reason = "not checked: the check returned no finding"
    try:
        asked = check.only(_open(draft, before)) if isinstance(check, Costly) else check
        for finding in asked.judge(draft, evidence):
            known = found.get(finding.claim)
            if known is None or _HOLDS.index(finding.support) < _HOLDS.index(known.support):
                found[finding.claim] = finding
    except Exception:  # if a check fails, its claims stay unchecked
        _LOG.exception("The check '%s' failed.", check.name)
        found, reason = {}, "not checked: the check failed; see the log"
    return [
        replace(found[claim], check=check.name)
        if claim in found
        else Finding(claim, check.name, Support.UNCHECKED, reason=reason, code=Code.FAILED)
        for claim in draft.claims
    ]


def _length(claim: Claim) -> int:
    return claim.end - claim.start
