"""A record as a person may read it, as JSON: for exports and for the page of one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suffice import serialize as as_json
from suffice.access.visibility import Reader, Seen, seen
from suffice.errors import StoreError
from suffice.log.entry import Entry
from suffice.record.decision import decision_of
from suffice.server.openai.disclosure import Disclosure, claims_of, disclosed
from suffice.types import Verdict


@dataclass(frozen=True, slots=True)
class Shown:
    """A recorded decision as a person may see it. `whole`: the person may read all of the record.
    `lacking` says why there is nothing to see."""

    seen: Seen | None
    verdict: Verdict | None = None
    claims: tuple[dict[str, Any], ...] = ()
    whole: bool = False
    lacking: str = ""


def shown(entry: Entry, reader: Reader, *, reviewer: bool) -> Shown:
    """Apply the rights of a person to a record: labels and collections, and only reviewers see the
    words of drafts that were not released."""
    try:
        decision = decision_of(entry)
    except StoreError as problem:
        return Shown(None, lacking=problem.message)
    found = seen(decision, decision.verdict, reader)
    if found.verdict is None:
        return Shown(found, whole=reviewer and not found.hidden)
    depth = Disclosure.ALL if reviewer else Disclosure.RELEASED
    verdict = disclosed(found.verdict, depth)
    claims = tuple(claims_of(found.verdict, depth)) if found.verdict.draft else ()
    return Shown(found, verdict, claims, reviewer and not found.hidden)


def exported(entry: Entry, reader: Reader, *, reviewer: bool) -> dict[str, Any]:
    """One line of an export. Someone who may read all of the record gets its stored fields."""
    line: dict[str, Any] = {
        "sequence": entry.sequence,
        "id": entry.id,
        "time": entry.time,
        "kind": entry.kind,
        "caller": entry.caller or None,
        "link": entry.link,
    }
    found = shown(entry, reader, reviewer=reviewer)
    if found.seen is None:
        return {**line, "incomplete": found.lacking}
    if found.whole:
        return {**line, "hidden_passages": 0, "fields": entry.fields()}
    line["hidden_passages"] = found.seen.hidden
    if found.verdict is not None:
        return {**line, "verdict": as_json.verdict(found.verdict)}
    question = found.seen.evidence.question
    return {**line, "question": question, "gate": as_json.gate(found.seen.gate)}
