"""One case of the review queue: the question, the draft claim by claim, its evidence, and what a
reviewer can decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.errors import ReviewError, ReviewTaken, StoreError
from suffice.review.actions import Action as ReviewAction
from suffice.review.actions import (
    Assign,
    Judge,
    Judgement,
    Mark,
    MarkPassage,
    Prioritize,
    Priority,
    Remark,
)
from suffice.review.case import Act
from suffice.server.ui.case_view import case_view
from suffice.server.ui.open_gate import open_gate
from suffice.server.ui.page import Form, PageContext, PageError, page
from suffice.server.ui.queue import PATH, review_of


async def show(context: PageContext) -> Response:
    return await _page(context)


async def act(context: PageContext) -> Response:
    """Do what a form of the page says; if that is not possible, show the page and say why."""
    form = await context.form()
    name = context.request.path_params["record"]
    todo = _ACTIONS.get(form.get("do", ""))
    if todo is None:
        raise PageError(400, "Not possible", "The form is not complete.", "Reload the page.")
    try:
        with _missing_is_not_found():
            if form.get("choice") == Act.OPEN:
                place, notice = await _open(context, name, form)
            else:
                place, notice = await context.run(todo, context, name, form)
    except ReviewTaken as problem:
        return await _page(context, 409, problem)
    except (ReviewError, ValueError) as problem:
        told = problem if isinstance(problem, ReviewError) else _incomplete()
        return await _page(context, 400, told, form)
    context.gateway.webhooks.wake()
    return context.redirect(f"{PATH}/{name}{place}", notice)


@contextmanager
def _missing_is_not_found() -> Iterator[None]:
    """A case that the person may not read is reported as one that does not exist."""
    try:
        yield
    except StoreError as missing:
        if type(missing) is not StoreError:
            raise
        raise PageError(
            404,
            "No such case",
            "There is no such record, or it uses passages that you may not read.",
            "Choose a case from the queue.",
        ) from missing


def _incomplete() -> ReviewError:
    return ReviewError("The form is not complete.", remedy="Reload the page and try again.")


async def _page(
    context: PageContext,
    status: int = 200,
    problem: ReviewError | None = None,
    form: Form | None = None,
) -> Response:
    name = context.request.path_params["record"]
    with _missing_is_not_found():
        view = await context.run(case_view, review_of(context), name, context.person.reader)
    if form is not None and form.get("do") == "decide":  # keep what the person wrote
        answer = form.get("answer", view.answer)
        view = replace(view, reason=form.get("reason", ""), answer=answer)
    return context.render(
        "case.html",
        status,
        view=view,
        problem=problem,
        priorities=[(str(one.value), one.name.lower()) for one in reversed(Priority)],
    )


Done = tuple[str, str]
"""The place on the page to go to, and what to say there."""


def _decide(context: PageContext, name: str, form: Form) -> Done:
    """`release` and `withhold` are what a reviewer wants; which decision that is depends on the
    state of the case."""
    review, choice = review_of(context), form.get("choice", "")
    view = case_view(review, name, context.person.reader)
    text = form.get("answer", "").replace("\r\n", "\n").strip()
    released = view.case.verdict.released if view.case.verdict else ""
    if choice == "release":
        same = text == (released.strip() if view.out else view.drafted.strip())
        unchanged = Act.CONFIRM if view.out else Act.RELEASE
        chosen = unchanged if same and text else Act.CORRECT
    elif choice == "withhold":
        chosen = Act.WITHDRAW if view.out else Act.CONFIRM
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
    said = {
        Act.RELEASE: "The answer is released.",
        Act.CORRECT: "The answer is released in your words.",
        Act.WITHDRAW: "The answer is withdrawn.",
        Act.CONFIRM: "The decision is confirmed.",
        Act.DISMISS: "The case is dismissed.",
    }
    return "#decided", said[chosen]


async def _open(context: PageContext, name: str, form: Form) -> Done:
    review = review_of(context)
    view = await context.run(case_view, review, name, context.person.reader)
    await open_gate(context, review, view.case, form.get("reason", ""), _seen(form))
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
    text = form.get("text", "").replace("\r\n", "\n") if corrects else ""
    words = {Judgement.ACCEPT: "finding accepted", Judgement.OVERRULE: "finding overruled"}
    said = f"Claim {claim}: {words.get(judgement, 'corrected')}."
    follows = form.get("next", "")
    place = f"#claim-{int(follows)}" if follows.isdecimal() else "#decide"
    return Judge(claim, judgement, text, form.get("comment", "")), (place, said)


def _mark(form: Form, context: PageContext) -> tuple[ReviewAction, Done]:
    mark = Mark(form.get("mark", ""))
    said = "The mark is removed." if mark is Mark.NONE else f"The passage is marked {mark.value}."
    return MarkPassage(form.get("passage", ""), mark, form.get("comment", "")), ("", said)


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
    Route("/queue/{record}", page(show, Role.REVIEWER)),
    Route("/queue/{record}", page(act, Role.REVIEWER), methods=["POST"]),
]
