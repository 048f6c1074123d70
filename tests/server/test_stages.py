"""The stages of a request sum to its total: in metrics, logs and records, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import httpx2
import pytest

from suffice.evidence.library import Library
from suffice.server.telemetry.logs import log_fields
from suffice.server.telemetry.stats import RequestStats
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import PASSAGE, QUESTION, SERVED, plays, routes, running
from tests.server.gateway import RunningGateway as Running
from tests.server.test_metrics import samples
from tests.waiting import PATIENCE, until

Timed = tuple[Running, list[RequestStats]]


@pytest.fixture(scope="module")
def timed(
    library: Library, upstream: ScriptedUpstream
) -> Iterator[tuple[Running, list[RequestStats]]]:
    plain = RouteSettings(upstream=upstream.url)
    named = {"default": plain, "signal": replace(plain, streaming="signal")}
    with running(library, routes(named)) as gateway:
        ended: list[RequestStats] = []
        gateway.inner.watches.append(ended.append)
        yield gateway, ended


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["default", "signal"])
def test_the_stages_of_a_request_sum_to_its_total(
    timed: Timed, upstream: ScriptedUpstream, mode: str, stream: bool
) -> None:
    gateway, ended = timed
    ended.clear()
    plays(upstream, says(SERVED))
    body = {
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": stream,
        "suffice": {"evidence": [PASSAGE], "from": "request"},
    }
    url = f"{gateway.url}/{mode}/v1/chat/completions"
    assert httpx2.post(url, json=body, timeout=PATIENCE).status_code == 200
    until(lambda: ended)
    (stats,) = ended
    stages = stats.stages
    assert set(stages) >= {"search", "gate", "draft", "check", "other", "total"}
    total = stages.pop("total")
    assert sum(stages.values()) == pytest.approx(total, abs=1e-6)
    assert total == pytest.approx(stats.seconds, abs=1e-5)
    assert log_fields(stats)["stages_ms"]["total"] == log_fields(stats)["ms"]
    assert gateway.inner.log is not None
    kept = dict(gateway.inner.log.entry(stats.verdicts[0].record).fields()["timings"])
    recorded = kept.pop("total")
    assert sum(kept.values()) == pytest.approx(recorded, abs=1e-6)
    assert recorded <= total


def test_the_stages_of_the_metrics_sum_to_the_total(
    timed: Timed, upstream: ScriptedUpstream
) -> None:
    gateway, ended = timed
    ended.clear()
    plays(upstream, says(SERVED))
    gateway.post("/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]})
    until(lambda: ended)
    found = samples(httpx2.get(f"{gateway.url}/metrics", timeout=PATIENCE).text)
    sums = {
        name.partition('stage="')[2].partition('"')[0]: value
        for name, value in found.items()
        if name.startswith("suffice_stage_seconds_sum")
    }
    total = sums.pop("total")
    assert sum(sums.values()) == pytest.approx(total, abs=1e-4)
