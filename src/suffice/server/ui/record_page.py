"""`/ui/log`: the decisions and their export; one in full, with the chain around it; its replay."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from suffice import schema
from suffice.access.keys import Role
from suffice.errors import StoreError
from suffice.log.chain import now
from suffice.log.decision import VERDICT, Decision, decision_of, subject_of
from suffice.log.index import ONLY_GATE
from suffice.log.log import Log
from suffice.log.record import Entry
from suffice.log.replay import (
    Replayed,
    Verification,
    last_verification,
    record_verification,
    replay,
    stored_documents,
)
from suffice.log.setup import SETUP
from suffice.log.stored import all_about
from suffice.log.verify import Span, Verified, verify_around
from suffice.review.case import Case
from suffice.review.decisions import DecisionFilter, DecisionPage, Decisions
from suffice.review.review import Review
from suffice.server import api
from suffice.server.openai.completion import Disclosure, claims_of, disclosed
from suffice.server.ui.page import (
    PageContext,
    attachment,
    completed,
    limits_of,
    log_of,
    missing_as,
    page,
    record_export,
    refreshed,
    sees_all,
)
from suffice.server.ui.security import PageError
from suffice.types import Action, Verdict


@dataclass(frozen=True, slots=True)
class RecordView:
    """A recorded decision as a person may see it, on its page and in exports. `whole`: the person
    may read all of the record. `lacking` says why there is nothing to see."""

    decision: Decision | None
    verdict: Verdict | None = None
    claims: tuple[api.Claim, ...] = ()
    whole: bool = False
    lacking: str = ""


def record_view(entry: Entry, *, reviewer: bool) -> RecordView:
    """A record that the person may know of. Only reviewers see the words of drafts that were not
    released."""
    try:
        decision = decision_of(entry)
    except StoreError as problem:
        return RecordView(None, lacking=problem.message)
    if decision.verdict is None:
        return RecordView(decision, whole=reviewer)
    depth = Disclosure.ALL if reviewer else Disclosure.RELEASED
    verdict = disclosed(decision.verdict, depth)
    claims = claims_of(decision.verdict, depth) if decision.verdict.draft else ()
    return RecordView(decision, verdict, claims, reviewer)


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
    view = record_view(entry, reviewer=reviewer)
    if view.decision is None:
        return {**line, "incomplete": view.lacking}
    if view.whole:
        return {**line, "fields": entry.fields()}
    if view.verdict is not None:
        return {**line, "verdict": schema.tree(schema.Answer.of(view.verdict))}
    gate = schema.tree(schema.FullGate.of(view.decision.gate))
    return {**line, "question": view.decision.evidence.question, "gate": gate}


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
class RecordPage:
    """Everything about one record that its page shows."""

    case: Case
    view: RecordView
    related: tuple[Related, ...]
    span: Span | None
    """The chain around the record, for those who audit the log."""
    verified: Verification | None
    models: dict[str, str]
    timings: tuple[tuple[str, float], ...]
    certificate: str
    raw: str
    """The record as JSON, as much as a page should hold."""
    cut: bool

    @property
    def entry(self) -> Entry:
        return self.case.entry


async def record_page(context: PageContext) -> Response:
    return _rendered(context, await context.run(_read, context))


async def replay_page(context: PageContext) -> Response:
    """Run gate and checks again on the recorded inputs, and show the record with the result."""
    log = log_of(context)
    record = await context.run(_read, context)
    if not record.view.whole:
        raise PageError(
            403,
            "Not allowed",
            "A replay shows all of a record, and you may not read all of this one.",
            "Ask a reviewer with access to its documents.",
        )
    engine, entry = context.gateway.engine, record.entry

    def again() -> tuple[Decision, Replayed]:
        decision = decision_of(entry)
        documents = stored_documents(log.database, decision)
        setup = log.entry(str(entry.fields().get("setup", "")))
        return decision, replay(entry, setup, documents, (engine.embedder, engine.verifier))

    # Models are at work, so it waits in the same queue as the requests of the gateway.
    decision, done = await context.gateway.work.run(again)
    return _rendered(context, record, done, _comparison(decision, done))


async def record_json(context: PageContext) -> Response:
    """The record as a person may read it, as a file."""

    def read() -> tuple[str, bytes]:
        entry = _case(context).entry
        tree = exported(entry, reviewer=_reviews(context), audits=sees_all(context))
        text = json.dumps(tree, ensure_ascii=False, indent=2)
        return entry.id, text.encode("utf-8", "replace")

    id, body = await context.run(read)
    return attachment(body, f"record-{id}.json", "application/json")


def _reviews(context: PageContext) -> bool:
    return context.person.has(Role.REVIEWER)


def _case(context: PageContext) -> Case:
    name = str(context.request.path_params["id"])
    with missing_as("No such record", "", "Look for it in the log."):
        return Review(log_of(context)).case(name, context.person.reader)


def _read(context: PageContext) -> RecordPage:
    log, reviewer = log_of(context), _reviews(context)
    case = _case(context)
    entry = case.entry
    view = record_view(entry, reviewer=reviewer)
    fields = entry.fields()
    with log.database.reading() as connection:
        about = all_about(connection, entry.id)
    raw = json.dumps(fields, ensure_ascii=False, indent=1) if view.whole else ""
    return RecordPage(
        case,
        view,
        _related(about, hidden=view.decision is None, reviewer=reviewer),
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
    related = []
    for entry in entries:
        fields = entry.fields()
        act = entry.id.removeprefix(f"{subject_of(entry.id)}.").partition(".")[0]
        named = ("rating", "reason", "comment", "text") if reviewer else ("rating",)
        words = [fields.get(name) for name in named]
        why = fields.get("why")
        words += [", ".join(map(str, why))] if isinstance(why, list) else []
        text = "" if hidden else ": ".join(str(word) for word in words if word)
        related.append(Related(entry.time, act.replace("_", " "), entry.caller, text))
    return tuple(related)


def _models(log: Log, setup: str) -> dict[str, str]:
    try:
        entry = log.entry(setup)
    except StoreError:
        return {}
    models = entry.fields().get("models") if entry.kind == SETUP else None
    return {str(name): str(id) for name, id in (models or {}).items()}


def _rendered(
    context: PageContext,
    record: RecordPage,
    replayed: Replayed | None = None,
    compared: Sequence[tuple[str, str, str]] = (),
) -> Response:
    decision, verdict = record.view.decision, record.view.verdict
    return context.render(
        "record.html",
        record=record,
        entry=record.entry,
        view=record.view,
        gate=decision.gate if decision else None,
        evidence=decision.evidence if decision else None,
        verdict=verdict,
        is_verdict=record.entry.kind == VERDICT,
        reviewer=_reviews(context),
        cited={citation.passage.id for citation in verdict.citations} if verdict else set(),
        stages=[(name, spent) for name, spent in record.timings if name != "total"],
        total=dict(record.timings).get("total", 0.0),
        replayed=replayed,
        differences=replayed.differences[:_MOST_DIFFERENCES] if replayed else (),
        compared=compared,
        short=_short,
    )


def _comparison(decision: Decision, done: Replayed) -> list[tuple[str, str, str]]:
    """The main figures then and now."""
    changed = {difference.field: difference.now for difference in done.differences}
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


ACTIONS = (*(action.value for action in Action), ONLY_GATE)
_LONGEST = 500
_FIELDS = ("action", "caller", "document", "text", "since", "until")
_PORTION = 100


async def log_page(context: PageContext) -> Response:
    log = log_of(context)
    given = _given(context.request.query_params)
    wanted = filter_of(given)
    before, after = (context.request.query_params.get(name, "") for name in ("before", "after"))
    behind = await refreshed(context)
    reader = context.person.reader
    decisions = Decisions(log)
    decided = await context.run(decisions.page, wanted, reader, before=before, after=after)
    audits = sees_all(context)
    verified = await context.run(last_verification, log) if audits else None
    chosen = {name: value for name, value in given.items() if value}
    newer, older = _links(decided, chosen)
    return context.render(
        "log.html",
        found=decided,
        given=given,
        filtered=wanted.any,
        actions=[("", "All"), *((action, _named(action)) for action in ACTIONS)],
        newer=newer,
        older=older,
        chosen=chosen,
        behind=behind,
        verified=verified,
        audits=audits,
        collections=limits_of(context),
    )


async def verify(context: PageContext) -> Response:
    """Verify the whole log and record the result."""
    log = log_of(context)
    if not sees_all(context):
        raise PageError(
            403,
            "Not allowed",
            "The result counts all records, also those of collections that you may not use.",
            "Sign in as an admin for all collections.",
        )

    def work() -> Verified:
        verified = log.verify()
        record_verification(log, verified, context.person.name)
        return verified

    verified = await context.site.run_long(work)
    result = "no faults" if verified.whole else f"{verified.count:,} faults"
    notice = f"Verified {verified.records:,} records in {verified.seconds:.1f} s: {result}."
    return context.redirect("/ui/log", notice)


async def export(context: PageContext) -> Response:
    """The selected decisions as JSON lines, oldest first, as far as the person may read them."""
    log = log_of(context)
    given = _given(context.form)
    await completed(context)
    filters = {name: value for name, value in given.items() if value}
    await record_export(context, "log", filters=filters)
    lines = _lines(context, log, filter_of(given))
    return attachment(lines, f"suffice-log-{now():%Y-%m-%d}.jsonl", "application/jsonl")


async def _lines(context: PageContext, log: Log, wanted: DecisionFilter) -> AsyncIterator[bytes]:
    """Read in portions, so that a long export holds neither a thread nor a snapshot."""
    decisions, reader = Decisions(log), context.person.reader
    whole = context.person.has(Role.REVIEWER)
    last = 0

    def portion(numbers: list[int]) -> bytes:
        entries = filter(reader.may_know, (log.entry(str(number)) for number in numbers))
        trees = (exported(entry, reviewer=whole, audits=reader.audits) for entry in entries)
        return b"".join(
            json.dumps(tree, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            for tree in trees
        )

    while numbers := await context.run(decisions.numbers, wanted, reader, last, _PORTION):
        yield await context.run(portion, numbers)
        last = numbers[-1]


def filter_of(given: Mapping[str, str]) -> DecisionFilter:
    """The selection that the fields of the form describe. Days are in UTC and both included."""
    until = _day(given["until"])
    since = _day(given["since"])
    return DecisionFilter(
        given["action"] if given["action"] in ACTIONS else "",
        given["caller"],
        given["document"],
        given["text"],
        since.isoformat() if since else "",
        (until + timedelta(days=1)).isoformat() if until else "",
    )


def _given(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: fields.get(name, "").strip()[:_LONGEST] for name in _FIELDS}


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if date.min < day < date.max else None


def _links(listed: DecisionPage, chosen: Mapping[str, str]) -> tuple[str, str]:
    """The addresses of the newer and the older page; empty if there is none."""
    newer, older = "", ""
    if listed.rows and listed.newer:
        newer = f"/ui/log?{urlencode({**chosen, 'after': listed.rows[0].id})}"
    if listed.last and listed.older:
        older = f"/ui/log?{urlencode({**chosen, 'before': listed.last})}"
    return newer, older


def _named(action: str) -> str:
    return "Gate only" if action == ONLY_GATE else action


ROUTES = [
    Route("/log", page(log_page, Role.VIEWER)),
    Route("/log/export", page(export, Role.VIEWER), methods=["POST"]),
    Route("/log/verify", page(verify, Role.ADMIN), methods=["POST"]),
    Route("/log/{id}", page(record_page, Role.VIEWER)),
    Route("/log/{id}/json", page(record_json, Role.VIEWER)),
    Route("/log/{id}/replay", page(replay_page, Role.REVIEWER), methods=["POST"]),
]
