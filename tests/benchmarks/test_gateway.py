"""The gateway bench: its cases are valid, its load generator counts correctly, and it runs."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from benchmarks import canned
from benchmarks.gateway import Plan, bench_gateway, compared
from benchmarks.gateway_cases import cases
from benchmarks.hostile import KINDS
from benchmarks.load import Job, run
from benchmarks.watch import grown, latency
from suffice.text.sentences import sentences


def test_cases_have_five_passages_and_three_sentences_and_differ() -> None:
    made = cases(200)
    assert {len(case.passages) for case in made} == {5}
    assert {len(list(sentences(case.answer))) for case in made} == {3}
    assert len({case.question for case in made}) == 200
    assert cases(8) == made[:8]


@asynccontextmanager
async def serving(reply: bytes) -> AsyncIterator[int]:
    """A server that always replies the same."""

    class Same(canned.Canned):
        def data_received(self, data: bytes) -> None:
            self._transport.write(reply)

    server = await asyncio.get_running_loop().create_server(Same, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def loaded(reply: bytes, **more: Any) -> dict[str, Any]:
    async def go() -> dict[str, Any]:
        async with serving(reply) as port:
            return await run(Job("127.0.0.1", port, "/", ["{}"], 0.2, **more))

    return asyncio.run(go())


def whole(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\n{more}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def verdict(**suffice: Any) -> bytes:
    return whole(json.dumps({"suffice": suffice}).encode())


def test_load_counts_what_is_answered() -> None:
    found = loaded(whole(b"{}"), clients=2)
    assert found["statuses"] == {"200": found["answered"]}
    assert found["answered"] > 10
    assert 0 < found["p50_ms"] <= found["p95_ms"]
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    assert loaded(chunked)["answered"] > 10


def test_load_sees_refusals_and_what_nobody_checked() -> None:
    told = loaded(whole(b"{}", "429 Too Many", "Retry-After: 1\r\n"))
    assert set(told["statuses"]) == {"429"}
    assert told["no_retry_after"] == told["answered"] == 0
    assert loaded(whole(b"{}", "429 Too Many"))["no_retry_after"] > 0
    good = loaded(verdict(verdict="SERVE", share_read=1.0), checked=True)
    assert (good["unchecked"], set(good["verdicts"])) == (0, {"SERVE"})
    for bad in ({"verdict": "SERVE", "share_read": 0.5}, {"verdict": None}, {}):
        found = loaded(verdict(**bad), checked=True)
        assert found["unchecked"] == found["answered"] > 0
    assert loaded(verdict(verdict="WITHHOLD", share_read=0.0), checked=True)["unchecked"] == 0


def test_an_open_load_keeps_its_rate() -> None:
    found = loaded(whole(b"{}"), rate=200.0)
    assert 25 <= found["answered"] <= 45


def test_hostile_requests_go_beside_the_others() -> None:
    found = loaded(whole(b"{}", "400 Bad"), rate=200.0, hostile=1.0)
    assert found["hostile"].keys() <= set(KINDS)
    hostile = Counter[str]()
    for statuses in found["hostile"].values():
        hostile.update(statuses)
    assert hostile.total() == found["statuses"]["400"] > len(KINDS)
    assert hostile["400"] > hostile["closed"] == found["hostile"]["body cut short"]["closed"]
    assert found["server_errors"] == 0


def test_a_server_error_is_counted_unless_it_refuses() -> None:
    for status, counts in (("500 Oops", True), ("502 Oops", True), ("503 Full", False)):
        found = loaded(whole(b"{}", status), rate=100.0, hostile=0.1)
        assert bool(found["server_errors"]) is counts
    assert loaded(whole(b"{}", "500 Oops"), hostile=0.0)["server_errors"] > 0


def test_memory_growth_and_latency() -> None:
    flat = grown([100, 90, 100, 300, 100, 100, 110, 100, 105])
    assert (flat["first_third"], flat["last_third"], flat["peak"]) == (100, 105, 300)
    assert flat["growth_percent"] == 5.0
    assert grown([10, 20, 30])["growth_percent"] == 200.0
    assert grown([])["growth_percent"] is None
    probes = latency([0.001 * n for n in range(1, 201)], failed=2)
    assert (probes["p50_ms"], probes["p99_ms"], probes["max_ms"]) == (101.0, 199.0, 200.0)
    assert (probes["probes"], probes["failed"]) == (202, 2)


@pytest.mark.parametrize("streams", [True, False])
def test_the_canned_upstream_says_what_it_is_told(streams: bool) -> None:
    for body, said in (({"canned": "One. Two."}, "One. Two."), ({}, canned.TEXT)):
        sent = json.dumps({**body, "stream": streams}).encode()
        reply = canned.answer(sent).partition(b"\r\n\r\n")[2]
        if not streams:
            text = json.loads(reply)["choices"][0]["message"]["content"]
        else:
            lines = [one.removeprefix(b"data: ") for one in reply.split(b"\n\n") if one]
            assert lines.pop() == b"[DONE]"
            deltas = [json.loads(line)["choices"][0]["delta"] for line in lines]
            text = "".join(one.get("content", "") for one in deltas)
        assert text == said


def test_how_proxies_are_compared() -> None:
    def row(p50: float, rate: float) -> dict[str, Any]:
        return {"whole": {"one": {"p50_ms": p50}, "many": {"per_s": rate}}}

    found = {"direct": row(1, 900), "suffice": row(3, 300), "litellm": row(9, 60)}
    assert compared(found, "whole") == {
        "added_ms": 2,
        "per_s": 300,
        "litellm_added_ms": 8,
        "litellm_per_s": 60,
        "throughput_times": 5.0,
        "added_share": 0.25,
    }
    del found["litellm"]
    assert compared(found, "whole") == {"added_ms": 2, "per_s": 300}


@pytest.mark.timing
def test_it_runs_from_end_to_end() -> None:
    parts = ("checked", "overload")
    figures = bench_gateway(Plan(seconds=0.3, overload=0.6, clients=2, bare=1, parts=parts))
    checked = figures["checked"]
    assert set(checked["statuses"]) == {"200"}
    assert checked["unchecked"] == 0
    assert checked["share_of_bare"] > 0
    for bare in checked["bare"]:  # answers of the cases may leave, and ask the models
        assert bare["served"] == bare["cases"] == 1
        assert bare["pairs_a_request"] >= 4  # sufficiency, and each of the three claims
        assert bare["per_s"] > 0
    overload = figures["overload"]
    assert overload["alive"]
    assert set(overload["statuses"]) <= {"200", "429", "unanswered"}
    assert overload["statuses"]["unanswered"] == 0
    assert overload["hostile"]
    assert overload["server_errors"] == 0
    assert overload["healthz"]["probes"] > overload["healthz"]["failed"] == 0
    assert overload["memory_mb"]["peak"] > 50
