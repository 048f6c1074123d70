"""Slow, oversized or malformed requests hold no resources, and every request has a timeout."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.server.auth import Authenticator
from suffice.server.errors import ApiError
from suffice.settings import LimitSettings, RouteSettings
from suffice.testing.upstream import ScriptedUpstream, says, slow
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running
from tests.waiting import PATIENCE, until

BODY = {"messages": [{"role": "user", "content": QUESTION}]}


@pytest.fixture(scope="module")
def strict(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    limits = LimitSettings(header_bytes=4_000, body_bytes=20_000)
    with running(library, routes(RouteSettings(upstream=upstream.url), limits=limits)) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def hasty(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    """Only for tests of timeouts: other tests must not depend on the load of the machine."""
    limits = LimitSettings(head_seconds=0.5, body_seconds=0.5)
    with running(library, routes(RouteSettings(upstream=upstream.url), limits=limits)) as gateway:
        yield gateway


def said(gateway: RunningGateway, *parts: bytes) -> bytes:
    """The server's reply to these bytes, until it closes the connection."""
    port = int(gateway.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        found = b""
        try:
            for part in parts:
                client.sendall(part)
            while data := client.recv(65_536):
                found += data
        except ConnectionError:
            pass
    return found


POST = b"POST /v1/gate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_head_that_does_not_come_is_not_waited_for(hasty: RunningGateway) -> None:
    for parts in ((b"",), (b"GET /healthz HT",), (b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ",)):
        assert said(hasty, *parts) == b""
    # The same for a second request on a connection that was already used.
    first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert said(hasty, first, b"GET /heal").count(b"HTTP/1.1 200") == 1


def test_a_head_that_drips_is_not_waited_for(hasty: RunningGateway) -> None:
    port = int(hasty.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        dripped = 0

        def closed() -> bool:
            nonlocal dripped
            try:
                client.sendall(b"X-%d: 1\r\n" % dripped)
            except ConnectionError:
                return True
            dripped += 1
            return False

        until(closed)
    assert dripped


def test_a_body_that_does_not_come_is_not_waited_for(hasty: RunningGateway) -> None:
    for length in (b"Content-Length: 500\r\n", b"Transfer-Encoding: chunked\r\n"):
        found = said(hasty, POST + length + b"Connection: close\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 408")
        assert b"request_timeout" in found


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
def test_heads_that_are_too_large_or_crooked_are_refused(
    strict: RunningGateway, head: bytes
) -> None:
    found = said(strict, POST + head + b"\r\nConnection: close\r\n\r\n", b"0\r\n\r\n")
    assert not found or found.split()[1] in (b"400", b"408", b"431"), found
    assert httpx2.get(f"{strict.url}/healthz", timeout=120).status_code == 200


def test_chunks_without_a_length_are_counted(strict: RunningGateway) -> None:
    chunk = b"2710\r\n" + b"a" * 10_000 + b"\r\n"
    head = POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    found = said(strict, head, chunk, chunk, chunk, b"0\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("mode", ["whole", "held", "signal"])
def test_a_request_has_a_time_to_end_in(
    library: Library, upstream: ScriptedUpstream, mode: Any
) -> None:
    plays(upstream, slow(RIGHT, wait=PATIENCE))
    settings = routes(
        RouteSettings(upstream=upstream.url, streaming="signal" if mode == "signal" else "buffer"),
        timeout=1.5,
        keep_alive_seconds=0.2,
    )
    with running(library, settings) as gateway:
        reply = gateway.post("/chat/completions", {**BODY, "stream": mode != "whole"})
        until(lambda: gateway.inner.work.under_way == 0)
    if mode != "whole":  # comments were already sent
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
    authenticator = Authenticator(Principals(library.store.database), open=True)
    if local:
        assert authenticator.enter("", host).name == "anyone"
    else:
        with pytest.raises(ApiError, match="only requests to a local host"):
            authenticator.enter("", host)


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
        work = gateway.inner.work
        until(lambda: work.under_way)
        until(lambda: not work.under_way)
