"""The review queue: which decisions wait for a person, most urgent first, and the labels to
download."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.log.moment import read
from suffice.record.sampling import Why
from suffice.review.actions import LONGEST_NAME, Priority
from suffice.review.case import Case, State
from suffice.review.queue import Counts, Order, Wanted
from suffice.review.review import Review
from suffice.server.ui.page import PageContext, PageError, page
from suffice.server.ui.records import record_export

E = TypeVar("E", bound=Enum)
PATH = "/ui/queue"
PAGE = 25
_LAST_PAGE = 10_000
WHY = {
    Why.REVIEW: "left to a person",
    Why.FABRICATED: "invented source",
    Why.CONFLICT: "sources disagree",
    Why.BORDERLINE: "low margin",
    Why.SAMPLED: "random sample",
    Why.WEEKLY: "weekly sample",
    Why.FEEDBACK: "negative feedback",
}
"""Why a decision is queued, in the words of the pages."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list shows; `view` is a state, "waiting", "mine" or "all"."""

    view: str = "waiting"
    why: str = ""
    priority: str = ""
    assignee: str = ""
    order: str = Order.PRIORITY.value
    page: int = 1

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Filters:
        number = values.get("page", "1")
        at = int(number) if number.isascii() and number.isdecimal() and len(number) < 6 else 1
        return cls(
            values.get("view") or "waiting",
            values.get("why", ""),
            values.get("priority", ""),
            values.get("assignee", "")[:LONGEST_NAME],
            values.get("order") or Order.PRIORITY.value,
            min(max(at, 1), _LAST_PAGE),
        )

    def wanted(self, me: str) -> Wanted:
        return Wanted(
            all=self.view == "all",
            why=_member(Why, self.why),
            state=_member(State, self.view),
            priority=next((one for one in Priority if one.name.lower() == self.priority), None),
            assignee=me if self.view == "mine" else self.assignee,
            order=_member(Order, self.order) or Order.PRIORITY,
            skip=(self.page - 1) * PAGE,
        )

    def link(self, **changed: Any) -> str:
        """The list with other filters; a new filter starts at the first page."""
        usual = Filters()
        now = {name: getattr(self, name) for name in self.__slots__} | {"page": 1} | changed
        kept = {name: one for name, one in now.items() if one != getattr(usual, name)}
        return f"{PATH}?{urlencode(kept)}" if kept else PATH


@dataclass(frozen=True, slots=True)
class Line:
    """A case in the list."""

    case: Case
    question: str
    outcome: str
    why: tuple[str, ...]
    age: str


async def show(context: PageContext) -> Response:
    """The list of cases."""
    filters = Filters.of(context.request.query_params)
    review, person = review_of(context), context.person
    wanted = filters.wanted(person.name)

    def found() -> tuple[list[Case], Counts]:
        cases = review.queue(wanted, PAGE + 1, person.reader)
        return cases, review.counts(person.reader)

    cases, counts = await context.run(found)
    return context.render(
        "queue.html",
        filters=filters,
        lines=[line_of(case) for case in cases[:PAGE]],
        more=len(cases) > PAGE,
        counts=counts,
        views=_views(counts, person.name),
        whys=[(why.value, f"{WHY[why]} ({counts.why[why]})") for why in Why],
        priorities=[(one.name.lower(), one.name.lower()) for one in reversed(Priority)],
        assignees=[(name, f"{name} ({n})") for name, n in sorted(counts.assignees.items())],
        first=PAGE * (filters.page - 1) + 1,
    )


async def labels(context: PageContext) -> Response:
    """The judged answers as JSON lines for `suffice calibrate`."""
    review, reader = review_of(context), context.person.reader

    def written() -> bytes:
        rows = review.labels(reader=reader)
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()

    body = await context.run(written)
    await record_export(context, "labels", rows=body.count(b"\n"))
    headers = {"Content-Disposition": 'attachment; filename="labels.jsonl"'}
    return Response(body, 200, headers, "application/jsonl; charset=utf-8")


def review_of(context: PageContext) -> Review:
    log = context.gateway.log
    if log is None:
        raise PageError(
            404,
            "No records",
            "This gateway keeps no records, so there is nothing to review.",
            "Set record.enabled to auto in the settings.",
        )
    return Review(log)


def line_of(case: Case) -> Line:
    outcome = case.verdict.action.value if case.verdict else ""
    outcome = outcome or (case.seen.gate.level.value if case.seen else "")
    question = str(case.entry.fields().get("question", ""))
    return Line(case, question, outcome, reasons(case), age(case.queued_at or case.entry.time))


def reasons(case: Case) -> tuple[str, ...]:
    words: dict[str, str] = {why.value: text for why, text in WHY.items()}
    return tuple(words.get(one, one) for one in case.why)


def age(time: str, now: datetime | None = None) -> str:
    """How long ago a time is: "3 h"."""
    seconds = max(0, int(((now or datetime.now(UTC)) - read(time)).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "now"


def _views(counts: Counts, me: str) -> list[tuple[str, str, int]]:
    states = counts.states
    return [
        ("waiting", "Waiting", counts.waiting),
        ("mine", "Mine", counts.assignees[me]),
        ("open", "Unassigned", states[State.OPEN]),
        ("assigned", "Assigned", states[State.ASSIGNED]),
        ("decided", "Decided", states[State.DECIDED]),
        ("dismissed", "Dismissed", states[State.DISMISSED]),
    ]


def _member(kind: type[E], value: str) -> E | None:
    return next((one for one in kind if one.value == value), None)


ROUTES = [
    Route("/queue", page(show, Role.REVIEWER)),
    Route("/queue/labels.jsonl", page(labels, Role.REVIEWER), methods=["POST"]),
]
