"""A scripted upstream: an OpenAI-compatible server on loopback with predefined replies.

For tests, including your own: it uses the wire format, streams, and fails as real upstreams do.

>>> with ScriptedUpstream([fails(429, retry_after=0), says("Leave is 20 weeks. [1]")]) as upstream:
...     settings = DraftSettings(llm=upstream.url)
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, cast

from suffice.testing.replies import (
    Reply,
    Request,
    Scripted,
    broken,
    calls,
    completion,
    cut,
    dribbles,
    empty,
    events,
    fails,
    hangs_up,
    noisy,
    page,
    says,
    slow,
    streams,
)

__all__ = [
    "Reply",
    "Request",
    "Scripted",
    "ScriptedUpstream",
    "broken",
    "calls",
    "cut",
    "dribbles",
    "empty",
    "fails",
    "hangs_up",
    "noisy",
    "page",
    "says",
    "slow",
    "streams",
]


@dataclass(slots=True)
class ScriptedUpstream:
    """Sends the replies of the script in order, then repeats the last. Use it as a context
    manager."""

    script: Sequence[Reply]
    requests: list[Request] = field(default_factory=list)
    """The requests received so far."""
    keys: list[str] = field(default_factory=list)
    """The API key of each request."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set when a client disconnects before the end of a reply."""
    _server: ThreadingHTTPServer | None = None
    _done: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not self.script:
            raise ValueError("The script needs at least one reply.")

    @property
    def url(self) -> str:
        """The base URL, in the form the settings expect."""
        if self._server is None:
            raise RuntimeError("The scripted upstream is not running: use it in a `with` block.")
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedUpstream:
        self._server = _Server(("127.0.0.1", 0), self)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def reply(self, request: Request, key: str) -> Scripted:
        with self._lock:
            entry = self.script[min(len(self.requests), len(self.script) - 1)]
            self.requests.append(request)
            self.keys.append(key)
        return entry if isinstance(entry, Scripted) else entry(request)

    def rest(self, seconds: float) -> None:
        """Wait, but return when the server stops."""
        self._done.wait(seconds)

    def until(self, event: threading.Event, connection: socket.socket) -> None:
        """Wait for an event, but return when the server stops or the client disconnects."""
        while not event.wait(0.02) and not self._done.is_set():
            connection.settimeout(0.001)
            try:
                if not connection.recv(1, socket.MSG_PEEK):
                    raise BrokenPipeError
            except TimeoutError:
                pass
            finally:
                connection.settimeout(None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], upstream: ScriptedUpstream) -> None:
        super().__init__(address, _Handler)
        self.upstream = upstream

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Suppress the traceback of a client that disconnected."""
        self.upstream.left.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Send small pieces at once, so that tests can measure streaming times.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "script"}
        asked = self.path.rpartition("/models")[2].strip("/")
        if asked not in ("", "scripted"):
            return self._send(fails(404, message=f"no such model: {asked}"), b"")
        body = model if asked else {"object": "list", "data": [model]}
        return self._send(Scripted(), json.dumps(body).encode())

    def do_POST(self) -> None:
        upstream = cast(_Server, self.server).upstream
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/embeddings"):
            return self._send(Scripted(), _embeddings(json.loads(data)))
        if not self.path.endswith(("/chat/completions", "/responses")):
            return self._send(fails(404, message=f"no such path: {self.path}"), b"")
        request = json.loads(data)
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        reply = upstream.reply(request, key)
        upstream.rest(reply.wait)
        if reply.status == 0:
            self.close_connection = True
            return None
        if self.path.endswith("/responses") and reply.body is None:
            reply = fails(404, message="/responses needs a scripted body")
        if reply.body is None and request.get("stream") and reply.status == 200:
            return self._stream(reply, upstream)
        if reply.hold is not None:
            upstream.until(reply.hold[1], self.connection)
        return self._send(reply, json.dumps(completion(reply)).encode())

    def _send(self, reply: Scripted, made: bytes) -> None:
        body = made if reply.body is None else reply.body
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self._head(reply, headers)
        self.wfile.write(body if reply.cut is None else body[: reply.cut])
        self.close_connection = reply.cut is not None

    def _stream(self, reply: Scripted, upstream: ScriptedUpstream) -> None:
        self._head(reply, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for place, event in enumerate(events(reply)):
            if place == reply.cut:
                self.close_connection = True
                return
            if reply.hold is not None and place == reply.hold[0]:
                upstream.until(reply.hold[1], self.connection)
            noise = ": a comment\n\n" if reply.noise else ""
            self._chunk(f"{noise}data: {event}\n\n".encode(), reply.size)
            upstream.rest(reply.pause)
        self._chunk(b"data: [DONE]\n\n", reply.size)
        self._chunk(b"")

    def _head(self, reply: Scripted, headers: Mapping[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunk(self, data: bytes, size: int | None = None) -> None:
        step = size or len(data) or 1
        for start in range(0, len(data) or 1, step):
            part = data[start : start + step]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Suppress request logging."""


def _embeddings(request: Request) -> bytes:
    texts = request.get("input")
    texts = texts if isinstance(texts, list) else [texts]
    data = [{"object": "embedding", "index": n, "embedding": [1.0, 0.0]} for n in range(len(texts))]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    made = {"object": "list", "model": "scripted", "data": data, "usage": usage}
    return json.dumps(made).encode()
