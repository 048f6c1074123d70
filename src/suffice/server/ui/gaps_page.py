"""`/ui/health/gaps`: topics of withheld questions that the documents do not cover."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.errors import StoreMissing, SufficeError
from suffice.evidence.index import Filter
from suffice.learn.monitor.gaps import Answered, Topic, backlog
from suffice.log.entry import Choice
from suffice.log.moment import now, timestamp
from suffice.pipeline import Pipeline
from suffice.record.log import Log
from suffice.review import gaps
from suffice.review.documents import Documents
from suffice.server.errors import ApiError
from suffice.server.request import admit
from suffice.server.telemetry.stats import NOW, RequestStats
from suffice.server.ui.page import PageContext, PageError, as_page_error, page
from suffice.server.ui.records import limits_of, log_of
from suffice.types import Level, Source
from suffice.verdict.decide import nearest

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
            return gaps.last_change(connection)

    position = await context.run(last), timestamp(now())[:13]

    async def compute() -> list[Topic]:
        return await context.run(_topics, context, _open)

    topics = await context.site.topics.get(position, context.person.reader, compute)
    return _rendered(context, topics)


async def check(context: PageContext) -> Response:
    """Ask the gate again, without a record, and leave out what the documents answer by now. It is
    admitted within the limits of an API call, and one check runs at a time."""
    gateway, stats = context.gateway, RequestStats("/ui/health/gaps", time.perf_counter())
    NOW.set(stats)
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
        found = gaps.gaps(
            connection, Choice(since=since), _WORDINGS, context.person.reader, _RECORDS
        )
    return backlog(found, context.gateway.parts.embedder, answered, now())


def _asking(context: PageContext) -> Answered:
    """Whether the documents that the person may read answer a question now."""
    gateway, reader = context.gateway, context.person.reader
    library, settings = gateway.library, gateway.state.settings
    pipelines: list[Pipeline] = []
    for name in Documents(library.store, reader).collections():
        try:
            search = library.search(Filter(collection=name, labels=reader.labels))
        except StoreMissing:  # nothing is indexed
            continue
        own = settings.collection(name)
        pipelines.append(Pipeline.of(search, gateway.parts.embedder, own, gateway.parts.verifier))

    def answered(question: str) -> tuple[bool, tuple[Source, ...]]:
        near: tuple[Source, ...] = ()
        for pipeline in pipelines:
            evidence, decision = pipeline.retrieve_and_gate(question)
            near = (*near, *nearest(evidence))
            if decision.level is Level.SUFFICIENT:
                return True, near
        return False, near

    return answered


ROUTES = [
    Route("/health/gaps", page(gaps_page, Role.VIEWER)),
    Route("/health/gaps", page(check, Role.REVIEWER), methods=["POST"]),
]
