"""`/ui/log/ID`: one decision in full, with the state of the chain around it, and its replay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.errors import StoreError
from suffice.log.entry import Entry
from suffice.log.verify import Span, verify_around
from suffice.record.about import all_about, subject_of
from suffice.record.decision import VERDICT, Decision, decision_of
from suffice.record.log import Log
from suffice.record.replay import Replayed, replay, stored_documents
from suffice.record.setup import SETUP
from suffice.record.verification import Verification, last_verification
from suffice.review.case import Case
from suffice.review.review import Review
from suffice.server.ui.exported import Shown, exported, shown
from suffice.server.ui.page import PageContext, PageError, page
from suffice.server.ui.records import log_of, sees_all

_MOST_RAW = 60_000
"""Characters of the raw record on the page; all of it can be downloaded."""
_MOST_DIFFERENCES = 40
_COMPARED = ("action", "confidence", "faithfulness", "fact_score", "grade", "share_read")
_NAMES = {"fact_score": "fact score", "share_read": "share read"}


@dataclass(frozen=True, slots=True)
class Related:
    """A record about the decision: a review, feedback, a queue entry, a deep check."""

    time: str
    kind: str
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """Everything about one record that the page shows."""

    case: Case
    shown: Shown
    related: tuple[Related, ...]
    span: Span | None
    """The chain around the record, for those who audit the log."""
    verified: Verification | None
    models: dict[str, str]
    timings: tuple[tuple[str, float], ...]
    certificate: str
    raw: str
    cut: bool


async def record_page(context: PageContext) -> Response:
    found = await context.run(_found, context)
    return _rendered(context, found)


async def replay_page(context: PageContext) -> Response:
    """Run gate and checks again on the recorded inputs, and show the record with the result."""
    log = log_of(context)
    found = await context.run(_found, context)
    if not found.shown.whole:
        raise PageError(
            403,
            "Not allowed",
            "A replay shows all of a record, and you may not read all of this one.",
            "Ask a reviewer with access to its documents.",
        )
    parts = context.gateway.parts
    entry = found.case.entry

    def again() -> tuple[Decision, Replayed]:
        decision = decision_of(entry)
        documents = stored_documents(log.database, decision)
        setup = log.entry(str(entry.fields().get("setup", "")))
        return decision, replay(entry, setup, documents, (parts.embedder, parts.verifier))

    # Models are at work, so it waits in the same queue as the requests of the gateway.
    decision, done = await context.gateway.work.run(again)
    return _rendered(context, found, done, _comparison(decision, done))


async def record_json(context: PageContext) -> Response:
    """The record as a person may read it, as a file."""
    found = await context.run(_found, context)
    entry, reviewer = found.case.entry, context.person.has(Role.REVIEWER)

    def text() -> str:
        tree = exported(entry, reviewer=reviewer, audits=sees_all(context))
        return json.dumps(tree, ensure_ascii=False, indent=2)

    body = (await context.run(text)).encode("utf-8", "replace")
    headers = {"Content-Disposition": f'attachment; filename="record-{entry.id}.json"'}
    return Response(body, headers=headers, media_type="application/json")


def _found(context: PageContext) -> Found:
    log, reader = log_of(context), context.person.reader
    name = str(context.request.path_params["id"])
    try:
        case = Review(log).case(name, reader)
    except StoreError as problem:
        if type(problem) is not StoreError:
            raise
        raise PageError(404, "No such record", problem.message, "Look for it in the log.") from None
    entry = case.entry
    seen = shown(entry, reviewer=context.person.has(Role.REVIEWER))
    fields = entry.fields()
    with log.database.reading() as connection:
        about = all_about(connection, entry.id)
    raw = json.dumps(fields, ensure_ascii=False, indent=1) if seen.whole else ""
    return Found(
        case,
        seen,
        _related(about, hidden=seen.seen is None, reviewer=context.person.has(Role.REVIEWER)),
        verify_around(log.database, entry.sequence) if sees_all(context) else None,
        last_verification(log) if sees_all(context) else None,
        _models(log, str(fields.get("setup", ""))),
        tuple((str(stage), float(spent)) for stage, spent in fields.get("timings") or ()),
        str((fields.get("thresholds") or {}).get("certificate", "")),
        raw[:_MOST_RAW],
        len(raw) > _MOST_RAW,
    )


def _related(entries: Sequence[Entry], *, hidden: bool, reviewer: bool) -> tuple[Related, ...]:
    """Records about the decision. Their words may quote it and its draft: they are hidden with
    the decision, and, like withheld drafts, they are for reviewers. So is the reason of a gap."""
    found = []
    for entry in entries:
        fields = entry.fields()
        act = entry.id.removeprefix(f"{subject_of(entry.id)}.").partition(".")[0]
        named = ("rating", "reason", "comment", "text") if reviewer else ("rating",)
        words = [fields.get(name) for name in named]
        why = fields.get("why")
        words += [", ".join(map(str, why))] if isinstance(why, list) else []
        text = "" if hidden else ": ".join(str(word) for word in words if word)
        found.append(Related(entry.time, act.replace("_", " "), entry.caller, text))
    return tuple(found)


def _models(log: Log, setup: str) -> dict[str, str]:
    try:
        entry = log.entry(setup)
    except StoreError:
        return {}
    models = entry.fields().get("models") if entry.kind == SETUP else None
    return {str(name): str(id) for name, id in (models or {}).items()}


def _rendered(
    context: PageContext,
    found: Found,
    replayed: Replayed | None = None,
    compared: Sequence[tuple[str, str, str]] = (),
) -> Response:
    entry, seen = found.case.entry, found.shown
    total = dict(found.timings).get("total", 0.0)
    return context.render(
        "record.html",
        found=found,
        entry=entry,
        shown=seen,
        gate=seen.seen.gate if seen.seen else None,
        evidence=seen.seen.evidence if seen.seen else None,
        verdict=seen.verdict,
        is_verdict=entry.kind == VERDICT,
        current=found.case.verdict,
        reviewer=context.person.has(Role.REVIEWER),
        cited={one.passage.id for one in seen.verdict.citations} if seen.verdict else set(),
        stages=[(name, spent) for name, spent in found.timings if name != "total"],
        total=total,
        replayed=replayed,
        differences=replayed.differences[:_MOST_DIFFERENCES] if replayed else (),
        compared=compared,
        short=_short,
    )


def _comparison(decision: Decision, done: Replayed) -> list[tuple[str, str, str]]:
    """The main figures then and now."""
    changed = {one.field: one.now for one in done.differences}
    rows: list[tuple[str, Any, Any]] = []
    gate = decision.gate
    rows.append(("gate", gate.level.value, changed.get("gate.level", gate.level.value)))
    rows.append(("gate score", gate.score, changed.get("gate.score", gate.score)))
    if decision.verdict is not None:
        for name in _COMPARED:
            was = getattr(decision.verdict, name)
            rows.append((_NAMES.get(name, name), was, changed.get(name, was)))
    return [(name, _short(was), _short(now)) for name, was, now in rows]


def _short(value: Any) -> str:
    """A value in a table cell."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else f"{text[:299]}…"


ROUTES = [
    Route("/log/{id}", page(record_page, Role.VIEWER)),
    Route("/log/{id}/json", page(record_json, Role.VIEWER)),
    Route("/log/{id}/replay", page(replay_page, Role.REVIEWER), methods=["POST"]),
]
