"""`POST /v1/gate`, `/v1/check` and `/v1/feedback`: gate a question, check an answer, rate an
answer.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from suffice import schema
from suffice.access.keys import ALL, Principal, Role
from suffice.access.visibility import Reader
from suffice.errors import ReviewError, StoreError
from suffice.lab.monitor import report
from suffice.lab.monitor.monitor import Monitor
from suffice.log.log import Log
from suffice.log.suspension import Guarantee
from suffice.review.case import Case, Rating
from suffice.review.review import Review
from suffice.server import api
from suffice.server.errors import ApiError, bad, too_large, too_slow
from suffice.server.gateway import Gateway
from suffice.server.openai.completion import claims_of, review_url
from suffice.server.openai.request import read_given
from suffice.server.request import RequestContext, as_response
from suffice.server.route import AnswerOptions, Route, settings_of_route
from suffice.server.sending import cancel_on_disconnect, offload
from suffice.settings import Settings
from suffice.text.question import checked_question
from suffice.types import Evidence, GateDecision, Retrieved, Verdict

_STATES = {"none": 0, "active": 1, "suspended": 2}


async def guarantee(context: RequestContext) -> Response:
    """Whether the guarantee of the thresholds holds, since when and why; under the path of a route,
    that of its own certificate if it has one."""
    gateway = context.gateway
    monitor, path = gateway.monitor, gateway.state.settings.verdict.thresholds_file
    if named := context.request.path_params.get("route", ""):
        route = gateway.route(named, None, context.caller)
        path = settings_of_route(route.settings, gateway.state.settings).verdict.thresholds_file
    certificate = monitor.certificates.get(path) if monitor else None
    state = gateway.guarantees.get(path, Guarantee())
    return as_response(report.guarantee(state, certificate))


async def monitor(context: RequestContext) -> Response:
    """The metrics and their alarms. They cover all routes, so the key must too."""
    if ALL not in context.caller.routes:
        raise ApiError(403, "The monitor needs a key that may call all routes.", "no_right")
    running = context.gateway.monitor
    if running is None:
        raise ApiError(404, "The monitor is off (monitor.enabled).", "not_found")
    return as_response(await asyncio.to_thread(report.report_of, running))


class MonitorCollector(Collector):
    """Exports the monitor's metrics from the store, so every worker reports the same values."""

    def __init__(self, monitor: Callable[[], Monitor | None]) -> None:
        self._monitor = monitor

    def collect(self) -> Iterator[Metric]:
        monitor = self._monitor()
        if monitor is None:
            return
        try:
            state = report.report_of(monitor)
        except StoreError:  # still report the other metrics while the store is down
            return
        alarm = GaugeMetricFamily("suffice_alarm", "1 while an alarm is raised.", labels=["metric"])
        for name, metric in state["metrics"].items():
            alarm.add_metric([name], float(metric["raised"]))
            if metric["value"] is not None:
                days = monitor.settings.monitor.window_days
                about = f"Mean over {days} days. Alarm: {metric['alarm']}."
                yield GaugeMetricFamily(f"suffice_{name}", about, metric["value"])
        yield alarm
        status = state["guarantee"]["status"]
        about = "The guarantee of the thresholds: 0 none, 1 active, 2 suspended."
        yield GaugeMetricFamily("suffice_guarantee", about, _STATES[status])
        yield _by_route(monitor.settings, state)
        if state["exchangeability"] is not None:
            evidence = state["exchangeability"]["evidence"]
            about = "Evidence that live answers differ from those of the calibration."
            yield GaugeMetricFamily("suffice_drift_evidence", about, evidence)
        deep = state["deep_checks"]
        about = "Answers that were checked again by the strongest verifier."
        yield GaugeMetricFamily("suffice_deep_checks", about, deep["count"])
        about = "Deep checks that would have decided otherwise."
        yield GaugeMetricFamily("suffice_deep_checks_changed", about, deep["changed"])


def _by_route(settings: Settings, state: Mapping[str, Any]) -> Metric:
    """The guarantee of each route: a route may have a certificate of its own."""
    status = {
        certificate["file"]: _STATES[certificate["status"]] for certificate in state["certificates"]
    }
    about = "The guarantee of the thresholds of a route: 0 none, 1 active, 2 suspended."
    metric = GaugeMetricFamily("suffice_route_guarantee", about, labels=["route"])
    for name, route in settings.server.routes.items():
        path = settings_of_route(route, settings).verdict.thresholds_file
        metric.add_metric([name], status.get(path, _STATES["none"]))
    return metric


NOT_QUEUED = "not_queued"


