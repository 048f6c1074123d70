"""The history of a case: each record about it as one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suffice.log.entry import Entry
from suffice.record.about import QUEUE, role_of
from suffice.record.decision import GAP
from suffice.review.actions import ASSIGNMENT, COMMENT, JUDGEMENT, MARK, PRIORITY, Mark, Priority

_RATED = {"up": "Rated up", "down": "Rated down"}
_JUDGED = {"accept": "finding accepted", "overrule": "finding overruled", "correct": "corrected"}
_DECIDED = {
    "release": "Answer released",
    "correct": "Answer corrected",
    "withdraw": "Answer withdrawn",
    "open": "Gate opened",
    "confirm": "Decision confirmed",
    "dismiss": "Dismissed",
}


@dataclass(frozen=True, slots=True)
class Event:
    """What happened; `by` is empty for what Suffice did. `detail` are a person's own words."""

    time: str
    by: str
    what: str
    detail: str = ""
    result: str = ""


def event_of(entry: Entry) -> Event:
    """One record about a case; the details of an erased record are missing."""
    fields = entry.fields()
    by = "" if entry.kind in (QUEUE, GAP) else entry.caller
    detail = str(fields.get("comment") or fields.get("reason") or "")
    if entry.kind == GAP:
        detail = ""
    return Event(entry.time, by, _what(entry, fields), detail, str(fields.get("result", "")))


def _what(entry: Entry, fields: dict[str, Any]) -> str:
    if entry.kind == QUEUE:
        return f"Queued: {', '.join(fields.get('why', ()))}"
    if entry.kind == GAP:
        return "Recorded as a knowledge gap"
    if entry.kind == JUDGEMENT:
        return f"Claim {fields.get('claim', '?')}: {_JUDGED.get(fields.get('judgement', ''), '?')}"
    if entry.kind == MARK:
        mark, title = fields.get("mark", "?"), fields.get("title") or fields.get("document", "?")
        return f"Mark removed: {title}" if mark == Mark.NONE else f"Passage marked {mark}: {title}"
    if entry.kind == ASSIGNMENT:
        return f"Assigned to {name}" if (name := fields.get("assignee")) else "Assignment removed"
    if entry.kind == PRIORITY:
        return f"Priority set to {Priority(fields.get('priority', 1)).name.lower()}"
    if entry.kind == COMMENT:
        return "Commented"
    role = role_of(entry.id)
    return _DECIDED.get(role) or _RATED.get(fields.get("rating", ""), "Rated")
