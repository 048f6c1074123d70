"""`/ui/log`: the decisions of the log, filtered, and their export; verification of the chain."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from datetime import date, timedelta
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.log.breaks import Verified
from suffice.log.moment import now
from suffice.record.digest import ONLY_GATE
from suffice.record.log import Log
from suffice.record.verification import last_verification, record_verification
from suffice.review.decisions import Decisions, Page, Wanted
from suffice.server.ui.exported import exported
from suffice.server.ui.page import PageContext, PageError, page
from suffice.server.ui.records import (
    completed,
    limits_of,
    log_of,
    record_export,
    refreshed,
    sees_all,
)
from suffice.types import Action

ACTIONS = (*(action.value for action in Action), ONLY_GATE)
_LONGEST = 500
_FIELDS = ("action", "caller", "document", "text", "since", "until")
_PORTION = 100


async def log_page(context: PageContext) -> Response:
    log = log_of(context)
    given = _given(context.request.query_params)
    wanted = wanted_of(given)
    before, after = (context.request.query_params.get(name, "") for name in ("before", "after"))
    behind = await refreshed(context)
    reader = context.person.reader
    decisions = Decisions(log)
    found = await context.run(decisions.page, wanted, reader, before=before, after=after)
    audits = sees_all(context)
    verified = await context.run(last_verification, log) if audits else None
    chosen = {name: value for name, value in given.items() if value}
    newer, older = _links(found, chosen)
    return context.render(
        "log.html",
        found=found,
        given=given,
        filtered=wanted.any,
        actions=[("", "All"), *((one, _named(one)) for one in ACTIONS)],
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
        found = log.verify()
        record_verification(log, found, context.person.name)
        return found

    found = await context.run_long(work)
    told = "no faults" if found.whole else f"{found.count:,} faults"
    return context.redirect(
        "/ui/log", f"Verified {found.records:,} records in {found.seconds:.1f} s: {told}."
    )


async def export(context: PageContext) -> Response:
    """The selected decisions as JSON lines, oldest first, as far as the person may read them."""
    log = log_of(context)
    given = _given(await context.form())
    await completed(context)
    filters = {name: value for name, value in given.items() if value}
    await record_export(context, "log", filters=filters)
    lines = _lines(context, log, wanted_of(given))
    name = f"suffice-log-{now():%Y-%m-%d}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type="application/jsonl", headers=headers)


async def _lines(context: PageContext, log: Log, wanted: Wanted) -> AsyncIterator[bytes]:
    """Read in portions, so that a long export holds neither a thread nor a snapshot."""
    decisions, reader = Decisions(log), context.person.reader
    whole = context.person.has(Role.REVIEWER)
    last = 0

    def portion(numbers: list[int]) -> bytes:
        entries = filter(reader.may_know, (log.entry(str(number)) for number in numbers))
        trees = (exported(one, reviewer=whole, audits=reader.audits) for one in entries)
        return b"".join(
            json.dumps(tree, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            for tree in trees
        )

    while numbers := await context.run(decisions.numbers, wanted, reader, last, _PORTION):
        yield await context.run(portion, numbers)
        last = numbers[-1]


def wanted_of(given: Mapping[str, str]) -> Wanted:
    """The selection that the fields of the form describe. Days are in UTC and both included."""
    until = _day(given["until"])
    since = _day(given["since"])
    return Wanted(
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
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if date.min < found < date.max else None


def _links(found: Page, chosen: Mapping[str, str]) -> tuple[str, str]:
    """The addresses of the newer and the older page; empty if there is none."""
    newer, older = "", ""
    if found.rows and found.newer:
        newer = f"/ui/log?{urlencode({**chosen, 'after': found.rows[0].id})}"
    if found.last and found.older:
        older = f"/ui/log?{urlencode({**chosen, 'before': found.last})}"
    return newer, older


def _named(action: str) -> str:
    return "Gate only" if action == ONLY_GATE else action


ROUTES = [
    Route("/log", page(log_page, Role.VIEWER)),
    Route("/log/export", page(export, Role.VIEWER), methods=["POST"]),
    Route("/log/verify", page(verify, Role.ADMIN), methods=["POST"]),
]
