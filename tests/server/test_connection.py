"""What comes in too slowly, too large or crooked holds nothing; a request has a time to end in."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from suffice.draft.scripted import ScriptedUpstream, says, slow
from suffice.evidence.library import Library
from suffice.record.principals import Principals
from suffice.server.callers import Door
from suffice.server.fault import Fault
from suffice.settings import LimitSettings, RouteSettings
from tests.server.gateway import QUESTION, RIGHT, Gateway, plays, routes, running

BODY = {"messages": [{"role": "user", "content": QUESTION}]}


@pytest.fixture(scope="module")
def strict(library: Library, upstream: ScriptedUpstream) -> Iterator[Gateway]:
    limits = LimitSettings(
        head_seconds=0.5, body_seconds=0.5, header_bytes=4_000, body_bytes=20_000
    )
    route = RouteSettings(upstream=upstream.url)
    with running(library, routes(route, limits=limits, timeout=2)) as gateway:
        yield gateway


def said(gateway: Gateway, *parts: bytes, pause: float = 0.0) -> tuple[bytes, float]:
    """What a server says to these bytes until it closes the connection, and when it did."""
    port = int(gateway.url.rpartition(":")[2])
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        found = b""
        try:
            for part in parts:
                client.sendall(part)
                time.sleep(pause)
            while data := client.recv(65_536):
                found += data
        except ConnectionError:
            pass
    return found, time.monotonic() - began


POST = b"POST /v1/gate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_head_that_does_not_come_is_not_waited_for(strict: Gateway) -> None:
    for parts in ((b"",), (b"GET /healthz HT",), (b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ",)):
        found, seconds = said(strict, *parts)
        assert found == b""
        assert 0.3 < seconds < 3
    drips = (b"GET /healthz HTTP/1.1\r\n", *(b"X-%d: 1\r\n" % n for n in range(30)))
    found, seconds = said(strict, *drips, pause=0.1)
    assert b"200" not in found
    assert seconds < 3.5
    # Nor is a second one, on a connection that was answered.
    first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    found, seconds = said(strict, first, b"GET /heal")
    assert found.count(b"HTTP/1.1 200") == 1
    assert seconds < 3


def test_a_body_that_does_not_come_is_not_waited_for(strict: Gateway) -> None:
    for length in (b"Content-Length: 500\r\n", b"Transfer-Encoding: chunked\r\n"):
        found, seconds = said(strict, POST + length + b"Connection: close\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 408")
        assert b"request_timeout" in found
        assert seconds < 3


@pytest.mark.parametrize(
    "head",
    [
        b"X: " + b"a" * 10_000,
        b"\r\n".join(b"X-%d: %s" % (n, b"a" * 50) for n in range(500)),
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: -5",
        b"Content-Length: " + b"9" * 5_000,
        b"Host: evil.example",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
    ],
)
def test_heads_that_are_too_large_or_crooked_are_refused(strict: Gateway, head: bytes) -> None:
    found, _ = said(strict, POST + head + b"\r\nConnection: close\r\n\r\n", b"0\r\n\r\n")
    assert not found or found.split()[1] in (b"400", b"408", b"431"), found
    assert httpx2.get(f"{strict.url}/healthz").status_code == 200


def test_chunks_without_a_length_are_counted(strict: Gateway) -> None:
    chunk = b"2710\r\n" + b"a" * 10_000 + b"\r\n"
    head = POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    found, _ = said(strict, head, chunk, chunk, chunk, b"0\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("mode", ["whole", "held", "signal"])
def test_a_request_has_a_time_to_end_in(
    strict: Gateway, library: Library, upstream: ScriptedUpstream, mode: Any
) -> None:
    plays(upstream, slow(RIGHT, wait=5))
    settings = routes(
        RouteSettings(upstream=upstream.url, mode="signal" if mode == "signal" else "buffer"),
        timeout=1.5,
        keep_alive=0.2,
    )
    with running(library, settings) as gateway:
        began = time.monotonic()
        reply = gateway.post("/chat/completions", {**BODY, "stream": mode != "whole"})
        assert time.monotonic() - began < 4
        plays(upstream, says(RIGHT))
        assert gateway.post("/chat/completions", BODY).status_code == 200
        assert gateway.house.work.under_way == 0
    if mode != "whole":  # its comments had left already
        assert json.loads(reply.text.split("data: ")[-1])["error"]["code"] == "request_timeout"
        assert "3 days" not in reply.text
    else:
        assert (reply.status_code, reply.json()["error"]["code"]) == (504, "request_timeout")


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8080", True),
        ("localhost:8080", True),
        ("LOCALHOST", True),
        ("localhost.", True),
        ("[::1]", True),
        ("[::1]:8080", True),
        ("", False),
        ("evil.example", False),
        ("evil.example:8080", False),
        ("[::1].evil.example", False),
        ("[::1]evil.example:80", False),
        ("::1]x", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("localhost:80:80", False),
        ("localhost@evil.example", False),
        ("127.0.0.1\t", False),
        ("[fe80::1]", False),
        ("0.0.0.0", False),
    ],
)
def test_only_names_of_this_machine_are_answered_to(
    library: Library, host: str, local: bool
) -> None:
    door = Door(Principals(library.store.database), open=True)
    if local:
        assert door.enter("", host).name == "anyone"
    else:
        with pytest.raises(Fault, match="this machine only"):
            door.enter("", host)


def test_a_stream_that_nobody_reads_gives_its_place_back(
    library: Library, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    body = {"stream": True, "input": QUESTION, "metadata": {"a": "x" * 6_000_000}}
    sent = json.dumps(body).encode()
    head = (
        "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(sent)}\r\n\r\n"
    )
    route = RouteSettings(upstream=upstream.url)
    with running(library, routes(route, timeout=1.0)) as gateway, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", int(gateway.url.rpartition(":")[2])))
        client.sendall(head.encode() + sent)
        work = gateway.house.work
        began = time.monotonic()
        while not work.under_way and time.monotonic() < began + 5:
            time.sleep(0.01)
        while work.under_way and time.monotonic() < began + 8:
            time.sleep(0.05)
        assert not work.under_way
