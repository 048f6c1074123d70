"""New settings take effect as a whole, or are refused with the name of the fixed setting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx2
import pytest

from suffice.evidence.library import Library
from suffice.settings import CorsSettings, LimitSettings, RouteSettings, Settings, WorkSettings
from suffice.testing import ScriptedUpstream, says, slow
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running

ASKED = {"question": QUESTION}
PREFLIGHT = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}


def reloaded(gateway: RunningGateway, **server: Any) -> str:
    """Reload with these changes; return the message."""
    old = gateway.inner.state.settings
    return gateway.inner.reload(lambda: replace(old, server=replace(old.server, **server)))


@pytest.fixture
def fresh(library: Library, upstream: ScriptedUpstream) -> Any:
    with running(library, routes(RouteSettings(upstream=upstream.url))) as gateway:
        yield gateway


def test_keys_are_asked_for_from_then_on(fresh: RunningGateway) -> None:
    assert fresh.post("/gate", ASKED).status_code == 200
    assert "were reloaded" in reloaded(fresh, keys="required")
    assert fresh.post("/gate", ASKED).status_code == 401
    assert httpx2.get(f"{fresh.url}/metrics", timeout=120).status_code == 401
    assert httpx2.get(f"{fresh.url}/readyz", timeout=120).json() == {"status": "ready"}
    reloaded(fresh, keys="auto")
    assert fresh.post("/gate", ASKED).status_code == 200


def test_a_gateway_that_others_reach_stays_shut(library: Library) -> None:
    with running(library, Settings(), host="0.0.0.0") as gateway:
        reloaded(gateway, keys="auto", log_text=True)
        assert gateway.post("/gate", ASKED).status_code == 401


def test_origins_come_and_go(fresh: RunningGateway) -> None:
    url, name = f"{fresh.base}/chat/completions", "access-control-allow-origin"
    assert name not in httpx2.options(url, headers=PREFLIGHT, timeout=120).headers
    reloaded(fresh, cors=CorsSettings(("https://a.example",)))
    assert httpx2.options(url, headers=PREFLIGHT, timeout=120).headers[name] == "https://a.example"
    assert fresh.post("/gate", ASKED, headers=PREFLIGHT).headers[name] == "https://a.example"
    reloaded(fresh, cors=CorsSettings(("https://b.example",)))
    assert name not in httpx2.options(url, headers=PREFLIGHT, timeout=120).headers
    reloaded(fresh, cors=CorsSettings())
    assert name not in fresh.post("/gate", ASKED, headers=PREFLIGHT).headers


def test_work_has_the_new_room_and_drops_nothing(
    fresh: RunningGateway, upstream: ScriptedUpstream
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    plays(upstream, slow(RIGHT, wait=0.7), says(RIGHT))
    body = {"messages": [{"role": "user", "content": QUESTION}]}
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fresh.post, "/chat/completions", body)
        while not upstream.requests:
            pass
        reloaded(fresh, capacity=WorkSettings(threads=3, max_queued=1, max_requests=1))
        assert fresh.post("/chat/completions", body).status_code == 429
        assert first.result().status_code == 200
    assert fresh.inner.work.threads == 3
    assert fresh.post("/gate", ASKED).status_code == 200


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"host": "0.0.0.0"}, "server.host"),
        ({"port": 1}, "server.port"),
        ({"workers": 3}, "server.workers"),
        ({"limits": LimitSettings(header_bytes=5_000)}, "server.limits.header_bytes"),
        ({"limits": LimitSettings(head_seconds=5)}, "server.limits.head_seconds"),
    ],
)
def test_what_cannot_change_is_named_and_nothing_changes(
    gateway: RunningGateway, changes: dict[str, Any], name: str
) -> None:
    told = reloaded(gateway, keys="required", **changes)
    assert "the old ones stay in effect" in told
    assert f"'{name}' cannot be changed without a restart" in told
    assert gateway.post("/gate", ASKED).status_code == 200  # keys are still not required
