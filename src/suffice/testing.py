"""For your own tests: a scripted OpenAI-compatible server on loopback, and an assertion."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import suffice
from suffice.types import Action, Support, Verdict

if TYPE_CHECKING:
    from suffice.evidence.inputs import Given
    from suffice.settings import Settings


def assert_grounded(
    answer: str,
    evidence: Iterable[Given] | Given,
    question: str | None = None,
    *,
    uncited: bool = True,
    allow: Iterable[str] = (Action.SERVE,),
    settings: Settings | None = None,
) -> Verdict:
    """Fail unless every statement of the answer is backed by the evidence; return the verdict.

    `allow` names the accepted verdicts, `uncited=False` also requires citations as `[n]`.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    verdict = suffice.check(answer, evidence, question, uncited=uncited, settings=settings)
    if verdict.action not in tuple(allow):
        raise AssertionError("\n".join(_explained(verdict)))
    return verdict


def _explained(verdict: Verdict) -> Iterator[str]:
    from suffice.verdict.assess import claim_statuses

    yield f"The answer is not grounded: {verdict.action.value}. {verdict.reason}"
    for status in claim_statuses(verdict):
        if status.support is not Support.BACKED:
            yield f"  {status.support.value}: “{status.claim.text}” ({status.reason})"


Request = Mapping[str, Any]
"""The JSON body of a request."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """One reply. `cut` closes the connection after that many pieces of a stream, or bytes."""

    text: str | None = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent unchanged instead of a completion made from `text`."""
    finish: str = "stop"
    cut: int | None = None
    wait: float = 0.0
    """Seconds before the reply."""
    pause: float = 0.0
    """Seconds between the pieces of a stream."""
    pieces: Sequence[str] | None = None
    """The pieces of the stream; `None`: one per word."""
    size: int | None = None
    """The number of bytes per write; `None`: one event per write."""
    noise: bool = False
    """Add comments and a chunk without choices to the events, as some servers do."""
    hold: tuple[int, threading.Event] | None = None
    """After this number of pieces, the stream waits for the event."""
    message: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the message: tool calls, unknown fields."""
    others: Sequence[str] = ()
    """The texts of further choices."""


Reply = Scripted | Callable[[Request], Scripted]


def says(text: str, *others: str, finish: str = "stop") -> Scripted:
    """A complete reply; with `finish="length"`, it is cut off at the token limit. Each of `others`
    is another choice."""
    return Scripted(text, finish=finish, others=others)


def streams(*pieces: str, hold: tuple[int, threading.Event] | None = None) -> Scripted:
    """A reply streamed in these pieces."""
    return Scripted("".join(pieces), pieces=pieces, hold=hold)


def calls(name: str, arguments: str, text: str = "") -> Scripted:
    """A turn in which the model calls a tool."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return Scripted(text, finish="tool_calls", message={"tool_calls": [call]})


def fails(status: int, *, retry_after: float | None = None, message: str = "scripted") -> Scripted:
    """An error in OpenAI's format."""
    error = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
    headers = {"Content-Type": "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = f"{retry_after:g}"
    return Scripted(status=status, headers=headers, body=json.dumps(error).encode())


def page(status: int = 200) -> Scripted:
    """An HTML page instead of JSON."""
    body = b"<!doctype html><title>Welcome</title>"
    return Scripted(status=status, headers={"Content-Type": "text/html"}, body=body)


def broken() -> Scripted:
    """Truncated JSON."""
    return Scripted(headers={"Content-Type": "application/json"}, body=b'{"choices": [{"mess')


def empty() -> Scripted:
    """A reply without choices."""
    return Scripted(None)


def cut(text: str, after: int) -> Scripted:
    """A connection that closes after `after` words of a stream, or bytes of a plain reply."""
    return Scripted(text, cut=after)


def hangs_up() -> Scripted:
    """A connection that closes before the first byte of a reply."""
    return Scripted("", status=0)


def slow(text: str, wait: float = 0.0, pause: float = 0.0) -> Scripted:
    """A reply delayed at the start (`wait`) or between words (`pause`)."""
    return Scripted(text, wait=wait, pause=pause)


def dribbles(text: str, size: int = 1) -> Scripted:
    """A stream of single letters, each event written `size` bytes at a time."""
    return Scripted(text, pieces=list(text), size=size)


def noisy(text: str) -> Scripted:
    """A stream with comments, empty lines and a chunk without choices."""
    return Scripted(text, noise=True)


def completion(reply: Scripted) -> dict[str, Any]:
    """The reply as a chat completion object."""
    message = {"role": "assistant", "content": reply.text or None, **reply.message}
    texts = [message, *({"role": "assistant", "content": other} for other in reply.others)]
    choices = [
        {"index": n, "message": one, "finish_reason": reply.finish} for n, one in enumerate(texts)
    ]
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [] if reply.text is None else choices,
        "usage": _usage(reply),
    }


def events(reply: Scripted) -> Iterator[str]:
    """The reply as stream events: the pieces, the finish reason, the usage."""
    frame = {"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}

    def chunk(n: int, delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": n, "delta": delta, "finish_reason": finish}
        return json.dumps({**frame, "choices": [choice]})

    if reply.noise:
        yield json.dumps({**frame, "choices": [], "prompt_filter_results": []})
    if reply.text is not None:
        if reply.text or not reply.message:
            yield from (chunk(0, {"content": piece}) for piece in _pieces(reply))
        if reply.message:
            yield chunk(0, _indexed(reply.message))
        yield chunk(0, {}, reply.finish)
        for n, other in enumerate(reply.others, 1):
            words = _pieces(replace(reply, text=other, pieces=None))
            yield from (chunk(n, {"content": piece}) for piece in words)
            yield chunk(n, {}, reply.finish)
    yield json.dumps({**frame, "choices": [], "usage": _usage(reply)})


def _pieces(reply: Scripted) -> Sequence[str]:
    if reply.pieces is not None:
        return reply.pieces
    words = (reply.text or "").split(" ")
    return [word if place == 0 else f" {word}" for place, word in enumerate(words)]


def _indexed(message: Mapping[str, Any]) -> dict[str, Any]:
    made = message.get("tool_calls")
    indexed = [{**one, "index": n} for n, one in enumerate(made or ())]
    return {**message, **({"tool_calls": indexed} if made else {})}


def _usage(reply: Scripted) -> dict[str, int]:
    written = len((reply.text or "").split())
    return {"prompt_tokens": 10, "completion_tokens": written, "total_tokens": 10 + written}


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
