"""Failed upstream calls are reported by kind; logs contain text only if configured, and never a
key."""

from __future__ import annotations

import io
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from suffice.evidence.library import Library
from suffice.server.openai import grounded
from suffice.server.telemetry.logs import start_logs
from suffice.server.telemetry.stats import RequestStats
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import Reply, Scripted, ScriptedUpstream, completion, fails, says, slow
from tests.server.gateway import (
    OFF_TOPIC,
    QUESTION,
    RIGHT,
    RunningGateway,
    plays,
    routes,
    running,
    use_checks,
)
from tests.server.test_metrics import samples
from tests.waiting import PATIENCE, until

BODY = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
KEY = "sk-upstream-very-secret"


@pytest.fixture(scope="module")
def several(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    """One gateway with a route for each case."""

    def route(retries: int = 0, *, rescue: bool = False, **more: Any) -> RouteSettings:
        own = CollectionSettings(
            draft=DraftSettings(retries=retries), verdict=VerdictSettings(rescue=rescue)
        )
        return RouteSettings(**{"upstream": upstream.url, "own": own, **more})

    os.environ["SUFFICE_TEST_KEY"] = KEY
    named = {
        "default": route(),
        "again": route(1),
        "hasty": route(timeout=1.5),
        "rescued": route(rescue=True),
        "nobody": route(upstream="http://127.0.0.1:9/v1"),
        "keyed": route(key_env="SUFFICE_TEST_KEY"),
    }
    with running(library, routes(named)) as gateway:
        yield gateway
    del os.environ["SUFFICE_TEST_KEY"]


def ask(gateway: RunningGateway, route: str = "default", **more: Any) -> httpx2.Response:
    url = f"{gateway.url}/{route}/v1/chat/completions"
    return httpx2.post(url, json={**BODY, **more}, timeout=PATIENCE)


@pytest.fixture
def found(several: RunningGateway) -> Iterator[list[RequestStats]]:
    """The statistics of requests, as listeners receive them."""
    seen: list[RequestStats] = []
    several.inner.watches.append(seen.append)
    yield seen
    several.inner.watches.pop()


def errors(gateway: RunningGateway) -> dict[str, float]:
    told = samples(httpx2.get(f"{gateway.url}/metrics", timeout=120).text)
    return {name: n for name, n in told.items() if name.startswith("suffice_upstream_errors_total")}


@pytest.mark.parametrize(
    ("script", "route", "status", "kinds"),
    [
        ([fails(500)], "default", 502, ["failed"]),
        ([fails(503), says(RIGHT)], "again", 200, ["failed"]),
        ([fails(429)], "default", 429, ["rate_limit"]),
        ([fails(429), fails(500)], "again", 502, ["rate_limit", "failed"]),
        ([fails(400)], "default", 400, ["refused"]),
        ([fails(401)], "default", 502, ["denied"]),
        ([slow(RIGHT, wait=60)], "hasty", 504, ["timeout"]),
        ([says("")], "default", 502, ["empty"]),
        ([says(RIGHT)], "default", 200, []),
        ([says(RIGHT)], "nobody", 502, ["connection"]),
        ([fails(500)], "rescued", 200, ["failed"]),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_each_failed_try_is_told_by_its_kind(
    several: RunningGateway,
    upstream: ScriptedUpstream,
    found: list[RequestStats],
    script: list[Reply],
    route: str,
    status: int,
    kinds: list[str],
    stream: bool,
) -> None:
    plays(upstream, *script)
    before = errors(several)
    assert ask(several, route, stream=stream).status_code == status
    until(lambda: found)  # a stream is reported once its last byte was sent
    assert [one.upstream for one in found] == [kinds]
    more = {name: n - before.get(name, 0) for name, n in errors(several).items()}
    assert {name: n for name, n in more.items() if n} == {
        f'suffice_upstream_errors_total{{kind="{kind}",route="{route}"}}': kinds.count(kind)
        for kind in kinds
    }
    replaced = 'suffice_upstream_replaced_total{route="rescued"}'
    if route == "rescued":
        assert samples(httpx2.get(f"{several.url}/metrics", timeout=120).text)[replaced] >= 1


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    logger = logging.getLogger("suffice")
    before = (logger.handlers, logger.level, logger.propagate)
    yield io.StringIO()
    logger.handlers, logger.level, logger.propagate = before


def logged(stream: io.StringIO, gateway: RunningGateway, *, text: bool = False) -> None:
    """Logs as `suffice serve` configures them."""
    old = gateway.inner.state.settings
    new = replace(old, server=replace(old.server, log_text=text))
    assert "were reloaded" in gateway.inner.reload(lambda: new)
    start_logs(stream, text=lambda: gateway.inner.state.settings.server.log_text)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_questions_and_answers_are_logged_only_where_asked(
    several: RunningGateway,
    upstream: ScriptedUpstream,
    lines: io.StringIO,
    text: bool,
    stream: bool,
) -> None:
    plays(upstream, says(RIGHT))
    logged(lines, several, text=text)
    ask(several, stream=stream)
    ask(several, messages=[{"role": "user", "content": OFF_TOPIC}])
    until(lambda: len(lines.getvalue().splitlines()) == 2)
    said = lines.getvalue()
    for words in (QUESTION, OFF_TOPIC, "up to 3 days"):
        assert (words in said) is text


@pytest.mark.parametrize("text", [False, True])
def test_a_fault_of_ours_is_logged_with_its_request_and_words_only_where_asked(
    several: RunningGateway,
    upstream: ScriptedUpstream,
    lines: io.StringIO,
    monkeypatch: pytest.MonkeyPatch,
    text: bool,
) -> None:
    def breaks(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"cannot read {RIGHT!r}")

    monkeypatch.setattr(grounded, "drafts_in", breaks)
    plays(upstream, says(RIGHT))
    logged(lines, several, text=text)
    reply = ask(several)
    assert reply.status_code == 500
    fault, access = map(json.loads, lines.getvalue().splitlines())
    assert fault["request_id"] == access["request_id"] == reply.headers["x-request-id"]
    assert fault["level"] == "error"
    assert "ValueError" in fault["trace"]
    assert "grounded.py" in fault["trace"]
    assert ("3 days" in lines.getvalue()) is text


def test_a_warning_from_a_thread_has_the_id_of_its_request(
    several: RunningGateway, upstream: ScriptedUpstream, lines: io.StringIO
) -> None:
    class Warns:
        name = "entailment"

        def judge(self, draft: Any, evidence: Any) -> Any:
            logging.getLogger("suffice.checks").warning("slow")
            return []

    plays(upstream, says(RIGHT))
    logged(lines, several)
    route = several.inner.state.routes["default"]
    use_checks(route, [Warns()])
    reply = ask(several)
    del vars(route.assembly)["checks"]
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert "slow" in {one["message"] for one in told}
    assert {one["request_id"] for one in told} == {reply.headers["x-request-id"]}


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_no_key_is_told_though_the_upstream_says_it(
    several: RunningGateway, upstream: ScriptedUpstream, lines: io.StringIO, text: bool, status: int
) -> None:
    plays(upstream, fails(status, message=f"Incorrect API key provided: {KEY}."))
    logged(lines, several, text=text)
    replies = [ask(several, "keyed", stream=stream) for stream in (False, True)]
    assert upstream.keys == [KEY, KEY]
    for reply in replies:
        assert reply.status_code in (status, 502)
        assert "secret" not in reply.text + str(reply.headers)
    until(lambda: lines.getvalue().count("suffice.access") == 2)
    assert "secret" not in lines.getvalue()
    # Callers do not see what the upstream said, so the operator's log says which call failed.
    assert lines.getvalue().count("Upstream call failed") == 2


def test_our_own_keys_stand_in_no_log(several: RunningGateway, lines: io.StringIO) -> None:
    secret = f"sk-suffice-{'0' * 16}-{'a' * 43}"
    logged(lines, several)
    httpx2.get(f"{several.url}/{secret}/v1/models", params={"key": secret}, timeout=120)
    logging.getLogger("suffice.server").warning("what is %s?", secret)
    assert lines.getvalue().count("sk-suffice-") >= 2
    assert "aaaa" not in lines.getvalue()


def test_what_nobody_counts_is_counted_by_its_length(
    several: RunningGateway, upstream: ScriptedUpstream, found: list[RequestStats]
) -> None:
    """An upstream that reports no usage: limits of tokens and cost still apply."""
    told = completion(Scripted(RIGHT))
    plays(upstream, Scripted(body=json.dumps({**told, "usage": None}).encode()))
    for stream in (False, True):
        found.clear()
        assert ask(several, stream=stream).status_code == 200
        until(lambda: found)
        assert found[0].tokens_in >= len(QUESTION) // 4
        assert found[0].tokens_out == len(RIGHT) // 4
