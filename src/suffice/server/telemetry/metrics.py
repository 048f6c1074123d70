"""Metrics for Prometheus: `GET /metrics`.

If `PROMETHEUS_MULTIPROC_DIR` names a folder that several workers share, each worker writes its
counts there, and any of them reports the sum. The `sufficient_context_…` metrics are computed from
the counts on each scrape, so that they are correct across workers.
"""

from __future__ import annotations

import asyncio
import collections
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from suffice.access.keys import ALL, Role
from suffice.access.quotas import Ledger, Totals, UsedBy
from suffice.errors import StoreError
from suffice.server.auth import Authenticator, check_role, entered, needs
from suffice.server.errors import ApiError, fault_of
from suffice.server.inference_pool import InferencePool
from suffice.server.telemetry.stats import RequestStats, StatsListener
from suffice.types import Action, Code, GateDecision, Level, Rescue

_EARLIEST = "process_start_time_seconds"
_LIVE_WORKER = re.compile(r"gauge_live\w+_(\d+)\.db")


def live_processes(shared: str | None) -> set[int]:
    """The process ids of the workers that share the folder; without it, this process."""
    if not shared:
        return {os.getpid()}
    files = (_LIVE_WORKER.fullmatch(file.name) for file in Path(shared).glob("gauge_live*.db"))
    return {int(found[1]) for found in files if found} | {os.getpid()}


