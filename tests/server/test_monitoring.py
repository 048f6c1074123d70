"""The gateway monitors its log: API, metrics and webhooks report it, and suspension is strict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import numpy as np
import pytest

from suffice.access.keys import Principals
from suffice.cli.asking import QuestionRequest
from suffice.engine import Engine
from suffice.errors import SettingsError
from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.lab.monitor.monitor import Monitor
from suffice.log.log import Log, Recorder
from suffice.log.replay import replay
from suffice.log.suspension import Status
from suffice.models.catalog import open_embedder, open_verifier
from suffice.settings import (
    CollectionSettings,
    EmbedderSettings,
    MonitorSettings,
    RouteSettings,
    ServerSettings,
    Settings,
    VerdictSettings,
    VerifierSettings,
)
from suffice.settings.record import WebhookSettings
from tests.conftest import HANDBOOK
from tests.lab.monitor.stream import answer, caught_up, certificate, write, write_state
from tests.server.gateway import PASSAGE, QUESTION, SERVED, RunningGateway, running
from tests.server.test_webhooks import receiver
from tests.waiting import PATIENCE, until

MODELS = {
    "embedder": open_embedder(EmbedderSettings()).id,
    "verifier": open_verifier(VerifierSettings()).id,
}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(tmp_path / "s.db", Settings(), create=True)
    yield opened
    opened.store.close()


def get(gateway: RunningGateway, path: str, key: str = "any") -> httpx2.Response:
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.get(f"{gateway.url}{path}", headers=headers, timeout=PATIENCE)


def status(gateway: RunningGateway) -> Status:
    inner = gateway.inner
    return inner.guarantees[inner.state.settings.verdict.thresholds_file].status


def scores(center: float, count: int) -> list[float]:
    draw = np.random.default_rng(count).normal(size=count)
    return [float(one) for one in 1 / (1 + np.exp(-center - draw))]


def test_drift_suspends_the_guarantee_in_the_gateway(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    verdict = certificate(path, scores(2, 300), gate=0.75, confidence=0.7, models=MODELS)
    monitor = MonitorSettings(every_seconds=0.1, deep_share=0)
    with receiver() as received:
        hook = WebhookSettings(url=received.url, events=("guarantee", "alarm.raised"))
        server = ServerSettings(webhooks={"on-call": hook})
        with running(library, Settings(monitor=monitor, server=server, verdict=verdict)) as gateway:
            until(lambda: get(gateway, "/v1/guarantee").json()["status"] == "active")
            before = gateway.inner.state.routes["default"].own
            log = gateway.inner.log
            assert log is not None
            write(log, [answer(confidence=one, fabricated=True) for one in scores(0, 200)], verdict)
            until(lambda: get(gateway, "/v1/guarantee").json()["status"] == "suspended")
            told = get(gateway, "/v1/guarantee").json()
            own = gateway.inner.state.routes["default"].own
            shown = get(gateway, "/metrics").text
            whole = get(gateway, "/v1/monitor").json()
            until(lambda: len(received.got) >= 3)
            events = {one["event"]: one for one in received.events()}
    assert told["thresholds"] == {"gate": 0.75, "confidence": 0.8}
    assert told["since"]
    assert "no longer exchangeable" in told["why"]
    assert not told["holds"]
    assert before.verdict.thresholds_file == str(path)
    assert own.gate.learned.sufficient == 0.75
    assert any("confidence >= 0.8000 -> SERVE" in row for row in own.verdict.routes)
    assert not own.verdict.thresholds_file
    assert "suffice_guarantee 2.0" in shown
    assert 'suffice_alarm{metric="fabricated_citation_rate"} 1.0' in shown
    assert "suffice_faithfulness 1.0" in shown
    assert whole["alarms"] == ["fabricated_citation_rate"]
    assert whole["metrics"]["withhold_rate"]["alarm"] == "> 2 × baseline"
    assert events.keys() == {"guarantee.active", "guarantee.suspended", "alarm.raised"}
    assert events["alarm.raised"]["about"] == "fabricated_citation_rate"


def test_a_restart_while_suspended_begins_strict(library: Library, tmp_path: Path) -> None:
    verdict = certificate(tmp_path / "t.json", scores(2, 300), gate=0.75, models=MODELS)
    own = Settings(monitor=MonitorSettings(every_seconds=3600, deep_share=0), verdict=verdict)
    log = Log(library.store.database)
    write(log, [answer(confidence=one) for one in scores(0, 200)], verdict)
    with running(library, own) as gateway:
        until(lambda: status(gateway) is Status.SUSPENDED)
    with running(library, own) as gateway:
        assert gateway.inner.state.routes["default"].own.gate.learned.sufficient == 0.75
        again = certificate(tmp_path / "again.json", scores(0, 300), gate=0.65, models=MODELS)
        new = replace(own, verdict=again)
        wrong = replace(own, verdict=VerdictSettings(thresholds_file=str(tmp_path / "none.json")))
        assert "not reloaded" in gateway.inner.reload(lambda: wrong)
        assert "were reloaded" in gateway.inner.reload(lambda: new)
    log.close()


def test_a_suspension_that_cannot_be_applied_is_tried_again(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = certificate(tmp_path / "t.json", scores(2, 300), gate=0.75, models=MODELS)
    own = Settings(monitor=MonitorSettings(every_seconds=3600, deep_share=0), verdict=verdict)
    with running(library, own) as gateway:
        inner = gateway.inner
        until(lambda: status(gateway) is Status.ACTIVE)
        monitor, opens = inner.monitor, inner._opened
        assert monitor is not None
        held = replace(monitor.guarantee, status=Status.SUSPENDED)
        write_state(monitor.log, replace(monitor.state, suspended=(held,)))

        def refuses(*given: object) -> None:
            raise SettingsError("The file is gone.")

        monkeypatch.setattr(inner, "_opened", refuses)
        with pytest.raises(SettingsError):
            inner._monitored(monitor)
        assert status(gateway) is Status.ACTIVE
        monkeypatch.setattr(inner, "_opened", opens)
        inner._monitored(monitor)
        assert str(status(gateway)) == "suspended"
        assert inner.state.routes["default"].own.gate.learned.sufficient == 0.75


@pytest.mark.parametrize("drifts", ["default", "hr"])
def test_a_certificate_of_a_route_is_monitored_by_itself(
    library: Library, tmp_path: Path, drifts: str
) -> None:
    verdict = certificate(tmp_path / "t.json", scores(2, 300), gate=0.75, models=MODELS)
    other = certificate(tmp_path / "hr.json", scores(2, 300), gate=0.85, models=MODELS)
    routes = {
        "default": RouteSettings(),
        "hr": RouteSettings(own=CollectionSettings(verdict=other)),
    }
    monitor = MonitorSettings(every_seconds=0.1, deep_share=0)
    own = Settings(monitor=monitor, verdict=verdict, server=ServerSettings(routes=routes))
    under = {"default": verdict, "hr": other}
    with running(library, own) as gateway:

        def told(route: str) -> str:
            return str(get(gateway, f"/{route}/v1/guarantee").json()["status"])

        until(lambda: {told(route) for route in routes} == {"active"})
        log = gateway.inner.log
        assert log is not None
        for name, center in (("default", 2), ("hr", 2), (drifts, 0)):
            write(log, [answer(confidence=one) for one in scores(center, 200)], under[name])
        until(lambda: told(drifts) == "suspended")
        opened, shown = gateway.inner.state.routes, get(gateway, "/metrics").text
        (unaffected,) = set(routes) - {drifts}
        assert told(unaffected) == "active"
        assert get(gateway, "/other/v1/guarantee").status_code == 404
    assert not opened[drifts].own.verdict.thresholds_file
    assert opened[drifts].own.gate.learned.sufficient == (0.75 if drifts == "default" else 0.85)
    assert opened[unaffected].own.verdict == under[unaffected]
    assert f'suffice_route_guarantee{{route="{drifts}"}} 2.0' in shown
    assert f'suffice_route_guarantee{{route="{unaffected}"}} 1.0' in shown


def test_a_suspension_applies_on_the_command_line_and_over_mcp(
    library: Library, tmp_path: Path
) -> None:
    own = certificate(tmp_path / "t.json", scores(2, 300), gate=0.5, confidence=0.3, models=MODELS)
    settings = Settings(verdict=own)
    held = replace(library, settings=settings)
    held.add(HANDBOOK / "remote-work.md")
    log = Log(library.store.database)
    engine, request = (
        Engine(library=held, log=log),
        QuestionRequest("", held, Filter(), None, settings.collection("default"), False),
    )

    def lowest() -> list[bool]:
        opened = (engine.pipeline(), request.pipeline())
        return [
            any("confidence >= 0.3" in row for row in one.verdict_settings.routes) for one in opened
        ]

    assert lowest() == [True, True]
    write(log, [answer(confidence=one) for one in scores(0, 200)], own)
    assert caught_up(Monitor.of(log, settings)).suspended
    assert lowest() == [False, False]
    recorder = engine.pipeline().record
    assert isinstance(recorder, Recorder)
    assert not recorder.filing.certificate  # it does not hold
    log.close()


def test_only_a_key_for_all_routes_sees_the_monitor(library: Library) -> None:
    monitor = MonitorSettings(every_seconds=3600, deep_share=0)
    principals = Principals(library.store.database)
    some = principals.create("some", routes=("default",)).secret
    every = principals.create("every").secret
    own = Settings(monitor=monitor, server=ServerSettings(keys="required"))
    with running(library, own) as gateway:
        assert get(gateway, "/v1/monitor", some).status_code == 403
        assert get(gateway, "/v1/monitor", every).json()["guarantee"]["status"] == "none"
        assert get(gateway, "/v1/guarantee", some).status_code == 200
        assert get(gateway, "/v1/guarantee", "no key").status_code == 401


def test_without_the_monitor_there_is_nothing_to_see(library: Library) -> None:
    off = MonitorSettings(enabled=False)
    with running(library, Settings(monitor=off)) as gateway:
        assert get(gateway, "/v1/monitor").status_code == 404
        assert get(gateway, "/v1/guarantee").json()["status"] == "none"
        assert "suffice_guarantee" not in get(gateway, "/metrics").text


@pytest.mark.parametrize("uncited", [False, True])
def test_a_check_under_a_certificate_replays_the_same(
    library: Library, tmp_path: Path, uncited: bool
) -> None:
    """`/v1/check` has no gate, so the certified thresholds do not apply to it."""
    verdict = certificate(tmp_path / "t.json", scores(2, 300), confidence=0.999, models=MODELS)
    off = MonitorSettings(enabled=False)
    body = {"answer": SERVED, "evidence": [PASSAGE], "question": QUESTION, "uncited": uncited}
    with running(library, Settings(monitor=off, verdict=verdict)) as gateway:
        told = gateway.post("/check", body).json()
        log = gateway.inner.log
        assert log is not None
        entry = log.entry(told["record"])
        again = replay(entry, log.entry(entry.fields()["setup"]))
    assert told["verdict"] == "SERVE"  # the certified threshold would withhold it
    assert again.differences == ()