async def review(context: RequestContext) -> Response:
    """The state of the review, and the answer once a person released it."""
    name = context.request.path_params["record"]
    log = context.gateway.log
    if log is None:
        raise ApiError(404, "This gateway keeps no records.", "record_not_found", "record")
    try:
        case = await context.gateway.work.record(_case, log, context.caller, name)
    except StoreError as problem:
        if type(problem) is not StoreError:
            raise
        message = f"You have no record '{name}'."
        raise ApiError(404, message, "record_not_found", "record") from problem
    return as_response(_shown(case))


def _case(log: Log, caller: Principal, name: str) -> Case:
    """The case of the caller's own record, or of any that a reviewer may read. Others are reported
    as missing, and so is one with passages that the caller may no longer read."""
    return Review(log).case(name, reader_for(log, caller, name))


def reader_for(log: Log, caller: Principal, name: str) -> Reader:
    """The reader as which a caller sees a record: its own, or any as a reviewer. Raise if the
    record is neither."""
    entry = log.entry(name)
    mine = entry.caller == caller.name and caller.user in ("", entry.tag)
    if not mine and not caller.has(Role.REVIEWER):
        raise StoreError(f"You have no record '{name}' in the log.")
    # The collections of a caller's own record were checked when it asked.
    return Reader(caller.labels, frozenset({ALL})) if mine else Reader.of(caller)


def _shown(case: Case) -> api.Review:
    verdict, last = case.verdict, case.decided[-1] if case.decided else None
    out = verdict if verdict and verdict.served else None
    return api.Review(
        record=case.entry.id,
        state=case.state.value if case.queued or case.decided else NOT_QUEUED,
        verdict=verdict.action if verdict else None,
        decision=last.act.value if last else None,
        answer=out.released if out else None,
        # The reasons of a withheld answer may quote the draft.
        reason=out.reason if out else None,
        sources=tuple(map(schema.Citation.of, out.citations)) if out else (),
        notes=(last.note,) if out and last else (),
        result=next(
            (decision.result for decision in reversed(case.decided) if decision.result), None
        ),
        queued=case.queued_at or None,
        decided=last.time if last else None,
    )


async def gate(context: RequestContext) -> Response:
    """Decide whether the evidence is sufficient."""
    request = await context.read(api.GateRequest)
    route = _route(context, request.route)
    question, given = checked_question(request.question), await _given(context, request.evidence)
    options = AnswerOptions(given or (), _indexed(request.from_, route, given is not None))

    def decide() -> tuple[Evidence, GateDecision]:
        return route.pipeline(context.caller, options).retrieve_and_gate(question)

    seconds = route.settings.gate_seconds
    call = context.gateway.work.run_within(seconds, decide)
    try:
        evidence, decision = await cancel_on_disconnect(context.request.receive, call)
    except TimeoutError:
        raise too_slow("gate_seconds", seconds) from None
    context.stats.gates.append(decision)
    level, score = decision.level.value, round(decision.score, 4)
    return as_response(
        api.GateDecision(
            question=question,
            **schema.gate_fields(decision),
            open=decision.open,
            passages=tuple(map(schema.FoundPassage.of, evidence)),
            notes=evidence.notes,
            sufficiency=api.Sufficiency(score, level, decision.factors),
            record=decision.record or None,
        )
    )


async def check(context: RequestContext) -> Response:
    """Check an answer against its evidence."""
    request = await context.read(api.CheckRequest)
    route = _route(context, request.route)
    given = await _given(context, request.evidence) or ()
    most = context.gateway.state.settings.server.limits.draft_characters
    if len(request.answer) > most:
        limit = f"{most:,} characters (server.limits.draft_characters)"
        raise too_large(f"'answer' exceeds the limit of {limit}.", "answer")
    checker = route.checker(context.caller, uncited=bool(request.uncited))
    seconds = route.settings.check_seconds
    call = context.gateway.work.run_within(
        seconds, checker.check, request.answer, list(given), request.question
    )
    try:
        verdict = await cancel_on_disconnect(context.request.receive, call)
    except TimeoutError:
        raise too_slow("check_seconds", seconds) from None
    context.stats.verdicts.append(verdict)
    return as_response(await asyncio.to_thread(checked_json, verdict))


def checked_json(verdict: Verdict) -> api.Checked:
    """The response of `/v1/check`."""
    return api.Checked(
        **schema.judgement_fields(verdict),
        claims=claims_of(verdict),
        gate=api.Gate.of(verdict.gate),
        review_url=review_url(verdict),
    )