class Processes(Collector):
    """Sums the metrics of several processes. The start time is that of the oldest process. There
    are no metrics if there is no `/proc`."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids

    def collect(self) -> Iterator[Metric]:
        about: dict[str, Metric] = {}
        values: dict[str, list[float]] = {}
        for pid in self._pids():
            for metric in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                about[metric.name] = metric
                values.setdefault(metric.name, []).append(metric.samples[0].value)
        for name, metric in about.items():
            value = min(values[name]) if name == _EARLIEST else sum(values[name])
            family = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
            yield family(name, metric.documentation, value)


SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


_STATES = {"closed": 0, "half_open": 1, "open": 2}
States = Callable[[], Mapping[str, Mapping[str, str]]]
"""The state of each circuit breaker, by route and upstream."""


class Metrics:
    """The metrics of one app; `watch` is called with each finished request."""

    def __init__(
        self, work: InferencePool, states: States = dict, more: Sequence[Collector] = ()
    ) -> None:
        self._work = work
        self._more = more
        self._states = states
        self._known: set[tuple[str, str]] = set()
        self._own = CollectorRegistry()
        counter = partial(Counter, registry=self._own)
        gauge = partial(Gauge, registry=self._own)
        histogram = partial(Histogram, registry=self._own, buckets=_SECONDS)
        self._requests = counter(
            "suffice_requests", "Requests answered.", ["route", "endpoint", "status"]
        )
        self._verdicts = counter("suffice_verdicts", "Verdicts.", ["route", "verdict"])
        self._gates = counter("suffice_gate_decisions", "Gate decisions.", ["route", "level"])
        self._scores = counter("suffice_gate_scores", "Sum of the gate scores.")
        self._stages = histogram("suffice_stage_seconds", "Time by stage.", ["stage"])
        self._whole = histogram(
            "suffice_request_seconds",
            "Time from the start of a request to the end of its answer.",
            ["endpoint"],
        )
        self._tokens = counter("suffice_tokens", "Tokens used upstream.", ["route"])
        self._failed = counter(
            "suffice_upstream_errors",
            "Failed upstream calls, counting each attempt.",
            ["route", "kind"],
        )
        self._fallbacks = counter(
            "suffice_upstream_fallbacks",
            "Calls that failed at this upstream and were sent to the next upstream of the route.",
            ["route", "upstream"],
        )
        self._breakers = gauge(
            "suffice_upstream_state",
            "Circuit breaker: 0 closed, 1 half open, 2 open; the worst of all workers.",
            ["route", "upstream"],
            multiprocess_mode="livemax",
        )
        self._cache = counter(
            "suffice_cache_requests",
            "Lookups in the verdict cache, by result: hit or miss.",
            ["route", "result"],
        )
        self._replaced = counter(
            "suffice_upstream_replaced",
            "Answers replaced by quotations because the upstream failed.",
            ["route"],
        )
        self._fabricated = counter(
            "suffice_fabricated_citations",
            "Claims in any draft that cited a source that does not exist.",
            ["route"],
        )
        self._failed_checks = counter(
            "suffice_failed_checks",
            "Checks that failed on a draft; the log has the traceback.",
            ["route", "check"],
        )
        self._under_way = gauge(
            "suffice_requests_under_way", "Requests in progress.", multiprocess_mode="livesum"
        )
        self._queue = gauge(
            "suffice_queue",
            "Inference jobs that are queued or running.",
            multiprocess_mode="livesum",
        )

    def watch(self, stats: RequestStats) -> None:
        endpoint, route = endpoint_of(stats.path), stats.route
        self._requests.labels(route, endpoint, str(stats.status)).inc()
        self._whole.labels(endpoint).observe(stats.seconds)
        for stage, seconds in stats.stages.items():
            self._stages.labels(stage).observe(seconds)
        for verdict in stats.verdicts:
            self._verdicts.labels(route, verdict.action.value).inc()
            self._fabricated.labels(route).inc(verdict.fabricated)
            for check in {
                finding.check for finding in verdict.findings if finding.code is Code.FAILED
            }:
                self._failed_checks.labels(route, check).inc()
            if verdict.rescue is Rescue.EXTRACTIVE and not verdict.attempts:
                self._replaced.labels(route).inc()
        for decision in gates_of(stats):
            self._gates.labels(route, decision.level.value).inc()
            self._scores.inc(max(decision.score, 0.0))
        if stats.cache:
            self._cache.labels(route, stats.cache).inc()
        for kind in stats.upstream:
            self._failed.labels(route, kind).inc()
        for name in stats.fallbacks:
            self._fallbacks.labels(route, name).inc()
        if stats.tokens:
            self._tokens.labels(route).inc(stats.tokens)
        self._now()

    def _now(self) -> None:
        self._under_way.set(self._work.under_way)
        self._queue.set(self._work.jobs)

        states = {
            (route, name): _STATES[state]
            for route, of_route in self._states().items()
            for name, state in of_route.items()
        }
        for labels in self._known - states.keys():  # removed by a reload
            self._breakers.labels(*labels).set(0)
        for labels, value in states.items():
            self._breakers.labels(*labels).set(value)
        self._known |= states.keys()

    def text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        self._now()
        registry = CollectorRegistry()
        registry.register(_Published(self._source()))
        for collector in self._more:
            registry.register(collector)
        registry.register(Processes(lambda: live_processes(os.environ.get(SHARED))))
        return generate_latest(registry)

    def _source(self) -> Collector:
        if not os.environ.get(SHARED):
            return self._own
        collector: Collector = MultiProcessCollector(None)  # type: ignore[no-untyped-call]
        return collector

    def close(self) -> None:
        """Remove the gauges of this process from the shared folder."""
        if os.environ.get(SHARED):
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


def metrics_for(
    authenticator: Callable[[], Authenticator], metrics: Metrics
) -> Callable[[Request], Awaitable[Response]]:
    """`GET /metrics`. It needs a key for all routes, because it covers all of them. It works even
    while the gateway refuses other requests."""

    roles = (Role.CALLER, Role.VIEWER)

    @needs(*roles)
    async def endpoint(request: Request) -> Response:
        try:
            caller = await entered(authenticator(), request.headers)
            check_role(caller, roles)
            if ALL not in caller.routes:
                raise ApiError(403, "Metrics need a key that may call all routes.", "no_right")
        except ApiError as fault:
            return fault.response
        except StoreError as problem:
            return fault_of(problem).response
        return Response(await asyncio.to_thread(metrics.text), media_type=CONTENT_TYPE_LATEST)

    return endpoint


class _Published(Collector):
    """Exports the counted metrics and those computed from them. The latter are gauges, because a
    counter would get the suffix `_total`."""

    def __init__(self, source: Collector) -> None:
        self._source = source

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        counted = list(self._source.collect())
        yield from counted
        by_level = _sums(counted, "suffice_gate_decisions_total", "level")
        decisions = sum(by_level.values())
        score = sum(_sums(counted, "suffice_gate_scores_total").values())
        seconds = _sums(counted, "suffice_stage_seconds_sum", "stage").get("gate", 0.0)
        times = _sums(counted, "suffice_stage_seconds_count", "stage").get("gate", 0.0)
        for name, about, value in (
            ("score_avg", "Mean gate score.", score / decisions if decisions else 0.0),
            (
                "insufficient_count",
                "Questions with insufficient context.",
                by_level.get(Level.INSUFFICIENT.value, 0.0),
            ),
            (
                "partial_count",
                "Questions with partial context.",
                by_level.get(Level.PARTIAL.value, 0.0),
            ),
            ("latency_ms", "Mean gate latency.", 1e3 * seconds / times if times else 0.0),
        ):
            yield GaugeMetricFamily(f"sufficient_context_{name}", about, value)


def _sums(counted: Iterable[Metric], name: str, label: str = "") -> dict[str, float]:
    """The values of a sample, summed by one of its labels."""
    sums: dict[str, float] = {}
    for sample in (sample for metric in counted for sample in metric.samples):
        if sample.name == name:
            key = sample.labels.get(label, "")
            sums[key] = sums.get(key, 0.0) + sample.value
    return sums


def endpoint_of(path: str) -> str:
    """The path without the route name, because callers could make up any name."""
    _, version, rest = path.partition("/v1/")
    kind = next(
        (prefix for prefix in ("models", "documents") if rest.startswith(f"{prefix}/")), rest
    )
    return f"/v1/{kind}" if version else path


def gates_of(stats: RequestStats) -> list[GateDecision]:
    """The gate decisions of a request. The choices of an answer share one; `/v1/check` has none."""
    gates = stats.gates or [verdict.gate for verdict in stats.verdicts[:1]]
    return [gate for gate in gates if gate.policy != "none"]


def usage_watch(ledger: Ledger) -> StatsListener:
    """A listener that counts the requests of authenticated callers."""

    def watch(stats: RequestStats) -> None:
        if not stats.caller:  # refused: the caller is unknown
            return
        verdicts = collections.Counter(verdict.action for verdict in stats.verdicts)
        used = Totals(
            requests=1,
            errors=int(stats.status >= 400),
            tokens_in=stats.tokens_in,
            tokens_out=stats.tokens_out,
            cost=stats.cost,
            serve=verdicts[Action.SERVE],
            caveat=verdicts[Action.CAVEAT],
            conflict=verdicts[Action.CONFLICT],
            withhold=verdicts[Action.WITHHOLD],
            review=verdicts[Action.REVIEW],
        )
        ledger.add(UsedBy(stats.caller, stats.team, stats.user, stats.model), used)

    return watch
