"""The findings on a draft: all checks, confirmed citations, and marks on what is doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suffice.checks.check import Check, run_checks
from suffice.checks.citations import confirm_citations
from suffice.checks.registry import SUPPORTING
from suffice.evidence.sanitize import cleared, instruction_in, sanitized
from suffice.types import Claim, Code, Draft, Evidence, Finding, Support


def judged(checks: Sequence[Check], draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """The findings of all checks, with citations confirmed by the checks that compare them with
    the cited text. Instructions to the model are not evidence, and a claim that only passages
    with words like an instruction support is MARKED."""
    trusted = sanitized(evidence)
    found = run_checks(checks, draft, trusted)
    return _marked(confirm_citations(draft, trusted, found, SUPPORTING), evidence)


def _marked(findings: Sequence[Finding], evidence: Evidence) -> tuple[Finding, ...]:
    words = {
        passage.id: found.quote
        for passage in evidence.passages
        if cleared(passage) != passage and (found := instruction_in(passage))
    }
    rests: dict[Claim, set[str]] = {}
    for finding in findings:
        if _supports(finding) and finding.passage_id:
            rests.setdefault(finding.claim, set()).add(finding.passage_id)
    doubtful = {claim for claim, passages in rests.items() if passages <= words.keys()}
    return tuple(
        replace(finding, code=Code.MARKED, reason=_reason(words[finding.passage_id]))
        if finding.claim in doubtful and _supports(finding) and finding.passage_id
        else finding
        for finding in findings
    )


def _supports(finding: Finding) -> bool:
    return finding.check in SUPPORTING and finding.support is Support.BACKED


def _reason(quote: str) -> str:
    return f"its only source also holds words that look like an instruction: “{quote}”"
