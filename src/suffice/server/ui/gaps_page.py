"""`/ui/health/gaps`: topics of withheld questions that the documents do not cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from starlette.responses import Response
from starlette.routing import Route

from suffice.errors import StoreMissing
from suffice.evidence.index import Filter
from suffice.learn.monitor.gaps import Answered, Topic, backlog
from suffice.log.entry import Choice
from suffice.log.moment import now, timestamp
from suffice.pipeline import Pipeline
from suffice.record.log import Log
from suffice.review import gaps
from suffice.review.documents import Documents
from suffice.server.ui.page import PageContext, page
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
    topics = await context.run(_topics, context, _open)
    return _rendered(context, topics)


async def check(context: PageContext) -> Response:
    """Ask the gate again, without a record, and leave out what the documents answer by now."""
    seen: dict[str, bool] = {}

    def work() -> list[Topic]:
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
    Route("/health/gaps", page(gaps_page)),
    Route("/health/gaps", page(check), methods=["POST"]),
]
