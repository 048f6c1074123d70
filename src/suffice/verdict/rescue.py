"""Rescues a draft that cannot be released: corrects its citations, or trims it to backed claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suffice.checks.claim_text import different, gaps
from suffice.draft.reading import read_draft
from suffice.text.claims import Statement
from suffice.text.marks import bare, citations
from suffice.types import (
    Action,
    Claim,
    Code,
    Draft,
    Evidence,
    Finding,
    Reason,
    ReasonCode,
    Rescue,
    Support,
    Verdict,
)
from suffice.verdict import wording
from suffice.verdict.assess import Assessment


def trimmed(draft: Draft, assessment: Assessment) -> Draft | None:
    """The draft reduced to its backed claims and to what it says is left open, in order; `None` if
    no claim is backed, or if all are and there is nothing to remove."""
    backed = assessment.claims_with(Support.BACKED)
    if not backed or len(backed) == len(draft.claims):
        return None
    stays: list[Claim | Statement] = [*backed, *gaps(draft.text)]
    text, claims = "", []
    for claim in sorted(stays, key=lambda part: part.start):
        start = len(text) + 1 if text else 0
        words = draft.text[claim.start : claim.end]
        if isinstance(claim, Statement):
            text = f"{text} {words}".strip()
            continue
        marks = "".join(f" [{n}]" for n in claim.cites if n not in _within(words))
        text = f"{text} {words}{marks}" if text else f"{words}{marks}"
        claims.append(Claim(words, start, start + len(words), claim.cites))
    named = {n for claim in claims for n in claim.cites}
    cited = tuple(citation for citation in draft.citations if citation.n in named)
    return replace(
        draft,
        text=text,
        claims=tuple(claims),
        citations=cited,
        cut=False,
        claimed=different(draft),
    )


def reattributed(draft: Draft, findings: Sequence[Finding], evidence: Evidence) -> Draft | None:
    """The draft with each wrong citation replaced by the passage that backs the claim; `None` if
    none can be corrected."""
    numbers = {passage.id: n for n, passage in enumerate(evidence.passages, 1)}
    right = {
        finding.claim.start: numbers[finding.passage_id]
        for finding in findings
        if finding.code is Code.MISATTRIBUTED and finding.passage_id in numbers
    }
    if not right:
        return None
    text = draft.text
    ends = [*(claim.start for claim in draft.claims[1:]), len(text)]
    for claim, end in reversed([*zip(draft.claims, ends, strict=True)]):
        if claim.start in right:
            words, mark = text[claim.start : end], f"[{right[claim.start]}]"
            for place, (span, _) in reversed([*enumerate(citations(words))]):
                words = f"{words[: span[0]]}{'' if place else mark}{words[span[1] :]}"
            text = f"{text[: claim.start]}{words}{text[end:]}"
    read = read_draft(text, evidence.passages)
    return replace(draft, text=read.text, claims=read.claims, citations=read.citations)


def failed(draft: Draft) -> bool:
    """Whether the drafter failed: its reply was cut off, or it is a text without a word. A
    drafter that declines has not failed, nor has one whose claims the checks refute."""
    return draft.cut or bool(draft.text and not any(map(str.isalnum, bare(draft.text))))


def _within(text: str) -> set[int]:
    """The citation numbers inside a claim."""
    return {n for _, numbers in citations(text) for n in numbers}


def rescued(verdict: Verdict, how: Rescue, first: Verdict) -> Verdict:
    """The verdict on the rescued draft, with a caveat that says how it was changed. The notes of
    the first draft are kept for the log."""
    change = _change(how, verdict, first)
    others = () if verdict.action is Action.SERVE else wording.reasons_of(verdict)
    return replace(
        verdict,
        action=Action.CAVEAT,
        reason=wording.render((change, *others)),
        reasons=(change, *others),
        rescue=how,
        notes=tuple(dict.fromkeys((*verdict.notes, *first.notes))),
        remarks=tuple(dict.fromkeys((*verdict.remarks, *first.remarks))),
    )


def _change(how: Rescue, verdict: Verdict, first: Verdict) -> Reason:
    if how is Rescue.REATTRIBUTED:
        wrong = [finding.claim for finding in first.findings if finding.code is Code.MISATTRIBUTED]
        return Reason(ReasonCode.CITATION_CORRECTED, tuple(dict.fromkeys(wrong)))
    if how is Rescue.TRIMMED and first.draft and verdict.draft:
        kept = {claim.text for claim in verdict.draft.claims}
        left_out = tuple(claim for claim in first.draft.claims if claim.text not in kept)
        return Reason(ReasonCode.SHORTENED, left_out)
    return Reason(ReasonCode.QUOTED_INSTEAD if first.draft else ReasonCode.QUOTED_UNWRITTEN)
