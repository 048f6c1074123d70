"""`/ui/documents`: the documents a person may read, their versions, expiry and citations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from urllib.parse import quote, urlencode

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.access.visibility import Reader
from suffice.errors import DocumentMissing
from suffice.evidence.index import today
from suffice.evidence.rows import VersionInfo
from suffice.review.actions import Marked
from suffice.review.documents import CALENDAR, Documents, History, Hunk, View, counts
from suffice.review.review import Review
from suffice.server.ui.page import PageContext, page, refreshed
from suffice.server.ui.security import PageError

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
    documents = documents_of(context)
    text, after = query.get("text", "").strip()[:_LONGEST], query.get("after", "")
    view = View(query.get("view", "")) if query.get("view", "") in tuple(View) else View.ALL
    behind = await refreshed(context)
    collections = await context.run(documents.collections)
    collection = query.get("collection", "")
    if collection not in collections:
        collection = "default" if "default" in collections or not collections else collections[0]
    day = today()
    listing = await context.run(documents.page, collection, day, view=view, text=text, after=after)
    marks = await context.run(_marks, context, collection, "")
    chosen = {"collection": collection, "text": text}
    chosen = {name: value for name, value in chosen.items() if value and value != "default"}
    last = listing.documents[-1].version.document if listing.documents else ""
    return context.render(
        "documents.html",
        found=listing,
        behind=behind,
        day=day,
        view=view,
        views=[
            (item, name, f"?{urlencode({**chosen, 'view': item.value})}") for item, name in _VIEWS
        ],
        text=text,
        collection=collection,
        collections=collections,
        choices=[(item, item) for item in collections],
        more=f"?{urlencode({**chosen, 'view': view.value, 'after': last})}" if listing.more else "",
        first=f"?{urlencode({**chosen, 'view': view.value})}" if after else "",
        link=link_of,
        soon=day + timedelta(days=_SOON),
        marks=Counter(item.document for item in marks),
    )


async def calendar_page(context: PageContext) -> Response:
    documents = documents_of(context)
    day = today()
    expiring = await context.run(documents.calendar, day)
    return context.render(
        "calendar.html", months=_months(expiring, day), day=day, link=link_of, count=len(expiring)
    )


async def document_page(context: PageContext) -> Response:
    query = context.request.query_params
    name = str(context.request.path_params["name"])
    collection = query.get("collection", "default")
    documents = documents_of(context)
    behind = await refreshed(context)
    try:
        history = await context.run(documents.history, collection, name)
    except DocumentMissing as problem:
        raise PageError(404, "No such document", problem.message, problem.remedy) from None
    old, new = _pair(history, query.get("old", ""), query.get("new", ""))
    hunks = await context.run(documents.difference, history, old, new) if old and new else None
    lines, cut = _cut(hunks or ())
    day = today()
    current = (version for version in history.versions if version.status(day) == "current")
    shown = next(current, history.versions[0])
    return context.render(
        "document.html",
        found=history,
        behind=behind,
        shown=shown,
        day=day,
        old=old,
        new=new,
        hunks=lines,
        cut=cut,
        compared=hunks is not None,
        counts=counts(hunks or ()),
        options=[(version.key, _named(version, day)) for version in history.versions],
        link=link_of,
        used=f"/ui/log?{urlencode({'document': history.document})}",
        marks=await context.run(_marks, context, collection, name),
        readers=await context.run(_readers, context, shown),
        reviewer=context.person.has(Role.REVIEWER),  # comments may quote withheld drafts
    )


def documents_of(context: PageContext) -> Documents:
    """The documents that the person may know of."""
    return Documents(context.gateway.library.store, context.person.reader)


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
    people = [*context.site.principals.all(), *context.site.accounts.all()]
    return sorted({holder.name for holder in people if Reader.of(holder).may_read(version)})


def link_of(version: VersionInfo) -> str:
    """The page of a document."""
    other = "" if version.collection == "default" else f"?collection={quote(version.collection)}"
    return f"/ui/documents/{quote(version.document)}{other}"


def _pair(history: History, old: str, new: str) -> tuple[str, str]:
    """The versions to compare: those asked for, else the newest two."""
    if history.find(old) and history.find(new):
        return old, new
    keys = [version.key for version in history.versions]
    return (keys[1], keys[0]) if len(keys) > 1 else ("", "")


def _cut(hunks: Sequence[Hunk]) -> tuple[list[Hunk], bool]:
    """As much of a difference as a page should hold."""
    shown: list[Hunk] = []
    left = _MOST_LINES
    for hunk in hunks:
        if left <= 0:
            return shown, True
        shown.append(hunk[:left])
        if len(hunk) > left:
            return shown, True
        left -= len(hunk)
    return shown, False


def _named(version: VersionInfo, day: date) -> str:
    return f"{version.version} ({version.status(day)}, read {version.seen})"


def _months(expiring: Sequence[VersionInfo], day: date) -> list[Month]:
    """Twelve months from this one on; what has expired comes first."""
    past = tuple(version for version in expiring if version.expires and version.expires < day)
    coming = [version for version in expiring if version.expires and version.expires >= day]
    by_month = {
        key: tuple(versions)
        for key, versions in groupby(coming, lambda version: _month(version.expires or day))
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
