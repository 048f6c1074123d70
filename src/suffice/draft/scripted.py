"""A scripted upstream: an OpenAI-compatible server on loopback that replies as it is told.

For tests, yours too: it speaks the wire format, streams, and fails in every way that upstreams do.

>>> with ScriptedUpstream([fails(429, retry_after=0), says("Leave is 20 weeks. [1]")]) as upstream:
...     settings = DraftSettings(llm=upstream.url)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, cast

Request = Mapping[str, Any]
"""The body of a request, as it was sent."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """One reply. `cut` breaks the connection off after so many pieces (of a stream) or bytes."""

    text: str | None = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is, in place of what the text would make."""
    finish: str = "stop"
    cut: int | None = None
    wait: float = 0.0
    """Seconds before the reply."""
    pause: float = 0.0
    """Seconds between the pieces of a stream."""


Reply = Scripted | Callable[[Request], Scripted]


def says(text: str, *, finish: str = "stop") -> Scripted:
    """A whole reply; `finish` "length" is a text cut off at its limit."""
    return Scripted(text, finish=finish)


def fails(status: int, *, retry_after: float | None = None, message: str = "scripted") -> Scripted:
    """An error as OpenAI words it."""
    error = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
    headers = {"Content-Type": "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = f"{retry_after:g}"
    return Scripted(status=status, headers=headers, body=json.dumps(error).encode())


def page(status: int = 200) -> Scripted:
    """A web page where JSON was asked for."""
    body = b"<!doctype html><title>Welcome</title>"
    return Scripted(status=status, headers={"Content-Type": "text/html"}, body=body)


def broken() -> Scripted:
    """JSON that stops in the middle."""
    return Scripted(headers={"Content-Type": "application/json"}, body=b'{"choices": [{"mess')


def empty() -> Scripted:
    """A reply without a choice."""
    return Scripted(None)


def cut(text: str, after: int) -> Scripted:
    """A connection that breaks off after so many words of a stream, or bytes of a reply."""
    return Scripted(text, cut=after)


def slow(text: str, wait: float = 0.0, pause: float = 0.0) -> Scripted:
    """A reply that takes its time, before it or between its words."""
    return Scripted(text, wait=wait, pause=pause)


@dataclass(slots=True)
class ScriptedUpstream:
    """Replies in the order of the script, the last one for good. Use it as a context manager."""

    script: Sequence[Reply]
    requests: list[Request] = field(default_factory=list)
    """What was asked so far."""
    keys: list[str] = field(default_factory=list)
    """The key that came with each request."""
    _server: ThreadingHTTPServer | None = None
    _done: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not self.script:
            raise ValueError("A script holds at least one reply.")

    @property
    def url(self) -> str:
        """The base URL, as the settings take it."""
        if self._server is None:
            raise RuntimeError("The scripted upstream is not started: use it in a `with`.")
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
        """Waits, but not past the end of the server."""
        self._done.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], upstream: ScriptedUpstream) -> None:
        super().__init__(address, _Handler)
        self.upstream = upstream

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        upstream = cast(_Server, self.server).upstream
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.endswith("/chat/completions"):
            return self._send(fails(404, message=f"no such path: {self.path}"), b"")
        request = json.loads(data)
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        reply = upstream.reply(request, key)
        upstream.rest(reply.wait)
        if reply.body is None and request.get("stream") and reply.status == 200:
            return self._stream(reply, upstream)
        return self._send(reply, json.dumps(_completion(reply)).encode())

    def _send(self, reply: Scripted, made: bytes) -> None:
        body = made if reply.body is None else reply.body
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self._head(reply, headers)
        self.wfile.write(body if reply.cut is None else body[: reply.cut])
        self.close_connection = reply.cut is not None

    def _stream(self, reply: Scripted, upstream: ScriptedUpstream) -> None:
        self._head(reply, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for place, event in enumerate(_events(reply)):
            if place == reply.cut:
                self.close_connection = True
                return
            self._chunk(f"data: {event}\n\n".encode())
            upstream.rest(reply.pause)
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _head(self, reply: Scripted, headers: Mapping[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Says nothing."""


def _completion(reply: Scripted) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [] if reply.text is None else [choice],
        "usage": _usage(reply),
    }


def _events(reply: Scripted) -> Iterator[str]:
    """The reply word by word, then its end, then its usage."""
    words = (reply.text or "").split(" ")
    pieces = [word if place == 0 else f" {word}" for place, word in enumerate(words)]
    frame = {"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    if reply.text is not None:
        for piece in pieces:
            delta = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
            yield json.dumps({**frame, "choices": [delta]})
        end = {"index": 0, "delta": {}, "finish_reason": reply.finish}
        yield json.dumps({**frame, "choices": [end]})
    yield json.dumps({**frame, "choices": [], "usage": _usage(reply)})


def _usage(reply: Scripted) -> dict[str, int]:
    written = len((reply.text or "").split())
    return {"prompt_tokens": 10, "completion_tokens": written, "total_tokens": 10 + written}
