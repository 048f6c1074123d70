"""`/ui/health/gaps`: questions that the documents could not answer, by topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.engine import Caller
from suffice.errors import StoreMissing
from suffice.evidence.index import Filter
from suffice.lab.monitor.gaps import Answered, Topic, backlog
from suffice.log.chain import now, timestamp
from suffice.log.stored import RecordFilter
from suffice.pipeline import Pipeline
from suffice.review import gaps
from suffice.server.ui.documents_page import documents_of
from suffice.server.ui.page import PageContext, as_api_call, limits_of, log_of, page
from suffice.server.ui.security import busy
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
    answers: dict[str, bool] = {}

    def ask_again() -> list[Topic]:
        ask = _asking(context)

        def answered(question: str) -> tuple[bool, tuple[Source, ...]]:
            if len(answers) >= _ASKED:
                return False, ()
            closed, near = ask(question)
            answers[question] = closed
            return closed, near

        return _topics(context, answered)

    def work() -> list[Topic]:
        # Held by the thread itself: it may go on after the page has stopped waiting.
        if not context.site.checking_gaps.acquire(blocking=False):
            raise busy("Another check of the gaps is running.")
        try:
            return ask_again()
        finally:
            context.site.checking_gaps.release()

    async with as_api_call(context, "/ui/health/gaps"):
        # Models are at work, so it waits in the same queue as the requests of the gateway.
        topics = await context.gateway.work.run(work)
    return _rendered(context, topics, Checked(len(answers), sum(answers.values())))


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
    log = log_of(context)
    since = timestamp(now() - timedelta(days=_DAYS))
    with log.database.reading() as connection:
        wordings = gaps.gaps(
            connection, RecordFilter(since=since), _WORDINGS, context.person.reader, _RECORDS
        )
    return backlog(wordings, context.gateway.engine.embedder, answered, now())


def _asking(context: PageContext) -> Answered:
    """Whether the documents that the person may read answer a question now."""
    engine, labels = context.gateway.engine, context.person.reader.labels
    pipelines: list[Pipeline] = []
    for name in documents_of(context).collections():
        caller = Caller(Filter(collection=name, labels=labels))
        try:
            pipeline = engine.pipeline(caller, context.settings.collection(name))
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


ROUTES = [
    Route("/health/gaps", page(gaps_page, Role.VIEWER)),
    Route("/health/gaps", page(check, Role.REVIEWER), methods=["POST"]),
]
