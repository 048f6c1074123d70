"""The findings on a draft: all checks, confirmed citations, and marks on what is doubtful."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from suffice.checks.check import Check, run_checks
from suffice.checks.citations import confirm_citations
from suffice.checks.registry import SUPPORTING
from suffice.evidence.sanitize import blank, examined, sanitized
from suffice.types import Claim, Code, Draft, Evidence, Finding, Support

_VALUES = "literals"
_REASON = "its only source also holds words that look like an instruction: “{}”"


def judged(checks: Sequence[Check], draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """The findings of all checks, with citations confirmed by the checks that compare them with
    the cited text. Instructions to the model are not evidence, and a claim is MARKED if only
    passages support it that also hold words like an instruction."""
    evidence = examined(evidence)
    trusted = sanitized(evidence)
    found = run_checks(checks, draft, trusted)
    settled = _doubted(confirm_citations(draft, trusted, found, SUPPORTING))
    words = {item.passage.id: item.instruction.quote for item in evidence if item.instruction}
    rest = {finding.claim for finding in settled if _by(finding, words)}
    if not rest:
        return settled
    rest -= _supported(checks, draft, trusted, words)
    return tuple(
        replace(finding, code=Code.MARKED, reason=_REASON.format(words[finding.passage_id or ""]))
        if finding.claim in rest and _by(finding, words)
        else finding
        for finding in settled
    )


def _doubted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with doubt in place of an objection to a value if the verifier finds the claim
    supported: a value may follow from others in a way that a comparison cannot see."""
    backed = {
        finding.claim
        for finding in findings
        if finding.check in SUPPORTING and finding.support is Support.BACKED
    }
    return tuple(
        replace(finding, support=Support.UNCHECKED, code=Code.DOUBTED, kind=None)
        if finding.check == _VALUES
        and finding.code in (Code.CHANGED, Code.ABSENT)
        and finding.support is not Support.UNCHECKED
        and finding.claim in backed
        else finding
        for finding in findings
    )


def _by(finding: Finding, words: Mapping[str, str]) -> bool:
    """Whether one of these passages supports the claim."""
    backed = finding.check in SUPPORTING and finding.support is Support.BACKED
    return backed and finding.passage_id in words


def _supported(
    checks: Sequence[Check], draft: Draft, evidence: Evidence, without: Collection[str]
) -> set[Claim]:
    """The claims that the evidence supports without some of its passages."""
    items = (
        replace(item, passage=blank(item.passage)) if item.passage.id in without else item
        for item in evidence
    )
    other = replace(evidence, items=tuple(items))
    again = run_checks([one for one in checks if one.name in SUPPORTING], draft, other)
    return {finding.claim for finding in again if finding.support is Support.BACKED}
