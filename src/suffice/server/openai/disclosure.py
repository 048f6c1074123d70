"""What a response shows of a draft that was not released.

A withheld draft is unchecked text, so it stays in the record. Reviewers, and all callers of a route
that allows it, get its claims truncated; other callers get only spans and statuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from suffice import serialize as as_json
from suffice.access.keys import Principal, Role
from suffice.evidence.search import KEYWORDS_ONLY
from suffice.settings import RouteSettings
from suffice.types import Finding, Verdict
from suffice.verdict.claim_status import ClaimStatus, claim_statuses
from suffice.verdict.spoken import releases_draft, without_withheld

_LONGEST = 200


class Disclosure(StrEnum):
    """How much of a draft the caller gets."""

    RELEASED = "released"
    """Only released text."""
    EXCERPT = "excerpt"
    """Withheld claims too, truncated."""
    ALL = "all"
    """All text, because the caller wrote it or it was already streamed."""


def disclosure(caller: Principal, route: RouteSettings) -> Disclosure:
    """What this caller may see of a withheld draft."""
    may = caller.has(Role.REVIEWER) or route.show_withheld
    return Disclosure.EXCERPT if may else Disclosure.RELEASED


def disclosed(verdict: Verdict, shown: Disclosure) -> Verdict:
    """Remove quotations of a withheld draft from the reason and notes of a verdict, unless they may
    be shown. The record is not changed."""
    if verdict.notes:
        verdict = replace(verdict, notes=tuple(map(_without_prose, verdict.notes)))
    return without_withheld(verdict) if shown is Disclosure.RELEASED else verdict


def claims_of(verdict: Verdict, shown: Disclosure = Disclosure.ALL) -> list[dict[str, Any]]:
    """Every claim with its span in the draft, its findings and its source."""
    numbers = {passage.id: n for n, passage in enumerate(verdict.evidence.passages, 1)}
    shown = Disclosure.ALL if releases_draft(verdict) else shown
    return [_claim(one, numbers, shown) for one in claim_statuses(verdict)]


def _claim(one: ClaimStatus, numbers: Mapping[str, int], shown: Disclosure) -> dict[str, Any]:
    secret = shown is Disclosure.RELEASED
    return {
        "text": None if secret else _cut(one.claim.text, shown),
        "span": [one.claim.start, one.claim.end],
        "support": one.support.value,
        "reason": None if secret else one.reason,
        "findings": [_finding(found, numbers, secret=secret) for found in one.findings],
        "evidence": _evidence(one),
    }


def _finding(found: Finding, numbers: Mapping[str, int], *, secret: bool) -> dict[str, Any]:
    # Reasons and facts repeat the words and values of the claim.
    return as_json.finding(found, numbers) | ({"reason": None, "facts": []} if secret else {})


def _evidence(one: ClaimStatus) -> dict[str, Any] | None:
    if one.passage is None:
        return None
    n, source = one.passage
    quote = source.text[one.span[0] : one.span[1]] if one.span else None
    return {"n": n, **as_json.origin(source), "quote": quote}


def _cut(text: str, shown: Disclosure) -> str:
    long = shown is Disclosure.EXCERPT and len(text) > _LONGEST
    return f"{text[:_LONGEST].rstrip()}…" if long else text


def _without_prose(note: str) -> str:
    """Remove the embedding server's error message from a note."""
    return f"{KEYWORDS_ONLY}." if note.startswith(KEYWORDS_ONLY) else note
