"""`/ui/queue`: the review queue, and one case of it: the question, the draft claim by claim, its
evidence, and what a reviewer can decide."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.access.visibility import Reader
from suffice.engine import Caller
from suffice.errors import ReviewError, ReviewTaken, StoreError
from suffice.evidence.index import Filter
from suffice.gate.gate import GateResult
from suffice.log.chain import read_time
from suffice.log.decision import Decision
from suffice.log.log import Why
from suffice.log.trace import Trace
from suffice.review.actions import (
    LONGEST_NAME,
    Assign,
    Judge,
    Judgement,
    Mark,
    MarkPassage,
    Prioritize,
    Priority,
    Remark,
    ReviewAction,
)
from suffice.review.case import Act, Case, State
from suffice.review.queue import CaseFilter, Counts, Order
from suffice.review.review import Review
from suffice.server.openai.completion import Disclosure
from suffice.server.route import Route as GatewayRoute
from suffice.server.ui.page import (
    Form,
    PageContext,
    attachment,
    log_of,
    missing_as,
    page,
    record_export,
)
from suffice.server.ui.security import PageError
from suffice.server.ui.verdict_view import VerdictView, view_of
from suffice.types import Action, Verdict


async def open_gate(
    context: PageContext, review: Review, case: Case, reason: str, seen: int
) -> str:
    """The id of the record of the new verdict. It belongs to the caller of the question. Models
    are at work, so it waits in the same queue as the requests of the gateway."""
    route, entry, person = _route(context, case), case.entry, context.person
    labels = frozenset(
        label
        for passage in entry.fields().get("passages", ())
        for label in passage.get("access", ())
    )
    allowed = Filter(collection=route.settings.collection, labels=labels)
    caller = Caller(allowed, entry.caller, entry.tag)
    pipeline = route.assembly.pipeline(caller)
    filing = route.assembly.filing(caller)

    def write(decision: Decision, note: str) -> tuple[Verdict, Trace]:
        return pipeline.override(GateResult(decision.evidence, decision.gate), decision.trace, note)

    def opened() -> str:
        return review.open(
            entry.id,
            write,
            reason=reason,
            by=person.name,
            filing=filing,
            reader=person.reader,
            seen=seen,
        )[1]

    return await context.gateway.work.run(opened)


def _route(context: PageContext, case: Case) -> GatewayRoute:
    """A route for the collection that the passages of the case are from."""
    passages = case.entry.fields().get("passages", ())
    collection = next((item.get("collection", "default") for item in passages), "default")
    routes = context.gateway.state.routes.values()
    fitting = [item for item in routes if item.settings.collection == collection]
    if not fitting:
        raise ReviewError(
            f"No route of this gateway searches the collection '{collection}'.",
            remedy=f"Run: suffice review decide {case.entry.id} open --reason REASON",
        )
    return fitting[0]


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

    def wanted(self, me: str) -> CaseFilter:
        return CaseFilter(
            all=self.view == "all",
            why=_member(Why, self.why),
            state=_member(State, self.view),
            priority=next(
                (priority for priority in Priority if priority.name.lower() == self.priority), None
            ),
            assignee=me if self.view == "mine" else self.assignee,
            order=_member(Order, self.order) or Order.PRIORITY,
            skip=(self.page - 1) * PAGE,
        )

    def link(self, **changed: Any) -> str:
        """The list with other filters; a new filter starts at the first page."""
        usual = Filters()
        now = {name: getattr(self, name) for name in self.__slots__} | {"page": 1} | changed
        values = {name: value for name, value in now.items() if value != getattr(usual, name)}
        return f"{PATH}?{urlencode(values)}" if values else PATH


async def show_queue(context: PageContext) -> Response:
    """The list of cases."""
    filters = Filters.of(context.request.query_params)
    review, person = review_of(context), context.person
    wanted = filters.wanted(person.name)

    cases = await context.run(review.queue, wanted, PAGE + 1, person.reader)
    counts = await context.run(review.counts, person.reader)
    return context.render(
        "queue.html",
        filters=filters,
        cases=cases[:PAGE],
        reasons=reasons,
        age=age,
        more=len(cases) > PAGE,
        counts=counts,
        views=_views(counts, person.name),
        whys=[(why.value, f"{WHY[why]} ({counts.why[why]})") for why in Why],
        priorities=[
            (priority.name.lower(), priority.name.lower()) for priority in reversed(Priority)
        ],
        assignees=[(name, f"{name} ({n})") for name, n in sorted(counts.assignees.items())],
        first=PAGE * (filters.page - 1) + 1,
    )


async def download_labels(context: PageContext) -> Response:
    """The judged answers as JSON lines for `suffice calibrate`."""
    review, reader = review_of(context), context.person.reader

    def written() -> bytes:
        rows = review.labels(reader=reader)
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()

    body = await context.site.run_long(written)
    await record_export(context, "labels", rows=body.count(b"\n"))
    return attachment(body, "labels.jsonl", "application/jsonl; charset=utf-8")


def review_of(context: PageContext) -> Review:
    return Review(log_of(context))


def reasons(case: Case) -> tuple[str, ...]:
    words: dict[str, str] = {why.value: text for why, text in WHY.items()}
    return tuple(words.get(why, why) for why in case.why)


def age(time: str, now: datetime | None = None) -> str:
    """How long ago a time is: "3 h"."""
    seconds = max(0, int(((now or datetime.now(UTC)) - read_time(time)).total_seconds()))
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
    return next((member for member in kind if member.value == value), None)


_NEXT = CaseFilter(order=Order.PRIORITY)


def complete_case(review: Review, name: str, reader: Reader) -> Case:
    """The case; raise `StoreError` if the reader may not read all of it."""
    case = review.case(name, reader)
    if case.recorded is None:
        raise StoreError(case.lacking)
    return case


def drafted_verdict(recorded: Decision) -> Verdict:
    """The verdict as it was recorded; for a gate decision alone, one that waits for a person."""
    return recorded.verdict or Verdict(
        recorded.evidence.question,
        Action.REVIEW,
        " ".join(recorded.gate.reasons),
        recorded.gate,
        recorded.evidence,
    )


def summary(case: Case) -> str:
    """A reason to begin with: what the reviewer said about the claims."""
    words = {"accept": "accepted", "overrule": "overruled", "correct": "corrected"}
    by: dict[str, list[str]] = {}
    for n, judged in sorted(case.judgements.items()):
        by.setdefault(words[judged.judgement.value], []).append(str(n))
    return "; ".join(
        f"claim {', '.join(numbers)} {word}" for word, numbers in by.items()
    ).capitalize()


async def show(context: PageContext) -> Response:
    return await _page(context)


async def act(context: PageContext) -> Response:
    """Do what a form of the page says; if that is not possible, show the page and say why."""
    form = context.form
    name = context.request.path_params["record"]
    todo = _ACTIONS.get(form.get("do", ""))
    if todo is None:
        raise PageError(400, "Not possible", "The form is not complete.", "Reload the page.")
    try:
        with _known_case():
            if form.get("choice") == Act.OPEN:
                anchor, notice = await _open(context, name, form)
            else:
                anchor, notice = await context.run(todo, context, name, form)
    except ReviewTaken as problem:
        return await _page(context, 409, problem)
    except (ReviewError, ValueError) as problem:
        return await _page(
            context, 400, problem if isinstance(problem, ReviewError) else _incomplete()
        )
    context.gateway.webhooks.wake()
    return context.redirect(f"{PATH}/{name}{anchor}", notice)


def _known_case() -> AbstractContextManager[None]:
    """A case that the person may not read is reported as one that does not exist."""
    return missing_as(
        "No such case",
        "There is no such record, or it uses passages that you may not read.",
        "Choose a case from the queue.",
    )


def _incomplete() -> ReviewError:
    return ReviewError("The form is not complete.", remedy="Reload the page and try again.")


async def _page(
    context: PageContext, status: int = 200, problem: ReviewError | None = None
) -> Response:
    name, reader = context.request.path_params["record"], context.person.reader
    review = review_of(context)

    def read() -> tuple[Case, VerdictView, str]:
        case = complete_case(review, name, reader)
        assert case.recorded is not None
        draft = view_of(drafted_verdict(case.recorded), Disclosure.ALL)
        return case, draft, review.next(case.entry.id, _NEXT, reader)

    with _known_case():
        case, draft, following = await context.run(read)
    verdict, reason, answer = case.verdict, summary(case), case.proposed
    if status == 400 and context.form.get("do") == "decide":  # keep what the person wrote
        reason, answer = context.form.get("reason", ""), context.form.get("answer", answer)
    return context.render(
        "case.html",
        status,
        case=case,
        draft=draft,
        why=reasons(case),
        next=following,
        reason=reason,
        answer=answer,
        # Whether a release would give other words than before.
        changed=answer != (verdict.released if verdict and case.released else case.drafted),
        # Whether the gate was closed, so that nothing was drafted.
        shut=not draft.verdict.gate.open and not case.drafted,
        marks={item.passage: item for item in case.marks if item.mark is not Mark.NONE},
        problem=problem,
        priorities=[(str(item.value), item.name.lower()) for item in reversed(Priority)],
    )


Done = tuple[str, str]
"""Where on the page to go, and the notice to show there."""


def _decide(context: PageContext, name: str, form: Form) -> Done:
    """`release` and `withhold` are what a reviewer wants; which decision that is depends on the
    state of the case."""
    review, choice = review_of(context), form.get("choice", "")
    case = complete_case(review, name, context.person.reader)
    text = form.get("answer", "").strip()
    if choice == "release":
        before = case.verdict.released if case.verdict and case.released else case.drafted
        unchanged = Act.CONFIRM if case.released else Act.RELEASE
        chosen = unchanged if text and text == before.strip() else Act.CORRECT
    elif choice == "withhold":
        chosen = Act.WITHDRAW if case.released else Act.CONFIRM
    else:
        chosen = Act(choice)
    review.decide(
        name,
        chosen,
        reason=form.get("reason", ""),
        by=context.person.name,
        text=text,
        reader=context.person.reader,
        seen=_seen(form),
    )
    notices = {
        Act.RELEASE: "The answer is released.",
        Act.CORRECT: "The answer is released in your words.",
        Act.WITHDRAW: "The answer is withdrawn.",
        Act.CONFIRM: "The decision is confirmed.",
        Act.DISMISS: "The case is dismissed.",
    }
    return "#decided", notices[chosen]


async def _open(context: PageContext, name: str, form: Form) -> Done:
    review = review_of(context)
    case = await context.run(complete_case, review, name, context.person.reader)
    await open_gate(context, review, case, form.get("reason", ""), _seen(form))
    return "#decided", "The gate is opened: an answer was written and checked."


def _does(action: Callable[[Form, PageContext], tuple[ReviewAction, Done]]) -> ActionOf:
    """The handler of a form that records an action."""

    def done(context: PageContext, name: str, form: Form) -> Done:
        what, then = action(form, context)
        review_of(context).act(
            name, what, by=context.person.name, reader=context.person.reader, seen=_seen(form)
        )
        return then

    return done


ActionOf = Callable[[PageContext, str, Form], Done]


def _judge(form: Form, context: PageContext) -> tuple[ReviewAction, Done]:
    claim, judgement = int(form.get("claim", "")), Judgement(form.get("judgement", ""))
    corrects = judgement is Judgement.CORRECT
    text = form.get("text", "") if corrects else ""
    words = {Judgement.ACCEPT: "finding accepted", Judgement.OVERRULE: "finding overruled"}
    notice = f"Claim {claim}: {words.get(judgement, 'corrected')}."
    follows = form.get("next", "")
    anchor = f"#claim-{int(follows)}" if follows.isdecimal() else "#decide"
    return Judge(claim, judgement, text, form.get("comment", "")), (anchor, notice)


def _mark(form: Form, context: PageContext) -> tuple[ReviewAction, Done]:
    mark = Mark(form.get("mark", ""))
    notice = "The mark is removed." if mark is Mark.NONE else f"The passage is marked {mark.value}."
    return MarkPassage(form.get("passage", ""), mark, form.get("comment", "")), ("", notice)


def _assign(form: Form, context: PageContext) -> tuple[ReviewAction, Done]:
    name = context.person.name if form.get("take") else form.get("assignee", "").strip()
    return Assign(name), ("", f"Assigned to {name}." if name else "The assignment is removed.")


def _prioritize(form: Form, context: PageContext) -> tuple[ReviewAction, Done]:
    priority = Priority(int(form.get("priority", "")))
    return Prioritize(priority), ("", f"The priority is {priority.name.lower()}.")


def _comment(form: Form, context: PageContext) -> tuple[ReviewAction, Done]:
    return Remark(form.get("comment", "")), ("#history", "The comment is recorded.")


def _seen(form: Form) -> int:
    """The last record that the page showed."""
    return int(form.get("seen", ""))


_ACTIONS: dict[str, ActionOf] = {
    "decide": _decide,
    "judge": _does(_judge),
    "mark": _does(_mark),
    "assign": _does(_assign),
    "prioritize": _does(_prioritize),
    "comment": _does(_comment),
}
ROUTES = [
    Route("/queue", page(show_queue, Role.REVIEWER)),
    Route("/queue/labels.jsonl", page(download_labels, Role.REVIEWER), methods=["POST"]),
    Route("/queue/{record}", page(show, Role.REVIEWER)),
    Route("/queue/{record}", page(act, Role.REVIEWER), methods=["POST"]),
]
