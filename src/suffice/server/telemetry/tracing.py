"""OpenTelemetry: a span for each request and each of its stages, named by the GenAI conventions.

Without the API (extra `otel`) there are no spans; without a configured SDK they are not exported.
The stage spans are created when the request ends. A stage that ran several times, such as a
revision, has one span with the total duration.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from suffice import __version__
from suffice.errors import ExtraMissing
from suffice.server.telemetry.metrics import endpoint_of, gates_of
from suffice.server.telemetry.stats import RequestStats

try:
    from opentelemetry import propagate, trace
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError:  # optional dependency
    trace = None  # type: ignore[assignment]

_STAGES = ("search", "gate", "draft", "check", "rescue", "other")
_OPERATIONS = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "chat",
    "/v1/embeddings": "embeddings",
    "/v1/gate": "retrieval",
}
Attributes = dict[str, str | int | float | bool]


def start_tracing(environ: Mapping[str, str] = os.environ) -> Callable[[], None]:
    """Export spans to the collector in `OTEL_EXPORTER_OTLP_ENDPOINT`, if it is set. Call the
    returned function at exit to flush pending spans."""
    if not environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        return lambda: None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as problem:
        raise ExtraMissing("Exporting spans to a collector", "otel") from problem
    name = environ.get("OTEL_SERVICE_NAME") or "suffice"
    about = Resource.create({"service.name": name, "service.version": __version__})
    provider = TracerProvider(resource=about)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    end: Callable[[], None] = provider.shutdown
    return end


class Traced:
    """Wraps the app in a span for each request, which continues the caller's trace."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "/v1/" not in scope["path"] or not _records():
            await self._app(scope, receive, send)
            return
        carried = propagate.extract(dict(Headers(scope=scope)))
        tracer = trace.get_tracer("suffice", __version__)
        name = f"{scope['method']} {endpoint_of(scope['path'])}"
        with tracer.start_as_current_span(name, carried, SpanKind.SERVER):
            await self._app(scope, receive, send)


def _records() -> bool:
    """Whether there is an SDK that records spans."""
    if trace is None:
        return False
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def watch_spans(stats: RequestStats) -> None:
    """Set the attributes of a request's span, and add a span for each of its stages."""
    span = trace.get_current_span() if trace is not None else None
    if span is None or not span.is_recording():
        return
    span.set_attributes(of_request(stats))
    if stats.status >= 500:
        span.set_status(Status(StatusCode.ERROR, str(stats.status)))
    tracer = trace.get_tracer("suffice", __version__)
    start = time.time_ns() - int(1e9 * stats.seconds)
    stages = stats.stages
    for stage in _STAGES:
        seconds = stages.get(stage)
        if seconds is None:
            continue
        end = start + int(1e9 * seconds)
        attributes: Any = of_stage(stage, stats)
        tracer.start_span(f"suffice {stage}", attributes=attributes, start_time=start).end(end)
        start = end


def of_request(stats: RequestStats) -> Attributes:
    endpoint = endpoint_of(stats.path)
    found: Attributes = {
        "gen_ai.operation.name": _OPERATIONS.get(endpoint, "evaluate"),
        "http.route": endpoint,
        "http.response.status_code": stats.status,
        "suffice.request_id": stats.id,
        "suffice.route": stats.route,
    }
    if stats.verdicts:
        found["suffice.verdict"] = stats.verdicts[0].action.value
    if stats.status >= 500:
        found["error.type"] = stats.upstream[-1] if stats.upstream else str(stats.status)
    return found | _asked(stats)


def _asked(stats: RequestStats) -> Attributes:
    """Attributes of the upstream call: model, tokens, errors; empty if there was none."""
    found: Attributes = {}
    if stats.model or stats.tokens or stats.upstream:
        found["gen_ai.provider.name"] = "openai"  # the API; the actual provider is not known
    if stats.model:
        found["gen_ai.request.model"] = stats.model
    if stats.tokens:
        found["gen_ai.usage.input_tokens"] = stats.tokens_in
        found["gen_ai.usage.output_tokens"] = stats.tokens_out
    if stats.upstream:
        found["suffice.upstream_errors"] = ",".join(stats.upstream)
    return found


def of_stage(stage: str, stats: RequestStats) -> Attributes:
    """Gate and checks are evaluations, the search is a retrieval, and a draft is a chat."""
    verdict = stats.verdicts[0] if stats.verdicts else None
    gate = next(iter(gates_of(stats)), None)
    if stage == "search":
        return {"gen_ai.operation.name": "retrieval"}
    if stage == "gate" and gate is not None:
        return {
            "gen_ai.evaluation.name": "sufficiency",
            "gen_ai.evaluation.score.value": gate.score,
            "gen_ai.evaluation.score.label": gate.level.value,
        }
    if stage == "check" and verdict is not None:
        found: Attributes = {
            "gen_ai.evaluation.name": "faithfulness",
            "gen_ai.evaluation.score.label": verdict.action.value,
        }
        if verdict.faithfulness is not None:
            found["gen_ai.evaluation.score.value"] = verdict.faithfulness
        return found
    if stage == "draft":
        model = verdict.draft.drafter if verdict and verdict.draft else ""
        chat: Attributes = {"gen_ai.operation.name": "chat", **_asked(stats)}
        if stats.upstream and not model:
            chat["error.type"] = stats.upstream[-1]
        return {**chat, "gen_ai.response.model": model} if model else chat
    return {}
