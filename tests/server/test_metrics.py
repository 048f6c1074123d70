"""Metrics have the documented names and are correct across workers; logs contain no text."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry import trace
from prometheus_client.parser import text_string_to_metric_families

from suffice.evidence.library import Library
from suffice.server.inference_pool import InferencePool
from suffice.server.telemetry import tracing as spans
from suffice.server.telemetry.logs import access_log, log_fields, start_logs
from suffice.server.telemetry.metrics import Metrics, Processes, endpoint_of, live_processes
from suffice.server.telemetry.stats import RequestStats
from suffice.settings import RouteSettings, Settings, WorkSettings
from suffice.testing import ScriptedUpstream, fails, says
from suffice.types import Action, Evidence, GateDecision, Level, Verdict
from tests.server.gateway import routes, running

ROOT = Path(__file__).parent.parent.parent
REMOTE = "How many days per week may I work remotely?"


def samples(text: str) -> dict[str, float]:
    """Every sample by its name and labels as exposed."""
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line and not line.startswith("#")
    }


def seen(level: Level = Level.SUFFICIENT, score: float = 0.9, **more: Any) -> RequestStats:
    gate = GateDecision(level, score, "learned", record="r-gate")
    verdict = Verdict("Secret?", Action.SERVE, "", gate, Evidence(""), released="Secret.")
    defaults = {"verdicts": [verdict], "timings": {"gate": 0.004, "search": 0.001}}
    return RequestStats("/v1/chat/completions", time.perf_counter(), **{**defaults, **more})


def text_of(*requests: RequestStats) -> dict[str, float]:
    metrics = Metrics(InferencePool(WorkSettings()))
    for one in requests:
        metrics.watch(one)
    return samples(metrics.text().decode())


def test_the_published_names_are_told_as_written() -> None:
    found = text_of(
        seen(),
        seen(Level.INSUFFICIENT, 0.1),
        seen(Level.INSUFFICIENT, 0.2),
        seen(Level.PARTIAL, 0.6, timings={"gate": 0.008}),
    )
    assert found["sufficient_context_score_avg"] == pytest.approx((0.9 + 0.1 + 0.2 + 0.6) / 4)
    assert found["sufficient_context_insufficient_count"] == 2
    assert found["sufficient_context_partial_count"] == 1
    assert found["sufficient_context_latency_ms"] == pytest.approx(5.0)
    empty = text_of()
    assert empty["sufficient_context_score_avg"] == 0
    assert empty["sufficient_context_insufficient_count"] == 0


def test_choices_share_a_gate_and_answers_from_elsewhere_have_none() -> None:
    twice = seen()
    twice.verdicts *= 3
    assert text_of(twice)['suffice_gate_decisions_total{level="SUFFICIENT",route=""}'] == 1
    none = GateDecision(Level.SUFFICIENT, 1.0, "none")
    checked = seen(verdicts=[Verdict("", Action.SERVE, "", none, Evidence(""))])
    assert text_of(checked)["sufficient_context_score_avg"] == 0


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/invented-123/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/models/anything/at/all", "/v1/models"),
        ("/metrics", "/metrics"),
    ],
)
def test_callers_cannot_make_up_labels(path: str, endpoint: str) -> None:
    assert endpoint_of(path) == endpoint


WORKER = """
import time
from suffice.server.telemetry.metrics import Metrics
from suffice.server.telemetry.stats import RequestStats
from suffice.server.inference_pool import InferencePool
from suffice.settings import WorkSettings
from suffice.types import GateDecision, Level
metrics = Metrics(InferencePool(WorkSettings()))
for score in {scores}:
    level = Level.PARTIAL if score > 0.4 else Level.INSUFFICIENT
    gate = GateDecision(level, score, "learned")
    stats = RequestStats("/v1/gate", time.perf_counter(), gates=[gate], timings={{"gate": 0.01}})
    metrics.watch(stats)
