"""A canned upstream for measuring: an OpenAI-compatible server with almost no latency.

Run: python -m benchmarks.canned PORT. It returns the value of the field `canned` of the request,
or a fixed answer; with `"stream": true` in pieces.
"""

from __future__ import annotations

import asyncio
import json
import sys

PIECES = 20
TEXT = "Parental leave lasts eighteen weeks and is paid in full by the employer. " * 2


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "canned",
            "object": "chat.completion",
            "created": 0,
            "model": "canned",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 30, "total_tokens": 40},
        }
    ).encode()


def events(text: str) -> bytes:
    size = max(len(text) // PIECES, 1)
    frame = {"id": "canned", "object": "chat.completion.chunk", "created": 0, "model": "canned"}
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    deltas = [{"index": 0, "delta": {"content": one}, "finish_reason": None} for one in pieces]
    choices = [*deltas, {"index": 0, "delta": {}, "finish_reason": "stop"}]
    lines = [{**frame, "choices": [choice]} for choice in choices]
    return b"".join(b"data: %b\n\n" % json.dumps(line).encode() for line in lines) + (
        b"data: [DONE]\n\n"
    )


def _whole(body: bytes, kind: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
    return head % (kind, len(body)) + body


_PLAIN = _whole(completion(TEXT), b"application/json")
_STREAM = _whole(events(TEXT), b"text/event-stream")


def answer(body: bytes) -> bytes:
    """The reply to a request body; the fixed reply is prepared in advance."""
    streams = b'"stream":true' in body or b'"stream": true' in body
    if b'"canned":' not in body:
        return _STREAM if streams else _PLAIN
    text = str(json.loads(body)["canned"])
    if streams:
        return _whole(events(text), b"text/event-stream")
    return _whole(completion(text), b"application/json")


class Canned(asyncio.Protocol):
    """A minimal HTTP server for the clients here: requests with a length, one after another."""

    def __init__(self) -> None:
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while True:
            head, found, rest = self._rest.partition(b"\r\n\r\n")
            if not found:
                return
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line[15:])
            if len(rest) < length:
                return
            body, self._rest = rest[:length], rest[length:]
            self._transport.write(answer(body))


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Canned, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
