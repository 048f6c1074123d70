"""Slow, oversized or malformed requests hold no resources, and every request has a timeout."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from suffice.access.keys import Principals, Role
from suffice.evidence.library import Library
from suffice.server.auth import Authenticator
from suffice.server.errors import ApiError
from suffice.server.ui.app import NAV, ui_routes
from suffice.server.ui.site import Site
from suffice.settings import LimitSettings, RouteSettings, WorkSettings
from suffice.settings.identity import SiteSettings
from suffice.testing import ScriptedUpstream, says, slow
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
        with suppress(ConnectionError):
            for part in parts:
                client.sendall(part)
        return until_closed(client)


def until_closed(client: socket.socket) -> bytes:
    """What the server sends on a connection until it closes it."""
    found = b""
    with suppress(ConnectionError):
        while data := client.recv(65_536):
            found += data
    return found


POST = b"POST /v1/gate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_head_that_does_not_come_is_not_waited_for(hasty: RunningGateway) -> None:
    assert said(hasty, b"") == b""
    for part in (b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: "):
        assert said(hasty, part).startswith(b"HTTP/1.1 408")
    # The same for a second request on a connection that was already used.
    first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    both = said(hasty, first, b"GET /heal")
    assert [both.count(b"HTTP/1.1 200"), both.count(b"HTTP/1.1 408")] == [1, 1]


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
    secret = key(hasty, "librarian", roles=frozenset({Role.CALLER, Role.LIBRARIAN}))
    for length in (b"Content-Length: 500\r\n", b"Transfer-Encoding: chunked\r\n"):
        for path in (b"gate", b"documents?name=a.md"):
            head = POST.replace(b"gate", path) + b"X-API-Key: " + secret + b"\r\n"
            found = said(hasty, head + length + b"\r\n")
            assert found.startswith(b"HTTP/1.1 408")
            assert b"request_timeout" in found


GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
HIDDEN = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        GET.replace(b"\r", b"") + b"\n",
        GET + b"\n",
        GET + b"X: 1\nY: 2\r\n\r\n",
        GET + b"X: 1\r\n 2\r\n\r\n",
        GET + b"X: 1\r\n\t2\r\n\r\n",
        GET + b"X : 1\r\n\r\n",
        b"\n" + GET + b"\r\n",
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_requests_that_two_servers_may_read_differently_are_refused(
    strict: RunningGateway, sent: bytes
) -> None:
    found = said(strict, sent + HIDDEN)
    assert found.split()[1] in (b"400", b"501"), found
    assert found.count(b"HTTP/1.1 ") == 1, found  # what follows is not read as a request


@pytest.mark.parametrize("end", [b"0\r\n\n", b"0\r\nX: 1\n\r\n", b"0\r\nX: 1\n\n", b"0\n\n"])
def test_chunks_end_as_they_must(strict: RunningGateway, end: bytes) -> None:
    found = said(strict, POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" + end + HIDDEN)
    assert b"ready" not in found


def test_requests_with_right_line_ends_are_answered_one_after_another(
    strict: RunningGateway,
) -> None:
    body = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: 1\r\n\r\n"
    whole = GET + b"\r\n" + POST + body + GET + b"Connection: close\r\n\r\n"
    for parts in ([whole], [whole[n : n + 1] for n in range(len(whole))]):
        found = said(strict, *parts)
        assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"400", b"200"]


def key(gateway: RunningGateway, name: str, **rights: Any) -> bytes:
    database = gateway.inner.library.store.database
    return Principals(database).create(name, **rights).secret.encode()


def opened(gateway: RunningGateway, *parts: bytes, source: str = "127.0.0.1") -> socket.socket:
    """A connection that has sent these bytes and stays open."""
    address = ("127.0.0.1", int(gateway.url.rpartition(":")[2]))
    client = socket.create_connection(address, timeout=PATIENCE, source_address=(source, 0))
    for part in parts:
        client.sendall(part)
    return client


def test_a_key_or_an_address_that_sends_slowly_leaves_places_for_others(
    library: Library, upstream: ScriptedUpstream
) -> None:
    work = WorkSettings(max_requests=8)
    settings = routes(RouteSettings(upstream=upstream.url), capacity=work, keys="required")
    with running(library, settings) as gateway, ExitStack() as stack:
        slow_one, other = key(gateway, "slow"), key(gateway, "other")

        def trickled(secret: bytes, source: str) -> socket.socket:
            head = b"Connection: close\r\nContent-Length: 500\r\nX-API-Key: " + secret
            sent = opened(gateway, POST + head + b"\r\n\r\n{", source=source)
            return stack.enter_context(sent)

        def refused(secret: bytes, source: str) -> bytes:
            return until_closed(trickled(secret, source))

        for n in range(4):  # one key, from several addresses
            trickled(slow_one, f"127.0.0.{n + 2}")
        until(lambda: gateway.inner.work.under_way == 4)
        assert b"429" in (found := refused(slow_one, "127.0.0.9")).split()
        assert b"for this key: 4 concurrent requests" in found
        assert httpx2.get(f"{gateway.url}/readyz", timeout=PATIENCE).status_code == 200
        headers = {"Authorization": f"Bearer {other.decode()}"}
        asked = gateway.post("/gate", {"question": QUESTION}, headers=headers)
        assert asked.status_code == 200
        stack.close()
        until(lambda: gateway.inner.work.under_way == 0)
        for n in range(4):  # several keys, from one address
            trickled(key(gateway, f"slow {n}"), "127.0.0.2")
        until(lambda: gateway.inner.work.under_way == 4)
        assert b"for this client address: 4 concurrent requests" in refused(other, "127.0.0.2")
        assert httpx2.get(f"{gateway.url}/readyz", timeout=PATIENCE).status_code == 200
        assert gateway.post("/gate", {"question": QUESTION}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET /healthz HTTP/1.1\r\nX: ", b"POST /ui/sign-in HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na"],
)  # fmt: skip
def test_of_the_connections_of_an_address_that_wait_the_oldest_is_closed(
    library: Library, upstream: ScriptedUpstream, begun: bytes
) -> None:
    limits = LimitSettings(waiting_connections=3)
    settings = routes(RouteSettings(upstream=upstream.url), limits=limits)
    with running(library, settings) as gateway, ExitStack() as stack:
        other = stack.enter_context(opened(gateway, begun, source="127.0.0.3"))
        many = [stack.enter_context(opened(gateway, begun, source="127.0.0.2")) for _ in range(7)]
        assert [until_closed(one) for one in many[:4]] == [b""] * 4
        assert httpx2.get(f"{gateway.url}/healthz", timeout=PATIENCE).status_code == 200
        if not begun:
            for one in (*many[4:], other):
                one.sendall(GET + b"\r\n")
                assert one.recv(65_536).startswith(b"HTTP/1.1 200")


def test_a_proxys_clients_are_told_apart_by_their_addresses(
    library: Library, upstream: ScriptedUpstream
) -> None:
    plain = routes(RouteSettings(upstream=upstream.url), limits=LimitSettings(concurrent=100))
    server = replace(
        plain.server,
        keyless_forwarded=True,
        capacity=WorkSettings(max_requests=2),
        site=SiteSettings(behind_proxy=True),
    )
    with running(library, replace(plain, server=server)) as gateway, ExitStack() as stack:
        head = POST + b"X-Forwarded-For: 203.0.113.9, 192.0.2.1\r\nConnection: close\r\n"
        stack.enter_context(opened(gateway, head + b"Content-Length: 9\r\n\r\n{"))
        until(lambda: gateway.inner.work.under_way == 1)
        assert b"this client address" in said(gateway, head + b"Content-Length: 9\r\n\r\n{")
        headers = {"X-Forwarded-For": "192.0.2.1, 192.0.2.2"}
        asked = gateway.post("/gate", {"question": QUESTION}, headers=headers)
        assert asked.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "[evil", "evil.example/x?y=", "evil\\x"])
def test_no_redirect_goes_to_the_host_that_the_client_names(
    library: Library, upstream: ScriptedUpstream, host: str
) -> None:
    settings = routes(RouteSettings(upstream=upstream.url))
    with running(library, settings) as gateway:
        found = {
            path: said(gateway, _get(path, host))
            for path in (
                *_paths(gateway),
                "//evil.example/v1/gate/",
                "/default/v1/gate/",
                "/ui/queue",
            )
        }
        known = {path: reply for path, reply in found.items() if reply.split()[1][:1] == b"3"}
        assert {"/ui", "/v1/gate/", "/default/v1/gate/", "/healthz/", "/ui/queue"} <= known.keys()
        for path, reply in known.items():
            [location] = re.findall(rb"(?i)^location: (.*)\r$", reply, re.MULTILINE)
            assert re.match(rb"/[a-z]", location), (path, location)
            assert not {b"evil", b"//"} & {location[:4], location[:2]}, (path, location)
        assert not [path for path, reply in found.items() if reply.split()[1] == b"500"]


def _paths(gateway: RunningGateway) -> list[str]:
    """Every path of the API and the site, with and without a slash at its end."""
    described = httpx2.get(f"{gateway.url}/openapi.json", timeout=PATIENCE).json()["paths"]
    pages = [str(getattr(route, "path", "")) for route in ui_routes(Site(gateway.inner, NAV))]
    plain = {*described, "/healthz", "/v1/gate", "/ui", *(f"/ui{page}" for page in pages)}
    named = {re.sub(r"\{[^}]*\}", "1", path).rstrip("/") for path in plain}
    return sorted(named | {f"{path}/" for path in named})


def _get(path: str, host: str) -> bytes:
    heads = f"Host: {host}\r\nX-Forwarded-Host: evil.example\r\nConnection: close"
    return f"GET {path or '/'} HTTP/1.1\r\n{heads}\r\n\r\n".encode()


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
