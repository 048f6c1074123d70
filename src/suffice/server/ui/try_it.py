"""Try it: ask a question, or check a draft against evidence; with everything behind the verdict.
And the steps of the demo's guide, most of which lead here.

The work is that of an API call: it is admitted within the same limits, runs in the gateway's
inference threads, and is recorded.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from suffice import schema
from suffice.access.keys import Role
from suffice.server.endpoints import checked_json
from suffice.server.openai.answering import Answering
from suffice.server.openai.completion import Disclosure, completion, disclosure
from suffice.server.openai.request import read_given, read_request
from suffice.server.request import RequestContext
from suffice.server.route import AnswerOptions
from suffice.server.route import Route as GatewayRoute
from suffice.server.sending import cancel_on_disconnect, offload
from suffice.server.ui import security
from suffice.server.ui.guide import COOKIE, EXAMPLES, STEPS, Guide, guide_of
from suffice.server.ui.page import PageContext, as_api_call, page
from suffice.server.ui.security import PageError
from suffice.server.ui.verdict_view import VerdictView, view_of
from suffice.settings import LimitSettings
from suffice.text.question import checked_question
from suffice.types import Retrieved

TEMPLATE = "try.html"
_BETWEEN = re.compile(r"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)
_LONGEST_LINK = 2_000


@dataclass(frozen=True, slots=True)
class TryForm:
    """What the form holds; `way` is `ask` or `draft`."""

    way: str = "ask"
    question: str = ""
    draft: str = ""
    evidence: str = ""
    route: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> TryForm:
        way = "draft" if values.get("way") == "draft" else "ask"
        names = ("question", "draft", "evidence", "route")
        return cls(way, *(values.get(name, "") for name in names))


@dataclass(frozen=True, slots=True)
class TryResult:
    """The result: the verdict as this person may see it, what the API answers, and the time."""

    view: VerdictView | None
    json: str
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    content: str = ""
    """The answer of a route that gives no verdict."""


async def show(context: PageContext) -> Response:
    """The form; a link may fill it in."""
    given = {name: value[:_LONGEST_LINK] for name, value in context.request.query_params.items()}
    return _page(context, TryForm.of(given))


async def run(context: PageContext) -> Response:
    """Do what the form asks, as an API call of this person."""
    form = TryForm.of(context.form)
    try:
        async with as_api_call(context, "/ui/try") as call:
            route = context.gateway.route(form.route, None, context.person.principal)
            call.stats.route = route.name
            work = _ask if form.way == "ask" else _check
            return _page(context, form, await work(context, call, route, form))
    except PageError as problem:
        return _page(context, form, problem=problem)


def _page(
    context: PageContext,
    form: TryForm,
    result: TryResult | None = None,
    problem: PageError | None = None,
) -> Response:
    gateway, principal = context.gateway, context.person.principal
    routes = [name for name, route in gateway.state.routes.items() if gateway.may(principal, route)]
    response = context.render(
        TEMPLATE,
        problem.status if problem else 200,
        form=form,
        result=result,
        problem=problem,
        routes=routes,
        examples=EXAMPLES if context.settings.server.site.guide else (),
    )
    response.headers.update(problem.headers if problem else {})
    return response


async def _ask(
    context: PageContext, call: RequestContext, route: GatewayRoute, form: TryForm
) -> TryResult:
    if not form.question.strip():
        raise PageError(400, "No question", "Write a question first.")
    if route.settings.evidence == "request":
        raise PageError(
            400,
            "No documents",
            f"The route '{route.name}' searches no documents.",
            "Choose another route, or check a draft with its evidence.",
        )
    limits = context.settings.server.limits
    body = {"messages": [{"role": "user", "content": form.question}]}
    request = await offload(len(form.question), read_request, body, route.settings, limits)
    began = time.perf_counter()
    answering = Answering.of(call, route, request)
    answer = await cancel_on_disconnect(context.request.receive, answering.whole())
    await call.settled()
    seconds = time.perf_counter() - began
    choice = answer.choices[0]
    api = completion(answer, request.model)
    verdict = choice.verdict
    view = await context.run(view_of, verdict, _may_see(context, route)) if verdict else None
    return TryResult(view, _pretty(api), seconds, call.stats.timings, choice.content or "")


async def _check(
    context: PageContext, call: RequestContext, route: GatewayRoute, form: TryForm
) -> TryResult:
    limits = context.settings.server.limits
    if not form.draft.strip():
        raise PageError(400, "No draft", "Paste the draft that is to be checked.")
    if len(form.draft) > limits.draft_characters:
        most = limits.draft_characters
        raise PageError(413, "Too long", f"A draft may have {most:,} characters.", "Cut it down.")
    began = time.perf_counter()
    checker = route.checker(call.caller, uncited="[" not in form.draft)
    question = checked_question(form.question) if form.question.strip() else None
    given = await _evidence(context, call, route, form)
    seconds = route.settings.check_seconds
    work = context.gateway.work.run_within(seconds, checker.check, form.draft, given, question)
    try:
        verdict = await cancel_on_disconnect(context.request.receive, work)
    except TimeoutError:
        raise PageError(
            504, "Timed out", f"The checks took longer than {seconds:g} s.", "Check less text."
        ) from None
    call.stats.verdicts.append(verdict)
    seconds = time.perf_counter() - began
    api = await asyncio.to_thread(checked_json, verdict)
    # The person brought the draft, so nothing of it is secret.
    view = await context.run(view_of, verdict, Disclosure.ALL)
    return TryResult(view, _pretty(api), seconds)


async def _evidence(
    context: PageContext, call: RequestContext, route: GatewayRoute, form: TryForm
) -> list[Retrieved]:
    """The passages that were pasted; else those that a search for the question finds."""
    limits = context.settings.server.limits
    pasted = await asyncio.to_thread(_pasted, form.evidence, limits)
    if pasted:
        return pasted
    if not form.question.strip() or route.settings.evidence == "request":
        raise PageError(
            400,
            "No evidence",
            "Paste the evidence, or write the question, so that the documents can be searched.",
        )
    question = checked_question(form.question)
    pipeline = route.pipeline(call.caller, AnswerOptions())
    search = context.gateway.work.run(pipeline.begin, question)
    turn = await cancel_on_disconnect(context.request.receive, search)
    return list(turn.gated.evidence)


def _pasted(text: str, limits: LimitSettings) -> list[Retrieved]:
    parts = [part.strip() for part in _BETWEEN.split(text)]
    return list(read_given([part for part in parts if part], limits))


def _may_see(context: PageContext, route: GatewayRoute) -> Disclosure:
    """Reviewers see whole drafts here, not excerpts."""
    shown = disclosure(context.person.principal, route.settings)
    return shown if shown is Disclosure.RELEASED else Disclosure.ALL


def _pretty(value: Any) -> str:
    return json.dumps(schema.tree(value), ensure_ascii=False, indent=2)


async def step(context: PageContext) -> Response:
    """Go to the page of a step and note that it was opened."""
    guide, n = guide_of(context.request), context.request.path_params["n"]
    if not 1 <= n <= len(STEPS):
        raise PageError(404, "Not found", "The guide has no such step.")
    done = replace(guide, done=guide.done | {n}, off=False)
    return _remembered(context, STEPS[n - 1].path, done)


async def switch(context: PageContext) -> Response:
    """Dismiss the panel, or bring it back from its first step."""
    off = context.form.get("show") != "1"
    return _remembered(context, context.form.get("next", ""), Guide(frozenset(), off))


def _remembered(context: PageContext, path: str, guide: Guide) -> Response:
    response = RedirectResponse(security.local_path(path), 303)
    secure = context.browser.secure
    security.set_cookie(response, COOKIE, guide.value, secure=secure, strict=True)
    return response


ROUTES = [
    Route("/try", page(show, Role.VIEWER)),
    Route("/try", page(run, Role.VIEWER), methods=["POST"]),
    Route("/guide/{n:int}", page(step, Role.VIEWER)),
    Route("/guide", page(switch, Role.VIEWER), methods=["POST"]),
]
