"""The replies of a scripted upstream, including the ways in which upstreams fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
