"""The seam of the checks, and the run over all of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from suffice.types import Claim, Code, Draft, Evidence, Finding, Support

_LOG = logging.getLogger("suffice.checks")

# Of two judgements of one claim the first in this order holds: in doubt, the one against it.
_HOLDS = (Support.CONTRADICTED, Support.UNBACKED, Support.UNCHECKED, Support.BACKED)


class Check(Protocol):
    """Judges every claim of a draft exactly once."""

    @property
    def name(self) -> str: ...

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]: ...


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """Stands where a check would, and says of every claim that nobody looked."""

    name: str

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        reason = f"the check is switched off by setting (checks.{self.name})"
        return [
            Finding(claim, self.name, Support.UNCHECKED, reason=reason, code=Code.OFF)
            for claim in draft.claims
        ]


@runtime_checkable
class Costly(Check, Protocol):
    """A check that need not look at what others have settled."""

    def only(self, claims: Collection[Claim], /) -> Check: ...


def run_checks(checks: Sequence[Check], draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """One finding a check and claim, in the order of both, whatever a check does; what it fails to
    judge is UNCHECKED. Name the cheap checks first: a costly one is asked only on what is open."""
    found: list[Finding] = []
    for check in checks:
        found += _judged(check, draft, evidence, found)
    return tuple(found)


def _open(draft: Draft, findings: Sequence[Finding]) -> list[Claim]:
    settled = (Support.BACKED, Support.CONTRADICTED)
    closed = {finding.claim for finding in findings if finding.support in settled}
    return [claim for claim in draft.claims if claim not in closed]


def share_read(draft: Draft, findings: Sequence[Finding], unread: int = 0) -> float:
    """The share of a draft's characters that some check actually read: of its claims, and of the
    `unread` ones that tell something outside of them."""
    total = sum(map(_length, draft.claims)) + unread
    read = {
        f.claim for f in findings if f.support is not Support.UNCHECKED or f.code is Code.UNSURE
    }
    return sum(map(_length, read)) / total if total else 0.0


def _judged(
    check: Check, draft: Draft, evidence: Evidence, before: Sequence[Finding]
) -> list[Finding]:
    found: dict[Claim, Finding] = {}
    reason = "could not be checked: the check gave no judgement"
    try:
        asked = check.only(_open(draft, before)) if isinstance(check, Costly) else check
        for finding in asked.judge(draft, evidence):
            known = found.get(finding.claim)
            if known is None or _HOLDS.index(finding.support) < _HOLDS.index(known.support):
                found[finding.claim] = finding
    except Exception:  # whatever a check dies of, its claims are unchecked, not lost
        _LOG.exception("The check '%s' failed.", check.name)
        found, reason = {}, "could not be checked: the check failed; the log says why"
    return [
        replace(found[claim], check=check.name)
        if claim in found
        else Finding(claim, check.name, Support.UNCHECKED, reason=reason, code=Code.FAILED)
        for claim in draft.claims
    ]


def _length(claim: Claim) -> int:
    return claim.end - claim.start
