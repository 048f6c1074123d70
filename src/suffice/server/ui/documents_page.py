"""`/ui/documents`: the documents a person may read, their versions, expiry and citations."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import groupby
from urllib.parse import quote, urlencode

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Principals, Role
from suffice.access.visibility import Reader
from suffice.engine import Caller
from suffice.errors import DocumentMissing, StoreMissing, SufficeError
from suffice.evidence.index import Filter, today
from suffice.evidence.rows import VersionInfo
from suffice.lab.monitor.gaps import Answered, Topic, backlog
from suffice.log.chain import now, timestamp
from suffice.log.log import Log
from suffice.log.record import RecordFilter
from suffice.pipeline import Pipeline
from suffice.review import review
from suffice.review.actions import Marked
from suffice.review.documents import CALENDAR, Documents, History, Hunk, View, counts
from suffice.review.review import Review
from suffice.server.errors import ApiError
from suffice.server.request import admit
from suffice.server.telemetry.stats import CURRENT_STATS, RequestStats
from suffice.server.ui.page import PageContext, as_page_error, limits_of, log_of, page, refreshed
from suffice.server.ui.security import PageError
from suffice.types import Level, Source
from suffice.verdict.decide import nearest

_LONGEST = 200
_MOST_LINES = 400
"""Lines of a difference on the page."""
_SOON = 30
"""Days before its expiry from which a document is marked."""
_CALENDAR = "calendar"
_VIEWS = (
    (View.ALL, "All"),
    (View.CITED, "Cited"),
    (View.NEVER, "Never cited"),
    (View.EXPIRED, "Not in force"),
)


@dataclass(frozen=True, slots=True)
class Month:
    """A month of the calendar with the versions that expire in it."""

    name: str
    versions: tuple[VersionInfo, ...]
    overdue: bool = False


async def documents_page(context: PageContext) -> Response:
    query = context.request.query_params
    if query.get("view") == _CALENDAR:
        return await calendar_page(context)
    documents = Documents(context.gateway.library.store, context.person.reader)
    text, after = query.get("text", "").strip()[:_LONGEST], query.get("after", "")
    view = View(query.get("view", "")) if query.get("view", "") in tuple(View) else View.ALL
    behind = await refreshed(context)
    collections = await context.run(documents.collections)
    collection = query.get("collection", "")
    if collection not in collections:
        collection = "default" if "default" in collections or not collections else collections[0]
    day = today()
    found = await context.run(documents.page, collection, day, view=view, text=text, after=after)
    marks = await context.run(_marks, context, collection, "")
    kept = {"collection": collection, "text": text}
    kept = {name: value for name, value in kept.items() if value and value != "default"}
    last = found.documents[-1].version.document if found.documents else ""
    return context.render(
        "documents.html",
        found=found,
        behind=behind,
        day=day,
        view=view,
        views=[(one, name, f"?{urlencode({**kept, 'view': one.value})}") for one, name in _VIEWS],
        text=text,
        collection=collection,
        collections=collections,
        choices=[(one, one) for one in collections],
        more=f"?{urlencode({**kept, 'view': view.value, 'after': last})}" if found.more else "",
        first=f"?{urlencode({**kept, 'view': view.value})}" if after else "",
        link=link_of,
        soon=day + timedelta(days=_SOON),
        marks=Counter(one.document for one in marks),
    )


async def calendar_page(context: PageContext) -> Response:
    documents = Documents(context.gateway.library.store, context.person.reader)
    day = today()
    found = await context.run(documents.calendar, day)
    return context.render(
        "calendar.html", months=_months(found, day), day=day, link=link_of, count=len(found)
    )


async def document_page(context: PageContext) -> Response:
    query = context.request.query_params
    name = str(context.request.path_params["name"])
    collection = query.get("collection", "default")
    documents = Documents(context.gateway.library.store, context.person.reader)
    behind = await refreshed(context)
    try:
        found = await context.run(documents.history, collection, name)
    except DocumentMissing as problem:
        raise PageError(404, "No such document", problem.message, problem.remedy) from None
    old, new = _pair(found, query.get("old", ""), query.get("new", ""))
    hunks = await context.run(documents.difference, found, old, new) if old and new else None
    lines, cut = _cut(hunks or ())
    day = today()
    current = (one for one in found.versions if one.status(day) == "current")
    shown = next(current, found.versions[0])
    return context.render(
        "document.html",
        found=found,
        behind=behind,
        shown=shown,
        day=day,
        old=old,
        new=new,
        hunks=lines,
        cut=cut,
        compared=hunks is not None,
        counts=counts(hunks or ()),
        options=[(one.key, _named(one, day)) for one in found.versions],
        link=link_of,
        used=f"/ui/log?{urlencode({'document': found.document})}",
        marks=await context.run(_marks, context, collection, name),
        readers=await context.run(_readers, context, shown),
        reviewer=context.person.has(Role.REVIEWER),  # comments may quote withheld drafts
    )


def _marks(context: PageContext, collection: str, document: str) -> list[Marked]:
    """Passages that reviewers marked as wrong or stale."""
    log = context.gateway.log
    if log is None:
        return []
    reader = context.person.reader
    return Review(log).marked_passages(reader, collection=collection, document=document)


def _readers(context: PageContext, version: VersionInfo) -> list[str]:
    """The names of the keys and accounts that may read a labelled version, for admins."""
    if not version.access or not context.person.has(Role.ADMIN):
        return []
    keys = Principals(context.gateway.library.store.database).all()
    people = [*keys, *context.site.accounts.all()]
    return sorted({one.name for one in people if Reader.of(one).may_read(version)})


def link_of(version: VersionInfo) -> str:
    """The page of a document."""
    other = "" if version.collection == "default" else f"?collection={quote(version.collection)}"
    return f"/ui/documents/{quote(version.document)}{other}"


def _pair(found: History, old: str, new: str) -> tuple[str, str]:
    """The versions to compare: those asked for, else the newest two."""
    if found.find(old) and found.find(new):
        return old, new
    keys = [one.key for one in found.versions]
    return (keys[1], keys[0]) if len(keys) > 1 else ("", "")


def _cut(hunks: Sequence[Hunk]) -> tuple[list[Hunk], bool]:
    """As much of a difference as a page should hold."""
    kept: list[Hunk] = []
    left = _MOST_LINES
    for hunk in hunks:
        if left <= 0:
            return kept, True
        kept.append(Hunk(hunk.lines[:left]))
        if len(hunk.lines) > left:
            return kept, True
        left -= len(hunk.lines)
    return kept, False


def _named(version: VersionInfo, day: date) -> str:
    return f"{version.version} ({version.status(day)}, read {version.seen})"


def _months(found: Sequence[VersionInfo], day: date) -> list[Month]:
    """Twelve months from this one on; what has expired comes first."""
    past = tuple(one for one in found if one.expires and one.expires < day)
    coming = [one for one in found if one.expires and one.expires >= day]
    by_month = {
        key: tuple(own) for key, own in groupby(coming, lambda one: _month(one.expires or day))
    }
    months = [Month("Expired", past, overdue=True)] if past else []
    first = day.replace(day=1)
    for _ in range(CALENDAR // 28):
        months.append(Month(first.strftime("%B %Y"), by_month.get(_month(first), ())))
        first = (first + timedelta(days=32)).replace(day=1)
        if first > day + timedelta(days=CALENDAR):
            break
    return months


def _month(day: date) -> tuple[int, int]:
    return day.year, day.month


ROUTES = [
    Route("/documents", page(documents_page, Role.VIEWER)),
    Route("/documents/{name:path}", page(document_page, Role.VIEWER)),
]


_DAYS = 90
_RECORDS, _WORDINGS, _TOPICS = 1_000, 300, 50
"""Newest gap records looked at, questions grouped, and topics shown."""
_ASKED = 100
"""Questions that a check asks again."""


@dataclass(frozen=True, slots=True)
class Checked:
    """How many questions the gate was asked again, and how many it now answers."""

    asked: int
    answered: int


async def gaps_page(context: PageContext) -> Response:
    log = log_of(context)

    def last() -> int:
        with log.database.reading() as connection:
            return review.last_change(connection)

    position = await context.run(last), timestamp(now())[:13]

    async def compute() -> list[Topic]:
        return await context.run(_topics, context, _open)

    topics = await context.site.topics.get(position, context.person.reader, compute)
    return _rendered(context, topics)


async def check(context: PageContext) -> Response:
    """Ask the gate again, without a record, and leave out what the documents answer by now. It is
    admitted within the limits of an API call, and one check runs at a time."""
    gateway, stats = context.gateway, RequestStats("/ui/health/gaps", time.perf_counter())
    CURRENT_STATS.set(stats)
    with ExitStack() as stack:
        stack.callback(gateway.tell, stats)
        try:
            await admit(context.request, gateway, context.person.principal, stack, stats)
            return await _checked(context)
        except (PageError, ApiError, SufficeError) as problem:
            shown = as_page_error(problem, stats.path)
            stats.status = shown.status
            raise shown from None


async def _checked(context: PageContext) -> Response:
    seen: dict[str, bool] = {}

    def work() -> list[Topic]:
        # Held by the thread itself: it may go on after the page has stopped waiting.
        if not context.site.checking_gaps.acquire(blocking=False):
            raise PageError(
                503,
                "Busy",
                "Another check of the gaps is running.",
                "Try again when it has ended.",
                {"Retry-After": "10"},
            )
        try:
            return asked_again()
        finally:
            context.site.checking_gaps.release()

    def asked_again() -> list[Topic]:
        ask = _asking(context)

        def answered(question: str) -> tuple[bool, tuple[Source, ...]]:
            if len(seen) >= _ASKED:
                return False, ()
            closed, near = ask(question)
            seen[question] = closed
            return closed, near

        return _topics(context, answered)

    # Models are at work, so it waits in the same queue as the requests of the gateway.
    topics = await context.gateway.work.run(work)
    return _rendered(context, topics, Checked(len(seen), sum(seen.values())))


def _rendered(
    context: PageContext, topics: Sequence[Topic], checked: Checked | None = None
) -> Response:
    return context.render(
        "health_gaps.html",
        topics=topics[:_TOPICS],
        count=len(topics),
        days=_DAYS,
        checked=checked,
        most=_ASKED,
        may_check=context.person.has(Role.REVIEWER),
        collections=limits_of(context),
    )


def _open(question: str) -> tuple[bool, tuple[Source, ...]]:
    return False, ()


def _topics(context: PageContext, answered: Answered) -> list[Topic]:
    log: Log = log_of(context)
    since = timestamp(now() - timedelta(days=_DAYS))
    with log.database.reading() as connection:
        found = review.gaps(
            connection, RecordFilter(since=since), _WORDINGS, context.person.reader, _RECORDS
        )
    return backlog(found, context.gateway.engine.embedder, answered, now())


def _asking(context: PageContext) -> Answered:
    """Whether the documents that the person may read answer a question now."""
    gateway, reader = context.gateway, context.person.reader
    settings, pipelines = gateway.state.settings, list[Pipeline]()
    for name in Documents(gateway.library.store, reader).collections():
        caller = Caller(Filter(collection=name, labels=reader.labels))
        try:
            pipeline = gateway.engine.pipeline(caller, settings.collection(name))
        except StoreMissing:  # nothing is indexed
            continue
        pipelines.append(replace(pipeline, record=None))

    def answered(question: str) -> tuple[bool, tuple[Source, ...]]:
        near: tuple[Source, ...] = ()
        for pipeline in pipelines:
            evidence, decision = pipeline.retrieve_and_gate(question)
            near = (*near, *nearest(evidence))
            if decision.level is Level.SUFFICIENT:
                return True, near
        return False, near

    return answered


GAPS_ROUTES = [
    Route("/health/gaps", page(gaps_page, Role.VIEWER)),
    Route("/health/gaps", page(check, Role.REVIEWER), methods=["POST"]),
]
