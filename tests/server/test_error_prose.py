"""The upstream's own error text reaches no client: errors are in the gateway's words."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from suffice.evidence.library import Library
from suffice.models.wire.endpoint import Endpoint
from suffice.server.errors import fault_of
from suffice.server.telemetry.logs import JsonLines
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import Scripted, ScriptedUpstream, fails
from tests.server.gateway import QUESTION, RunningGateway, plays, routes, running
from tests.waiting import PATIENCE

PROSE = "Secretly the quxberrian budget is 900 million"
_FAILED = {"type": "response.failed", "response": {"error": {"code": "x", "message": PROSE}}}
FAULTS: Mapping[str, Scripted] = {
    "400": fails(400, message=PROSE),
    "401": fails(401, message=PROSE),
    "404": fails(404, message=PROSE),
    "429": fails(429, retry_after=7, message=PROSE),
    "500": fails(500, message=PROSE),
    "error in a 200": Scripted(body=json.dumps({"error": {"message": PROSE}}).encode()),
    "text in code and param": Scripted(
        status=400,
        body=json.dumps({"error": {"message": "no", "code": PROSE, "param": PROSE}}).encode(),
    ),
    "error as an event": Scripted(
        headers={"Content-Type": "text/event-stream"},
        body=f"event: error\ndata: {json.dumps({'message': PROSE})}\n\n".encode(),
    ),
    "failed response": Scripted(
        headers={"Content-Type": "text/event-stream"},
        body=f"event: response.failed\ndata: {json.dumps(_FAILED)}\n\n".encode(),
    ),
}
MODES = ("buffer", "signal", "ungrounded", "shadow")
_MESSAGES = [{"role": "user", "content": QUESTION}]
BODIES: Mapping[str, dict[str, Any]] = {
    "chat/completions": {"messages": _MESSAGES},
    "responses": {"input": QUESTION},
    "completions": {"prompt": QUESTION},
    "messages": {"messages": _MESSAGES, "max_tokens": 99},
    "embeddings": {"input": QUESTION},
}


@pytest.fixture(scope="module")
def each_mode(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    """A route for each mode, on which nothing replaces a failed upstream's answer."""
    own = CollectionSettings(
        draft=DraftSettings(retries=0, revisions=0), verdict=VerdictSettings(rescue=False)
    )
    plain = RouteSettings(upstream=upstream.url, own=own)
    named = {
        "default": plain,
        "buffer": plain,
        "signal": replace(plain, streaming="signal"),
        "ungrounded": replace(plain, grounding=False),
        "shadow": replace(plain, shadow=True),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_endpoint_repeats_the_upstream_s_error_text(
    each_mode: RunningGateway, upstream: ScriptedUpstream, fault: str, mode: str
) -> None:
    plays(upstream, FAULTS[fault])
    passage = "Employees may work remotely 3 days per week."
    for path, body in BODIES.items():
        for stream in (False, True) if path != "embeddings" else (False,):
            asked = {"model": "any", "stream": stream, **body}
            if (fault == "failed response") > (path == "responses"):
                continue  # only the Responses API has this event
            if path != "embeddings":
                asked["suffice"] = {"evidence": [passage], "from": "request"}
            url = f"{each_mode.url}/{mode}/v1/{path}"
            reply = httpx2.post(url, json=asked, timeout=PATIENCE)
            assert "quxberrian" not in f"{reply.headers} {reply.text}", (path, stream)


def test_an_error_says_the_status_and_what_to_do(
    each_mode: RunningGateway, upstream: ScriptedUpstream
) -> None:
    body = {"model": "any", **BODIES["chat/completions"]}
    told = {}
    for fault in ("400", "401", "404", "429", "500"):
        plays(upstream, FAULTS[fault])
        told[fault] = each_mode.post("/chat/completions", body).json()["error"]["message"]
    assert told["400"].startswith("The upstream returned no answer: it answered 400 Bad Request.")
    assert "parameters" in told["400"]
    assert "key" in told["401"]
    assert "model" in told["404"]
    assert "Try again in 7 s" in told["429"]
    assert "Try again" in told["500"]


def test_the_log_has_the_upstream_s_text_if_it_may_hold_texts(
    each_mode: RunningGateway, upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    plays(upstream, FAULTS["400"])
    log = logging.getLogger("suffice.server")
    log.addHandler(caplog.handler)  # a gateway that keeps logs of its own passes nothing on
    try:
        with caplog.at_level(logging.INFO, logger=log.name):
            each_mode.post("/chat/completions", {"model": "any", **BODIES["chat/completions"]})
    finally:
        log.removeHandler(caplog.handler)
    failed = next(one for one in caplog.records if "Upstream call failed" in one.getMessage())
    assert json.loads(JsonLines(lambda: True).format(failed))["upstream_message"] == PROSE
    plain = JsonLines().format(failed)
    assert "quxberrian" not in plain
    assert json.loads(plain)["upstream_status"] == 400


def test_the_error_of_a_model_inside_the_pipeline_is_not_repeated_either() -> None:
    endpoint = Endpoint("http://llm.internal/v1")
    failed = endpoint.refusal(400, json.dumps({"error": {"message": PROSE}}).encode(), None)
    assert failed.detail == PROSE
    assert PROSE not in fault_of(failed).message
    assert "llm.internal" not in fault_of(failed).message
