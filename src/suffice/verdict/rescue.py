"""A draft that cannot leave, saved as far as it can be: cut to what is backed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suffice.text.facts.marks import citations
from suffice.types import Action, Claim, Draft, Finding, Rescue, Support, Verdict
from suffice.verdict import wording
from suffice.verdict.assess import assess


def trimmed(draft: Draft, findings: Sequence[Finding]) -> Draft | None:
    """The draft with nothing in it but its backed sentences, in their order; `None` where none is,
    or where all are and there is nothing to cut."""
    kept = assess(draft, findings).claims_with(Support.BACKED)
    if not kept or len(kept) == len(draft.claims):
        return None
    text, claims = "", []
    for claim in sorted(kept, key=lambda claim: claim.start):
        start = len(text) + 1 if text else 0
        said = draft.text[claim.start : claim.end]
        marks = "".join(f" [{n}]" for n in claim.cites if n not in _within(said))
        text = f"{text} {said}{marks}" if text else f"{said}{marks}"
        claims.append(Claim(said, start, start + len(said), claim.cites))
    named = {n for claim in claims for n in claim.cites}
    cited = tuple(citation for citation in draft.citations if citation.n in named)
    return replace(draft, text=text, claims=tuple(claims), citations=cited, cut=False)


def weak(draft: Draft, findings: Sequence[Finding]) -> bool:
    """Whether a draft holds a claim that nothing backs: better cut off than told with a caveat."""
    return bool(assess(draft, findings).claims_with(Support.UNBACKED, Support.UNCHECKED))


def _within(said: str) -> set[int]:
    """The marks that stand inside a claim."""
    return {n for _, numbers in citations(said) for n in numbers}


def rescued(verdict: Verdict, how: Rescue, first: Verdict) -> Verdict:
    """The verdict on what was saved, with a caveat that says how; what the log should know of the
    first draft stays."""
    instead = wording.REPLACED if first.draft else wording.UNWRITTEN
    said = wording.SHORTENED if how is Rescue.TRIMMED else instead
    reason = said if verdict.action is Action.SERVE else f"{said} {verdict.reason}"
    notes = tuple(dict.fromkeys((*verdict.notes, *first.notes)))
    return replace(verdict, action=Action.CAVEAT, reason=reason, rescue=how, notes=notes)