print(metrics.text().decode())
"""


def test_several_workers_count_together(tmp_path: Path) -> None:
    shared = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    texts = [
        subprocess.run(
            [sys.executable, "-c", WORKER.format(scores=scores)],
            env={**os.environ, **shared},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for scores in ([0.5, 0.6], [0.1])
    ]
    first, last = map(samples, texts)
    assert first["sufficient_context_score_avg"] == pytest.approx(0.55)
    assert last["sufficient_context_score_avg"] == pytest.approx(0.4)
    assert last["sufficient_context_partial_count"] == 2
    assert last["sufficient_context_insufficient_count"] == 1
    assert last["sufficient_context_latency_ms"] == pytest.approx(10)


@pytest.fixture(scope="module")
def scraped(library: Library) -> dict[str, float]:
    """The metrics after a few requests, one of which fails upstream."""
    script = [says("You may work remotely 3 days per week. [1]"), fails(400)]
    with ScriptedUpstream(script) as upstream:
        settings = routes(RouteSettings(upstream=upstream.url))
        with running(library, settings) as gateway:
            body = {"model": "m", "messages": [{"role": "user", "content": REMOTE}]}
            for _ in range(2):
                httpx2.post(f"{gateway.base}/chat/completions", json=body, timeout=120)
            asked = {"question": "What is the capital of Mongolia?"}
            httpx2.post(f"{gateway.base}/gate", json=asked, timeout=120)
            text = httpx2.get(f"{gateway.url}/metrics", timeout=120).text
    assert list(text_string_to_metric_families(text))
    return samples(text)


def test_a_gateway_tells_what_it_did(scraped: dict[str, float]) -> None:
    def total(name: str, *labels: str) -> float:
        return sum(
            value
            for key, value in scraped.items()
            if key.startswith(f"{name}{{") and all(label in key for label in labels)
        )

    assert total("suffice_requests_total", 'endpoint="/v1/chat/completions"') == 2
    assert total("suffice_verdicts_total") == 1
    assert total("suffice_gate_decisions_total", 'level="INSUFFICIENT"') == 1
    assert scraped["sufficient_context_insufficient_count"] == 1
    assert total("suffice_stage_seconds_count", 'stage="check"') >= 1
    assert total("suffice_request_seconds_count") == 3
    assert scraped["suffice_requests_under_way"] == 0
    assert scraped["suffice_queue"] == 0


def test_metrics_ask_for_a_key_where_requests_do(library: Library) -> None:
    with running(library, Settings(), host="0.0.0.0") as gateway:
        assert httpx2.get(f"{gateway.url}/metrics", timeout=120).status_code == 401


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logger = logging.getLogger("suffice")
    before = (logger.handlers, logger.level, logger.propagate)
    start_logs(stream)
    yield stream
    logger.handlers, logger.level, logger.propagate = before[0], before[1], before[2]


def test_logs_are_lines_of_json_without_text(lines: io.StringIO) -> None:
    access_log(lambda: False)(seen(route="default", caller="site"))
    logging.getLogger("suffice.server").warning("it\nbroke %s", "here")
    first, second = map(json.loads, lines.getvalue().splitlines())
    assert first["request_id"]
    assert (first["route"], first["caller"], first["verdicts"]) == ("default", "site", ["SERVE"])
    assert first["gate"] == [{"level": "SUFFICIENT", "score": 0.9}]
    assert "Secret" not in json.dumps(first)
    assert (second["level"], second["message"]) == ("warning", "it\nbroke here")


def test_text_is_logged_only_where_it_is_asked_for() -> None:
    assert "Secret" not in json.dumps(log_fields(seen()))
    assert log_fields(seen(), with_text=True)["answers"] == ["Secret."]


def test_spans_carry_the_names_of_genai() -> None:
    request = seen(status=200, tokens_in=10, tokens_out=2, model="m")
    assert spans.of_request(request)["gen_ai.operation.name"] == "chat"
    assert spans.of_stage("gate", request) == {
        "gen_ai.evaluation.name": "sufficiency",
        "gen_ai.evaluation.score.value": 0.9,
        "gen_ai.evaluation.score.label": "SUFFICIENT",
    }
    assert spans.of_stage("check", request)["gen_ai.evaluation.score.label"] == "SERVE"
    assert spans.of_stage("search", request) == {"gen_ai.operation.name": "retrieval"}
    assert "Secret" not in str([spans.of_stage(one, request) for one in ("draft", "check")])


class Recorded(trace.NonRecordingSpan):
    """A span that keeps its attributes and status."""

    def __init__(self, name: str, start: int | None) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name, self.start, self.ended = name, start, 0
        self.attributes: dict[str, Any] = {}

    def is_recording(self) -> bool:
        return True

    def set_attributes(self, attributes: Any) -> None:
        self.attributes |= attributes

    def end(self, end_time: int | None = None) -> None:
        self.ended = end_time or 0


def test_each_stage_is_a_span_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Recorded] = []

    class Tracer(trace.NoOpTracer):
        def start_span(self, name: str, *args: Any, **kwargs: Any) -> Any:
            made.append(Recorded(name, kwargs.get("start_time")))
            return made[-1]

    monkeypatch.setattr(trace, "get_tracer", lambda *args: Tracer())
    whole = Recorded("request", None)
    with trace.use_span(whole):
        spans.watch_spans(seen(seconds=0.007))
    assert whole.attributes["http.response.status_code"] == 200
    assert [one.name for one in made] == ["suffice search", "suffice gate", "suffice other"]
    assert [one.ended - (one.start or 0) for one in made] == [1_000_000, 4_000_000, 2_000_000]
    assert made[0].ended == made[1].start


def test_without_a_collector_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    spans.start_tracing({})
    spans.watch_spans(seen())
    monkeypatch.setattr(spans, "trace", None)
    spans.watch_spans(seen())


ABBREVIATED = re.compile(r"_(ms|us|ns|sec|secs|s|min|kb|mb|gb|b|milliseconds|minutes)(_|$)")
PUBLISHED = {
    "sufficient_context_insufficient_count",
    "sufficient_context_partial_count",
    "sufficient_context_latency_ms",
}
"""Published by another project, and kept although promtool warns about them."""


def test_names_and_help_texts_pass_the_rules_of_promtool() -> None:
    text = Metrics(InferencePool(WorkSettings())).text().decode()
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (\w+) (.+)$", text, re.MULTILINE))
    faulty = set()
    for name, kind in kinds.items():
        assert helps.get(name, "").endswith("."), f"{name} has no help text"
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), name
        assert (kind == "counter") == name.endswith("_total"), name
        if name.endswith(("_count", "_sum", "_bucket")) or ABBREVIATED.search(name):
            faulty.add(name)
    assert faulty == PUBLISHED
    assert len(kinds) > 20


def test_process_metrics_are_summed_over_live_workers(tmp_path: Path) -> None:
    found = text_of()
    assert found["process_resident_memory_bytes"] > 10e6
    assert found["process_start_time_seconds"] > 0

    (tmp_path / f"gauge_livesum_{os.getppid()}.db").touch()
    (tmp_path / "gauge_livemax_1.db").touch()
    (tmp_path / "counter_4711.db").touch()  # a worker that is gone
    assert live_processes(str(tmp_path)) == {os.getpid(), os.getppid(), 1}
    assert live_processes(None) == {os.getpid()}

    def sums(*pids: int) -> dict[str, float]:
        return {one.name: one.samples[0].value for one in Processes(lambda: pids).collect()}

    one, two = sums(os.getpid()), sums(os.getpid(), os.getpid())
    assert two["process_max_fds"] == 2 * one["process_max_fds"]
    assert two["process_start_time_seconds"] == one["process_start_time_seconds"]
