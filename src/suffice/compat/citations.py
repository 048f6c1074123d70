"""Checks that the sources an answer cites exist and support it.

>>> from suffice.compat.citations import verify_citations
>>> report = verify_citations("Leave is 16 weeks [1]. It is paid [7].", ["Leave is 16 weeks."])
>>> [one.claim for one in report.fabricated]
['It is paid [7].']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from suffice.answers import check
from suffice.evidence.inputs import Given
from suffice.models.verifier import Verifier
from suffice.settings import Settings
from suffice.types import Code, Finding, Verdict

_FABRICATED = (Code.FABRICATED, Code.NOT_RETRIEVED)
_OUTDATED = (Code.STALE, Code.EXPIRED)
_UNPROVEN = (Code.RESOLVED, Code.FAILED, Code.OFF)


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A claim with the numbers of the sources it cites, and the result of the citation check."""

    claim: str
    cites: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class CitationReport:
    """Every claim is in exactly one group. `valid`: a cited source supports it. `fabricated`: it
    cites a source that does not exist. `misattributed`: only another source supports it.
    `outdated`: the cited source is expired or superseded. `unsupported`: the cited source exists,
    but no check found support in it. `uncited`: it cites no source."""

    valid: tuple[CitedClaim, ...]
    fabricated: tuple[CitedClaim, ...]
    misattributed: tuple[CitedClaim, ...]
    outdated: tuple[CitedClaim, ...]
    unsupported: tuple[CitedClaim, ...]
    uncited: tuple[CitedClaim, ...]
    verdict: Verdict

    @property
    def ok(self) -> bool:
        """Whether at least one claim cites a source, and all citing claims are valid."""
        wrong = (self.fabricated, self.misattributed, self.outdated, self.unsupported)
        return bool(self.valid) and not any(wrong)


def verify_citations(
    answer: str,
    sources: Iterable[Given] | Given,
    *,
    settings: Settings | None = None,
    verifier: Verifier | None = None,
) -> CitationReport:
    """Rate every claim. `[n]` cites the n-th source; of several sources, the worst counts."""
    verdict = check(answer, sources, settings=settings, verifier=verifier)
    found = [finding for finding in verdict.findings if finding.check == "citations"]
    return CitationReport(
        valid=_with(found, Code.VERIFIED),
        fabricated=_with(found, *_FABRICATED),
        misattributed=_with(found, Code.MISATTRIBUTED),
        outdated=_with(found, *_OUTDATED),
        unsupported=_with(found, *_UNPROVEN),
        uncited=_with(found, None),
        verdict=verdict,
    )


def _with(findings: Iterable[Finding], *codes: Code | None) -> tuple[CitedClaim, ...]:
    return tuple(
        CitedClaim(one.claim.text, one.claim.cites, one.reason)
        for one in findings
        if one.code in codes
    )