async def feedback(context: RequestContext) -> Response:
    """Rate an answer."""
    request = await context.read(api.FeedbackRequest)
    record, rating, comment = request.record, Rating(request.rating), request.comment or ""
    log = context.gateway.log
    if log is None:
        raise ApiError(404, "This gateway does not record answers.", "record_not_found", "record")
    call = context.gateway.work.record(_rated, log, context.caller, record, rating, comment)
    try:
        id = await call
    except ReviewError as problem:
        raise bad(str(problem), "record") from None
    except StoreError as problem:
        if type(problem) is not StoreError:
            raise
        message = f"You have no record '{record}'."
        raise ApiError(404, message, "record_not_found", "record") from problem
    return as_response(api.Feedback(id, "feedback", record))


def _rated(log: Log, caller: Principal, record: str, rating: Rating, comment: str) -> str:
    """Store the feedback. Records that are not the caller's, or that it may not read, are reported
    as missing."""
    reader = reader_for(log, caller, record)
    return Review(log).feedback(record, rating, comment, caller.user or caller.name, reader)


def _route(context: RequestContext, named: str | None) -> Route:
    """The route that the path names, or the body."""
    name = context.request.path_params.get("route", "") or named or ""
    route = context.gateway.route(name, None, context.caller)
    context.stats.route = route.name
    return route


async def _given(
    context: RequestContext, evidence: list[Any] | None
) -> tuple[Retrieved, ...] | None:
    if evidence is None:
        return None
    limits = context.gateway.state.settings.server.limits
    read = await offload(context.stats.received, read_given, evidence, limits)
    return tuple(replace(passage, relevance=None) for passage in read)


def _indexed(source: str | None, route: Route, given: bool) -> bool:
    """Whether to search the index: the request carries no passages, or asks for a search."""
    if route.settings.evidence == "index" and given:
        raise bad("This route takes its evidence from the index.", "evidence")
    if source is None:
        return not given and route.settings.evidence != "request"
    return source != "request" and route.settings.evidence != "request"


_SECONDS = 2.0
_FRESH = 1.0
"""Seconds to reuse a result, so that frequent probes do not load the store."""
_SPARE_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Readiness:
    """`failed` checks, and `conditions` that do not prevent readiness, each with a remedy."""

    failed: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)


class Health:
    """Checks the store, the disk and the index."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._looked = -_FRESH
        self._found = Readiness()

    async def readiness(self) -> Readiness:
        if monotonic() - self._looked >= _FRESH:
            try:
                async with asyncio.timeout(_SECONDS):
                    self._found = await asyncio.to_thread(self._look)
            except TimeoutError:
                why = f"The store did not answer within {_SECONDS:g} s; it may be locked."
                self._found = Readiness({"store": why})
            self._looked = monotonic()
        return self._found

    def _look(self) -> Readiness:
        store = self._gateway.library.store
        try:
            with store.database.writing():  # the store must be writable: every answer is recorded
                pass
            empty = self._empty(set(store.collections()))
            uploads = bool(empty) and self._uploads
        except StoreError as problem:
            return Readiness({"store": type(problem).__name__, **self._disk()})
        if not empty:
            return Readiness(self._disk())
        named = f"No documents in the collection {', '.join(map(repr, empty))}."
        if uploads:
            why = f"{named} Upload some with `POST /v1/documents`, or run `suffice index`."
            return Readiness(self._disk(), {"index": why})
        why = (
            f"{named} Run `suffice index`, create a key with the role librarian to upload some, "
            "or set `evidence: request` for routes that do not search."
        )
        return Readiness({**self._disk(), "index": why})

    def _empty(self, collections: set[str]) -> list[str]:
        """The collections that routes search but that have no documents."""
        routes = self._gateway.state.routes.values()
        searched = {
            route.settings.collection
            for route in routes
            if route.settings.grounding and route.settings.evidence != "request"
        }
        return sorted(searched - collections)

    @property
    def _uploads(self) -> bool:
        """Whether an empty collection is acceptable, because documents can be uploaded."""
        setting = self._gateway.state.settings.server.ready_without_documents
        if setting != "auto":
            return setting == "always"
        principals = self._gateway.authenticator.principals
        return any(
            principal.has(Role.LIBRARIAN) and not principals.expired(principal)
            for principal in principals.all()
        )

    def _disk(self) -> dict[str, str]:
        path = self._gateway.library.store.database.path
        if path is None:
            return {}
        free = shutil.disk_usage(path.parent).free
        if free >= _SPARE_BYTES:
            return {}
        return {"disk": f"Only {free / 1e6:.0f} MB are free for the store. Free some space."}
