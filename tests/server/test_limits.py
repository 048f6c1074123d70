"""Every reply says what is left of the caller's limits; keys expire, teams share a budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals, Teams
from suffice.access.quotas import Left, usage_report
from suffice.evidence.library import Library
from suffice.server.rate_limiter import duration, rate_headers
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}


@pytest.fixture(scope="module")
def guarded(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    with running(library, routes(RouteSettings(upstream=upstream.url)), host="0.0.0.0") as one:
        yield one


def limits_in(reply: httpx2.Response, what: str) -> list[str]:
    names = ("limit", "remaining", "reset")
    return [reply.headers.get(f"x-ratelimit-{name}-{what}", "") for name in names]


def test_every_reply_says_what_is_left(guarded: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(RIGHT))
    rights = {"requests_per_minute": 100, "requests_per_day": 4, "tokens_per_month": 1_000_000}
    database = guarded.inner.library.store.database
    secret = Principals(database).create("counted", limits=rights).secret
    headers = {"X-API-Key": secret}
    whole = guarded.post("/chat/completions", BODY, headers=headers)
    assert limits_in(whole, "requests") == ["4", "3", "24h0m0s"]
    used = whole.json()["usage"]["total_tokens"]
    assert used
    assert limits_in(whole, "tokens") == ["1000000", str(1_000_000 - used), "720h0m0s"]
    stream = guarded.post("/chat/completions", {**BODY, "stream": True}, headers=headers)
    assert limits_in(stream, "requests")[1] == "2"
    assert int(limits_in(stream, "tokens")[1]) <= 1_000_000 - used
    wrong = guarded.post("/chat/completions", {}, headers=headers)
    assert (wrong.status_code, limits_in(wrong, "requests")[1]) == (400, "1")
    assert int(limits_in(wrong, "tokens")[1]) < 1_000_000 - used  # the stream is counted
    guarded.post("/gate", {"question": QUESTION}, headers=headers)
    over = guarded.post("/chat/completions", BODY, headers=headers)
    assert (over.status_code, limits_in(over, "requests")[1]) == (429, "0")
    assert 86_000 < int(over.headers["retry-after"]) <= 87_001
    assert over.json()["error"]["message"] == "Limit reached for this key: 4 requests per day."
    guarded.inner.ledger.flush()
    (used_by_key,) = [one for name, one in usage_report(database, "key") if name == "counted"]
    assert (used_by_key.requests, used_by_key.errors, used_by_key.serve) == (5, 2, 2)
    assert used_by_key.tokens_in + used_by_key.tokens_out == 2 * used
    assert "m" in dict(usage_report(database, "model"))
    free = Principals(database).create("free").secret
    plain = guarded.post("/gate", {"question": QUESTION}, headers={"X-API-Key": free})
    assert limits_in(plain, "requests") == ["", "", ""]


def test_the_keys_of_a_team_share_its_budget(guarded: RunningGateway) -> None:
    database = guarded.inner.library.store.database
    Teams(database).set("finance", {"requests_per_month": 2})
    keys = [Principals(database).create(f"finance {n}", team="finance").secret for n in (1, 2, 3)]
    replies = [
        guarded.post("/gate", {"question": QUESTION}, headers={"X-API-Key": key}) for key in keys
    ]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    guarded.inner.ledger.flush()
    assert dict(usage_report(database, "team"))["finance"].requests == 3
    assert "for the team 'finance': 2 requests per month" in replies[2].text
    Teams(database).set("finance", {"requests_per_month": 3})
    again = guarded.post("/gate", {"question": QUESTION}, headers={"X-API-Key": keys[2]})
    assert limits_in(again, "requests") == ["3", "0", "720h0m0s"]


def test_an_expired_key_is_refused_with_its_date(
    guarded: RunningGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = guarded.inner.library.store.database
    moment = [datetime(2026, 11, 16, tzinfo=UTC)]
    principals = Principals(database, lambda: moment[0])
    frozen = replace(guarded.inner.authenticator, principals=principals)
    monkeypatch.setattr(guarded.inner, "authenticator", frozen)
    secret = principals.create("guest", expires=moment[0] + timedelta(days=1)).secret
    assert guarded.client(secret).models.list()
    moment[0] += timedelta(days=1)
    reply = httpx2.get(f"{guarded.base}/models", headers={"X-API-Key": secret}, timeout=60)
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "expired_api_key")
    assert "expired on 2026-11-17" in reply.json()["error"]["message"]


def test_durations_and_the_tightest_limit() -> None:
    times = (0.0, 0.25, 1, 59.5, 60, 3_661, 90_000)
    texts = ["0ms", "250ms", "1s", "1m0s", "1m0s", "1h1m1s", "25h0m0s"]
    assert [duration(seconds) for seconds in times] == texts
    left = (
        Left("tokens_per_day", 1_000, 400, 60.0),
        Left("tokens_per_month", 9_000, 300, 70.0),
        Left("cost_per_day", 1, 0.5, 60.0),
    )
    assert rate_headers(left) == {
        "x-ratelimit-limit-tokens": "9000",
        "x-ratelimit-remaining-tokens": "300",
        "x-ratelimit-reset-tokens": "1m10s",
    }
