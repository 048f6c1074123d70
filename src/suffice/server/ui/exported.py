"""A record as a person may read it, as JSON: for exports and for the page of one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suffice import serialize as as_json
from suffice.errors import StoreError
from suffice.log.entry import Entry
from suffice.record.decision import Decision, decision_of
from suffice.server.openai.disclosure import Disclosure, claims_of, disclosed
from suffice.types import Verdict


@dataclass(frozen=True, slots=True)
class Shown:
    """A recorded decision as a person may see it. `whole`: the person may read all of the record.
    `lacking` says why there is nothing to see."""

    seen: Decision | None
    verdict: Verdict | None = None
    claims: tuple[dict[str, Any], ...] = ()
    whole: bool = False
    lacking: str = ""


def shown(entry: Entry, *, reviewer: bool) -> Shown:
    """A record that the person may know of. Only reviewers see the words of drafts that were not
    released."""
    try:
        decision = decision_of(entry)
    except StoreError as problem:
        return Shown(None, lacking=problem.message)
    if decision.verdict is None:
        return Shown(decision, whole=reviewer)
    depth = Disclosure.ALL if reviewer else Disclosure.RELEASED
    verdict = disclosed(decision.verdict, depth)
    claims = tuple(claims_of(decision.verdict, depth)) if decision.verdict.draft else ()
    return Shown(decision, verdict, claims, reviewer)


def exported(entry: Entry, *, reviewer: bool, audits: bool) -> dict[str, Any]:
    """One line of an export. Reviewers get all stored fields; those who audit the log get the place
    of the record in the chain, which depends on all records before it."""
    line: dict[str, Any] = {
        "id": entry.id,
        "time": entry.time,
        "kind": entry.kind,
        "caller": entry.caller or None,
    }
    if audits:
        line = {"sequence": entry.sequence, **line, "link": entry.link}
    found = shown(entry, reviewer=reviewer)
    if found.seen is None:
        return {**line, "incomplete": found.lacking}
    if found.whole:
        return {**line, "fields": entry.fields()}
    if found.verdict is not None:
        return {**line, "verdict": as_json.verdict(found.verdict)}
    question = found.seen.evidence.question
    return {**line, "question": question, "gate": as_json.gate(found.seen.gate)}
