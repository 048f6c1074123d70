"""Webhook events: the name and the payload of each log record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suffice.log.entry import Entry
from suffice.log.payload import lines
from suffice.record.about import QUEUE, role_of, subject_of
from suffice.record.decision import GAP, VERDICT
from suffice.review.case import DECIDED, FEEDBACK

ALARM, GUARANTEE = "alarm", "guarantee"
KINDS = (VERDICT, GAP, QUEUE, FEEDBACK, *DECIDED, ALARM, GUARANTEE)
"""The kinds of log records that are sent as events."""


def event_of(entry: Entry) -> str:
    """The name of the event, such as `verdict.withhold`."""
    if entry.kind == VERDICT:
        outcome = _field(entry, "outcome") or {}
        return f"{VERDICT}.{str(outcome.get('action', 'unknown')).lower()}"
    if entry.kind == QUEUE:
        return "review.queued"
    if entry.kind == FEEDBACK:
        return f"{FEEDBACK}.{_field(entry, 'rating') or 'unknown'}"
    if entry.kind in (ALARM, GUARANTEE):
        return f"{entry.kind}.{_field(entry, 'what') or 'unknown'}"
    return f"review.{role_of(entry.id)}" if entry.kind in DECIDED else entry.kind


def payload_of(entry: Entry, event: str, delivery: str, text: str) -> dict[str, Any]:
    """The body of a delivery. `text` selects the texts to include: none, released or all. Only with
    `all` does it contain reasons, which may quote a withheld draft, or the words of a reviewer.
    Fields that the log does not store, or that were erased, are missing."""
    about = {
        "id": delivery,
        "event": event,
        "time": entry.time,
        "record": subject_of(entry.id),
        "caller": entry.caller or None,
        "tag": entry.tag or None,
    }
    return {**about, **_SHAPES.get(entry.kind, _review)(entry, text)}


def _verdict(entry: Entry, text: str) -> dict[str, Any]:
    fields = entry.fields()
    outcome, gate = fields.get("outcome") or {}, fields.get("gate") or {}
    found = {
        "verdict": outcome.get("action"),
        "confidence": outcome.get("confidence"),
        "faithfulness": outcome.get("faithfulness"),
        "route": outcome.get("route"),
        "gate": {key: gate.get(key) for key in ("level", "score", "policy")},
    }
    if text != "none":
        found["question"] = fields.get("question")
        found["answer"] = fields.get("released") or None
    if text == "all":
        found["reason"] = outcome.get("reason")
        found["drafts"] = [one.get("text") for one in (fields.get("drafts") or {}).get("all", ())]
    return found


def _gap(entry: Entry, text: str) -> dict[str, Any]:
    fields = entry.fields()
    near = [source.get("document") for source in fields.get("nearest") or ()]
    if text == "none":
        return {"nearest": near}
    reason = {"reason": fields.get("reason")} if text == "all" else {}
    missing = fields.get("missing")
    return {"question": fields.get("question"), "missing": missing, "nearest": near, **reason}


def _queued(entry: Entry, text: str) -> dict[str, Any]:
    return {"why": _field(entry, "why")}


def _feedback(entry: Entry, text: str) -> dict[str, Any]:
    comment = {"comment": _field(entry, "comment")} if text == "all" else {}
    return {"rating": _field(entry, "rating"), **comment}


def _monitored(entry: Entry, text: str) -> dict[str, Any]:
    """An alarm or a guarantee change. Its text quotes no answers, so it is always sent."""
    fields = entry.fields()
    names = ("about", "what", "text", "value", "baseline")
    certificate = {"certificate": fields["certificate"]} if "certificate" in fields else {}
    return {**{name: fields.get(name) for name in names}, **certificate}


def _review(entry: Entry, text: str) -> dict[str, Any]:
    """A reviewer's decision. The receiver gets the answer as it is now from `review_url`."""
    found = {
        "decision": role_of(entry.id),
        "result": _field(entry, "result"),
        "review_url": f"/v1/reviews/{subject_of(entry.id)}",
    }
    if text != "all":
        return found
    return {**found, "answer": _field(entry, "text"), "reason": _field(entry, "reason")}


_SHAPES: dict[str, Callable[[Entry, str], dict[str, Any]]] = {
    VERDICT: _verdict,
    GAP: _gap,
    QUEUE: _queued,
    FEEDBACK: _feedback,
    ALARM: _monitored,
    GUARANTEE: _monitored,
}


def setup_of_gap(entry: Entry) -> str:
    """The id of the setup that produced the gap."""
    return str(_field(entry, "setup") or "")


def _field(entry: Entry, name: str) -> Any:
    """Read one field without parsing the rest of a large record."""
    found = (line for line in lines(entry.payload) if line.name == name and line.stored)
    return next((line.read() for line in found), None)
