"""Spans as a collector receives them: by OTLP over HTTP, from a real process, with GenAI names."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from suffice.testing import ScriptedUpstream, fails, says
from tests.server.gateway import QUESTION
from tests.server.test_serve import ENVIRON, RUN, ready

SENTENCE = "You may work remotely 3 days per week."
TRACE = "0af7651916cd43dd8448eb211c80319c"


@dataclass
class Collector:
    """The spans that a collector received."""

    requests: list[bytes] = field(default_factory=list)
    url: str = ""

    def spans(self) -> list[Any]:
        wire = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        found = []
        for body in self.requests:
            sent = wire.ExportTraceServiceRequest.FromString(body)
            found += [
                span
                for resource in sent.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ]
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.requests.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_a_collector_is_sent_each_stage_and_no_text(tmp_path: Path, collector: Collector) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "remote.md").write_text(f"# Remote\n\n{SENTENCE}\n")
    (tmp_path / "suffice.yaml").write_text("server: {port: 0}\nverdict: {rescue: false}\n")
    words = ["serve", "--docs", str(docs), "--store", str(tmp_path / "s.db")]
    # The other process uses the same import path, so that it finds the exporter too.
    found = os.pathsep.join([ENVIRON["PYTHONPATH"], *filter(None, sys.path)])
    environ = {**ENVIRON, "PYTHONPATH": found, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    body = {"model": "some-model", "messages": [{"role": "user", "content": QUESTION}]}
    with ScriptedUpstream([says(f"{SENTENCE} [1]"), fails(400)]) as upstream:
        process = subprocess.Popen(
            [*RUN, *words, "--llm", upstream.url, "--config", str(tmp_path / "suffice.yaml")],
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("Suffice serves"))
        url = line.split()[2]
        ready(url.removesuffix("/v1"))
        carried = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        for _ in range(2):
            httpx2.post(f"{url}/chat/completions", json=body, headers=carried, timeout=120)
        # Pending spans are sent before the process ends.
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert process.returncode == 0
    spans = collector.spans()
    by_name = {span.name: attributes(span) for span in reversed(spans)}
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    whole = by_name["POST /v1/chat/completions"]
    assert whole["gen_ai.operation.name"] == "chat"
    assert whole["gen_ai.provider.name"] == "openai"
    assert whole["gen_ai.request.model"] == "some-model"
    assert whole["gen_ai.usage.input_tokens"] > 0
    assert whole["gen_ai.usage.output_tokens"] > 0
    assert whole["suffice.verdict"] == "SERVE"
    assert by_name["suffice search"] == {"gen_ai.operation.name": "retrieval"}
    assert by_name["suffice gate"]["gen_ai.evaluation.name"] == "sufficiency"
    assert by_name["suffice draft"]["gen_ai.operation.name"] == "chat"
    assert by_name["suffice draft"]["gen_ai.request.model"] == "some-model"
    assert by_name["suffice check"]["gen_ai.evaluation.score.label"] == "SERVE"
    inner = {span.parent_span_id for span in spans if span.name.startswith("suffice ")}
    outer = [span for span in spans if span.name.startswith("POST")]
    assert inner <= {span.span_id for span in outer}
    assert len(outer) == 2
    failed = [attributes(span) for span in outer if "suffice.verdict" not in attributes(span)]
    assert [one["suffice.upstream_errors"] for one in failed] == ["refused"]
    sent = b"".join(collector.requests)
    for words_ in (QUESTION, SENTENCE, "remotely"):
        assert words_.encode() not in sent
