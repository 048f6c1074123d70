"""`POST /v1/gate`, `/v1/check` and `/v1/feedback`: gate a question, check an answer, rate an
answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from suffice import serialize as as_json
from suffice.access.keys import Principal
from suffice.answers import Checker
from suffice.errors import ReviewError, StoreError
from suffice.gate.conflict.detect import Conflicts
from suffice.pipeline import Pipeline
from suffice.record.log import Log
from suffice.review.case import Rating
from suffice.review.review import Review
from suffice.server.errors import ApiError, bad, too_large, too_slow
from suffice.server.offload import offload
from suffice.server.openai.completion import gate_of, review_url
from suffice.server.openai.disclosure import claims_of
from suffice.server.openai.request import read_given
from suffice.server.request import RequestContext, as_response
from suffice.server.reviews import reader_for
from suffice.server.route import Route, Way
from suffice.server.sending import while_there
from suffice.text.asked import checked_question
from suffice.types import Retrieved, Verdict
from suffice.verdict.route import read_routes


async def gate(context: RequestContext) -> Response:
    """Decide whether the evidence is sufficient: `{"question", "evidence"?, "from"?}`"""
    body = await context.object()
    route = _route(context, body)
    question, given = checked_question(_text(body, "question")), await _given(context, body)
    indexed = _indexed(body, route, given is not None)
    pipeline_of = route.pipeline

    def found() -> tuple[Any, Any]:
        pipeline: Pipeline = pipeline_of(context.caller, Way(given or (), indexed))
        return pipeline.retrieve_and_gate(question)

    seconds = route.settings.gate_seconds
    call = context.gateway.work.run_within(seconds, found)
    try:
        evidence, decision = await while_there(context.request, call)
    except TimeoutError:
        raise too_slow("gate_seconds", seconds) from None
    context.stats.gates.append(decision)
    decided = {"question": question, **as_json.gate(decision)}
    passages = as_json.evidence(evidence)["passages"]
    notes = list(evidence.notes)
    sufficiency = {
        "score": round(decision.score, 4),
        "level": decision.level.value,
        "factors": list(decision.factors),
    }
    more = {"open": decision.open, "passages": passages, "notes": notes, "sufficiency": sufficiency}
    return as_response({**decided, **more, "record": decision.record or None})


async def check(context: RequestContext) -> Response:
    """Check an answer against its evidence: `{"answer", "evidence", "question"?, "uncited"?}`"""
    body = await context.object()
    route = _route(context, body)
    answer, given = _text(body, "answer", empty=True), await _given(context, body)
    most = context.gateway.state.settings.server.limits.draft_characters
    if len(answer) > most:
        limit = f"{most:,} characters (server.limits.draft_characters)"
        raise too_large(f"'answer' exceeds the limit of {limit}.", "answer")
    question = _text(body, "question") if body.get("question") is not None else None
    uncited = body.get("uncited")
    if not isinstance(uncited, bool | None):
        raise bad("'uncited' must be true or false.", "uncited")
    if given is None:
        raise bad("'evidence' is missing: send the passages the answer is based on.", "evidence")
    checker = checker_of(route, context, uncited=bool(uncited))
    seconds = route.settings.check_seconds
    call = context.gateway.work.run_within(seconds, checker.check, answer, list(given), question)
    try:
        verdict = await while_there(context.request, call)
    except TimeoutError:
        raise too_slow("check_seconds", seconds) from None
    context.stats.verdicts.append(verdict)
    return as_response(await asyncio.to_thread(checked_json, verdict))


def checker_of(route: Route, context: RequestContext, *, uncited: bool) -> Checker:
    """The checker for an answer that was written elsewhere, with the settings of a route."""
    own, verifier = route.own, route.parts.verifier
    return Checker(
        tuple(route.checks(context.caller.labels, marks=not uncited)),
        read_routes(own.verdict.routes),
        uncited,
        Conflicts(verifier, own.gate.conflict),
        record=route.recording_checks(context.caller, uncited=uncited),
    )


def checked_json(verdict: Verdict) -> dict[str, Any]:
    """The response of `/v1/check`."""
    plain = {key: value for key, value in as_json.checked(verdict).items() if key != "passages"}
    ours = {"gate": gate_of(verdict.gate), "claims": claims_of(verdict)}
    return {**plain, **ours, "review_url": review_url(verdict)}


async def feedback(context: RequestContext) -> Response:
    """Rate an answer: `{"record", "rating": "up" | "down", "comment"?}`"""
    body = await context.object()
    record, rating = _text(body, "record"), body.get("rating")
    comment = _text(body, "comment", empty=True) if body.get("comment") is not None else ""
    if rating not in tuple(one.value for one in Rating):
        raise bad("'rating' must be 'up' or 'down'.", "rating")
    log = context.gateway.log
    if log is None:
        raise ApiError(404, "This gateway does not record answers.", "record_not_found", "record")
    call = context.gateway.work.record(_rated, log, context.caller, record, Rating(rating), comment)
    try:
        made = await call
    except ReviewError as problem:
        raise bad(str(problem), "record") from None
    except StoreError as problem:
        if type(problem) is not StoreError:
            raise
        message = f"You have no record '{record}'."
        raise ApiError(404, message, "record_not_found", "record") from problem
    return as_response({"id": made, "object": "feedback", "record": record})


def _rated(log: Log, caller: Principal, record: str, rating: Rating, comment: str) -> str:
    """Store the feedback. Records that are not the caller's, or that it may not read, are reported
    as missing."""
    reader = reader_for(log, caller, record)
    return Review(log).feedback(record, rating, comment, caller.user or caller.name, reader)


def _route(context: RequestContext, body: Mapping[str, Any]) -> Route:
    named = context.request.path_params.get("route", "") or body.get("route") or ""
    if not isinstance(named, str):
        raise bad("'route' must be a string.", "route")
    route = context.gateway.route(named, None, context.caller)
    context.stats.route = route.name
    return route


def _text(body: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not (empty or value.strip()):
        raise bad(f"'{name}' must be {'a string' if empty else 'a non-empty string'}.", name)
    return value


async def _given(context: RequestContext, body: Mapping[str, Any]) -> tuple[Retrieved, ...] | None:
    named = body.get("evidence")
    if named is None:
        return None
    if not isinstance(named, list):
        raise bad("'evidence' must be a list of passages.", "evidence")
    limits = context.gateway.state.settings.server.limits
    read = await offload(context.stats.received, read_given, named, limits)
    return tuple(replace(one, relevance=None) for one in read)


def _indexed(body: Mapping[str, Any], route: Route, given: bool) -> bool:
    """Whether to search the index: the request carries no passages, or asks for a search."""
    wanted = body.get("from")
    if wanted not in (None, "index", "request", "both"):
        raise bad("'from' must be one of index, request, both.", "from")
    if route.settings.evidence == "index" and given:
        raise bad("This route takes its evidence from the index.", "evidence")
    if wanted is None:
        return not given and route.settings.evidence != "request"
    return wanted != "request" and route.settings.evidence != "request"
