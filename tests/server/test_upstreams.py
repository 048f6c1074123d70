"""Several upstreams on one route: weights, fallback before the first token, circuit breakers."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import openai
import pytest

from suffice.errors import SettingsError
from suffice.evidence.library import Library
from suffice.server.openai.upstream import Breaker, State
from suffice.settings import (
    BreakerSettings,
    CollectionSettings,
    DraftSettings,
    RouteSettings,
    UpstreamSettings,
    VerdictSettings,
    settings_of,
)
from suffice.settings import Settings as AllSettings
from suffice.testing import (
    Reply,
    Scripted,
    ScriptedUpstream,
    broken,
    cut,
    fails,
    hangs_up,
    says,
    slow,
)
from tests.server.gateway import RIGHT, RunningGateway, plays, routes, running
from tests.waiting import until

OWN = CollectionSettings(
    draft=DraftSettings(retries=0, revisions=0), verdict=VerdictSettings(rescue=False)
)
PAUSE = 3600.0


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[ScriptedUpstream, ScriptedUpstream]]:
    with ScriptedUpstream([says(RIGHT)]) as main, ScriptedUpstream([says(RIGHT)]) as spare:
        yield main, spare


@contextmanager
def served(
    library: Library,
    pair: tuple[ScriptedUpstream, ScriptedUpstream],
    *scripts: Reply,
    breaker: BreakerSettings | None = None,
    main: dict[str, Any] | None = None,
    spare: dict[str, Any] | None = None,
    **route: Any,
) -> Iterator[RunningGateway]:
    """A gateway whose default route has a main upstream and a spare one."""
    for upstream, script in zip(pair, scripts or (says(RIGHT),) * 2, strict=True):
        plays(upstream, script)
    settings = RouteSettings(
        upstreams={
            "main": UpstreamSettings(url=pair[0].url, **(main or {})),
            "spare": UpstreamSettings(url=pair[1].url, **({"weight": 0} | (spare or {}))),
        },
        breaker=breaker or BreakerSettings(),
        **{"own": OWN, "grounding": False, **route},
    )
    with running(library, routes(settings)) as gateway:
        yield gateway


def said(gateway: RunningGateway, *, stream: bool = False) -> str:
    if not stream:
        return str(gateway.chat().choices[0].message.content)
    parts = list(gateway.chat(stream=True))
    return "".join(part.choices[0].delta.content or "" for part in parts if part.choices)


def metric(gateway: RunningGateway, name: str, upstream: str) -> float:
    lines = httpx2.get(f"{gateway.url}/metrics", timeout=60).text.splitlines()
    label = f'{name}{{route="default",upstream="{upstream}"}} '
    return float(next((one.removeprefix(label) for one in lines if one.startswith(label)), "nan"))


FAULTS: dict[str, Reply] = {
    "no connection": hangs_up(),
    "server error": fails(503),
    "rate limit": fails(429, retry_after=60),
    "bad key": fails(401),
    "not JSON": broken(),
    "too slow": slow(RIGHT, wait=60),
    "breaks off before a token": cut(RIGHT, after=0),
}


@pytest.mark.parametrize("stream", [False, True])
def test_the_spare_answers_if_the_main_one_fails(
    library: Library, pair: tuple[ScriptedUpstream, ScriptedUpstream], stream: bool
) -> None:
    never = BreakerSettings(faults=0)
    with served(library, pair, breaker=never, main={"first_token_seconds": 0.5}) as gateway:
        for name, fault in FAULTS.items():
            plays(pair[0], fault)
            plays(pair[1], says(RIGHT))
            assert said(gateway, stream=stream).startswith(RIGHT), name
            assert (len(pair[0].requests), len(pair[1].requests)) == (1, 1), name
        until(lambda: metric(gateway, "suffice_upstream_fallbacks_total", "main") == len(FAULTS))


def test_a_slow_first_token_falls_back_and_a_slow_end_does_not(
    library: Library, pair: tuple[ScriptedUpstream, ScriptedUpstream]
) -> None:
    with served(library, pair, main={"first_token_seconds": 0.5}) as gateway:
        words = RIGHT.split(" ")
        plays(pair[0], slow(RIGHT, pause=1.0 / len(words)))
        assert said(gateway, stream=True).startswith(RIGHT)
        assert not pair[1].requests


def test_the_callers_error_is_not_sent_elsewhere(
    library: Library, pair: tuple[ScriptedUpstream, ScriptedUpstream]
) -> None:
    with served(library, pair, fails(400, message="bad 'top_p'"), says(RIGHT)) as gateway:
        with pytest.raises(openai.BadRequestError):
            gateway.chat()
        assert not pair[1].requests


def test_weights_share_the_requests(
    library: Library, pair: tuple[ScriptedUpstream, ScriptedUpstream]
) -> None:
    with served(library, pair, main={"weight": 3}, spare={"weight": 1}) as gateway:
        for _ in range(8):
            said(gateway)
        assert (len(pair[0].requests), len(pair[1].requests)) == (6, 2)


def test_each_upstream_gets_its_own_key_and_model_name(
    library: Library,
    pair: tuple[ScriptedUpstream, ScriptedUpstream],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-them")
    monkeypatch.setenv("MAIN_KEY", "sk-main")
    main = {"key_env": "MAIN_KEY", "models": {"big": "vendor/big-1"}}
    chosen = {"chat": "big", "mini": "small"}
    with served(library, pair, main=main, spare={"model": "local"}, models=chosen) as gateway:
        for asked, there in (("chat", "vendor/big-1"), ("mini", "small")):
            plays(pair[0], fails(500))
            plays(pair[1], says(RIGHT))
            body = {"model": asked, "messages": [{"role": "user", "content": "Pay day?"}]}
            gateway.client().chat.completions.create(
                **body,
                extra_body={  # type: ignore[call-overload]
                    "suffice": {"evidence": ["Pay day is Friday."], "from": "request"}
                },
            )
            assert [one["model"] for one in pair[0].requests] == [there]
            assert [one["model"] for one in pair[1].requests] == ["local"]
            assert (pair[0].keys, pair[1].keys) == (["sk-main"], [""])


def test_an_upstream_that_keeps_failing_is_left_out_and_shown(
    library: Library, pair: tuple[ScriptedUpstream, ScriptedUpstream]
) -> None:
    breaker = BreakerSettings(faults=2, seconds=PAUSE)
    with served(library, pair, fails(500), says(RIGHT), breaker=breaker, grounding=True) as gateway:
        for _ in range(4):
            assert said(gateway).startswith(RIGHT)
        assert (len(pair[0].requests), len(pair[1].requests)) == (2, 4)
        ready = httpx2.get(f"{gateway.url}/readyz", timeout=60).json()
        assert ready["upstreams"] == {"default": {"main": "open", "spare": "closed"}}
        assert metric(gateway, "suffice_upstream_state", "main") == 2
        assert metric(gateway, "suffice_upstream_state", "spare") == 0


def test_if_all_fail_the_caller_is_told_when_to_retry(
    library: Library, pair: tuple[ScriptedUpstream, ScriptedUpstream]
) -> None:
    breaker = BreakerSettings(faults=1, seconds=PAUSE)
    script = (fails(429, retry_after=40), fails(500))
    with served(library, pair, *script, breaker=breaker) as gateway:
        with pytest.raises(openai.RateLimitError) as limited:
            gateway.chat()
        assert limited.value.response.headers["retry-after"] == "40"
        with pytest.raises(openai.InternalServerError) as paused:  # no call is made now
            gateway.chat()
        assert paused.value.status_code == 503
        assert paused.value.code == "upstream_unavailable"
        assert 0 < int(paused.value.response.headers["retry-after"]) <= PAUSE
        assert (len(pair[0].requests), len(pair[1].requests)) == (1, 1)


def test_a_client_that_leaves_does_not_take_the_trial_with_it(
    library: Library, pair: tuple[ScriptedUpstream, ScriptedUpstream]
) -> None:
    breaker = BreakerSettings(faults=1, seconds=0.01)
    with served(library, pair, fails(500), says(RIGHT), breaker=breaker) as gateway:
        said(gateway)
        states = gateway.inner.state.routes["default"]
        until(lambda: states.states["main"] == "half_open")
        plays(pair[0], Scripted(RIGHT, hold=(0, threading.Event())))
        with socket.create_connection(("127.0.0.1", int(gateway.url.rpartition(":")[2]))) as left:
            body = json.dumps({"messages": [{"role": "user", "content": "Hello?"}]})
            head = "Host: localhost\r\nContent-Type: application/json"
            left.sendall(
                f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            until(lambda: pair[0].requests)
        until(pair[0].left.is_set)
        plays(pair[0], says(RIGHT))
        until(lambda: said(gateway) and pair[0].requests)
        assert states.states["main"] == "closed"


def test_a_breaker_opens_tries_once_and_closes() -> None:
    now = 0.0
    breaker = Breaker(BreakerSettings(faults=2, seconds=30), lambda: now)
    seen = Counter[bool]()
    for _ in range(3):
        if breaker.enter():
            seen[True] += 1
            breaker.failed()
    assert (seen[True], breaker.state, breaker.wait) == (2, State.OPEN, 30)
    now = 30.0
    assert breaker.state is State.HALF_OPEN
    assert breaker.enter()
    assert not breaker.enter()  # one trial at a time
    breaker.failed(wait=100)
    assert (breaker.state, breaker.wait) == (State.OPEN, 100)
    now = 130.0
    assert breaker.enter()
    breaker.left()
    assert breaker.enter()
    breaker.succeeded()
    assert str(breaker.state) == "closed"
    assert all(breaker.enter() for _ in range(3))


def test_settings_that_contradict_each_other_are_refused() -> None:
    def read(**route: Any) -> AllSettings:
        return settings_of(AllSettings, {"server": {"routes": {"default": route}}}, "file")

    one = {"url": "http://127.0.0.1:1/v1", "weight": 2}
    found = read(upstreams={"a": one}).server.routes["default"].upstreams
    assert found == {"a": UpstreamSettings(url=one["url"], weight=2)}  # type: ignore[arg-type]
    for wrong, told in (
        ({"upstreams": {"a": one}, "upstream": "http://127.0.0.1:2/v1"}, "either 'upstream'"),
        (
            {"upstreams": {"a": {"url": "ftp://x"}}},
            r"file: .*\.default\.upstreams\.a\.url.*a base URL",
        ),
        ({"upstreams": {"a": {**one, "weight": 0}}}, "'weight' above 0"),
        ({"upstreams": {"a": {**one, "weight": -1}}}, "from 0 to 1,000"),
        ({"upstreams": [one]}, "a mapping of names to settings"),
        ({"breaker": {"seconds": 0}}, "from 0.01"),
    ):
        with pytest.raises(SettingsError, match=told):
            read(**wrong)
