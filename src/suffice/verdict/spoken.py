"""A verdict as text for the reader of an answer. Withheld statements are never part of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from suffice.types import Action, Claim, Verdict
from suffice.verdict import wording
from suffice.verdict.customer import CustomerTexts


def spoken(verdict: Verdict, texts: CustomerTexts | None = None) -> str:
    """A verdict as text: an answer with its caveat, both sides of a conflict, or a refusal. With
    `texts`, it is for a customer; otherwise for an operator, with the reason."""
    if verdict.action is Action.SERVE:
        return verdict.released
    reason = texts.text(verdict) if texts else verdict.reason
    if verdict.action is Action.CAVEAT:
        return f"{verdict.released}\n\n{reason}"
    if verdict.action is Action.CONFLICT:
        return f"{reason}\n\n{verdict.released}"
    return reason if texts else wording.refusal(verdict)


def releases_draft(verdict: Verdict) -> bool:
    """Whether the verdict's draft was released."""
    return verdict.action in (Action.SERVE, Action.CAVEAT)


def without_withheld(verdict: Verdict) -> Verdict:
    """Remove quotations of withheld claims from the reason and notes of a verdict."""
    hidden = tuple(dict.fromkeys(_withheld(verdict)))
    if not hidden:
        return verdict
    kept = tuple(note for note in verdict.notes if not wording.quotes(note, hidden))
    return replace(verdict, reason=wording.unquoted(verdict.reason, hidden), notes=kept)


def _withheld(verdict: Verdict) -> Iterator[Claim]:
    """The claims of all drafts that are not part of the released text."""
    drafts = [verdict.draft, *(one.draft for one in verdict.attempts)]
    kept = verdict.draft.claims if verdict.draft and releases_draft(verdict) else ()
    released = set(kept)
    others = [claim for draft in drafts if draft for claim in draft.claims if claim not in released]
    if not others:
        return
    texts = {wording.plain_claim(claim) for claim in kept}
    yield from (claim for claim in others if wording.plain_claim(claim) not in texts)
