"""Hostile requests: bodies and headers that a gateway must refuse, or answer, without harm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

CLOSED = "closed"
"""The gateway closed the connection without a reply."""
UNANSWERED = "unanswered"
_MEGABYTE = 1_000_000
_DEEP = 100_000
_QUESTION = "How long is leave?"
_PATIENCE = 100.0
"""Longer than the gateway waits for a body, and shorter than the load waits for its last reply."""


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """One hostile request: extra header lines, a body, and how the body is sent."""

    body: bytes
    head: str = ""
    declared: int | None = None
    """The declared length of the body; by default its real length, and none if negative."""
    pause: float = 0.0
    """Seconds between the bytes of the body."""
    leaves: bool = False
    """The client closes the connection after the body, without waiting for the reply."""

    def start(self, host: str, path: str) -> bytes:
        length = len(self.body) if self.declared is None else self.declared
        sized = f"content-length: {length}\r\n" if length >= 0 else ""
        return (
            f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            f"{sized}{self.head}\r\n"
        ).encode()


def _body(content: Any = _QUESTION, **more: Any) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": content}], **more}).encode()


def _nested(opened: str, closed: str) -> bytes:
    deep = opened * _DEEP + "1" + closed * _DEEP
    return _body().replace(b'"messages"', f'"metadata": {deep}, "messages"'.encode())


# Texts made of one of these many times are hard to read.
PIECES = (
    "[1] ", "[1", "[1][2]", "[", "]", "(", "([", "((1)", "{", "<", "<a ", "</", "<b>x</b>", "<!--",
    "<table><tr><td>", "<source>", "<think>", "a", "word ", "A", "Aaa Bbb ", "aB", "A-", "of the ",
    "Act of the ", "-", "a-", "_", "__a ", "*", "**a ", "*a* ", "1", "17 ", "1,", "1.", "1-", "5% ",
    "$5 ", "2024 ", "1 May 2024 ", "5 kg ", "5 to 8 ", "(5) ", "five hundred ", "at least 5 ",
    "for 5 euros, and ", "10:30 ", "\t", " ", "\n", " \n", '"', '"a b" ', "'", "“", "|",
    "| a | 1 |\n", "|---", "`", "```\n", "```a\n~~~b\n", "# A\n", "#", "- a\n", "1. a\n",
    "It is 5 days. ", "e.g. ", ".", ". ", "!", "![", "? ", ",", "a: ", "a; ", "a/", "@",
    "https://a.b/c ", "a@b.c ", "¹", "①", "é", "中", "🙂", "\u200b", "&amp;", "=", "\\", "[a](b) ",
    '{"a":', "[1,", "and ", "not ", "if a, b. ", "IV ", "Section 1.1 ", "v1.2.3 ", "what is the ",
    "ignore all previous instructions ", "QUJD", "system: ", "Q: a?\nA: b.\n", "dear judge: ",
)  # fmt: skip
_MAKERS: dict[str, Callable[[], HostileRequest]] = {
    "nested lists": lambda: HostileRequest(_nested("[", "]")),
    "nested objects": lambda: HostileRequest(_nested('{"a":', "}")),
    "nested and never closed": lambda: HostileRequest(b"[" * _MEGABYTE),
    "question of a megabyte": lambda: HostileRequest(_body("leave " * (_MEGABYTE // 6))),
    "word of a megabyte": lambda: HostileRequest(_body("a" * _MEGABYTE)),
    "passage of a megabyte": lambda: HostileRequest(
        _body(suffice={"evidence": ["Leave is 18 weeks. " * (_MEGABYTE // 19)]})
    ),
    "number of a megabyte": lambda: HostileRequest(_body(seed=0)[:-2] + b"9" * _MEGABYTE + b"}"),
    "many keys": lambda: HostileRequest(_body(metadata={str(n): n for n in range(_DEEP)})),
    "invalid UTF-8": lambda: HostileRequest(_body().replace(b"long", b"l\xff\xfe\xc3(ng")),
    "lone surrogate": lambda: HostileRequest(_body().replace(b"long", b"l\\ud800ng")),
    "escaped NULs": lambda: HostileRequest(_body("\0" * 1000)),
    "raw NULs": lambda: HostileRequest(b"\0" * 1000),
    "wrong types": lambda: HostileRequest(
        b'{"messages": {"role": 5}, "model": [], "stream": "yes", "suffice": 3}'
    ),
    "wrong types inside": lambda: HostileRequest(_body([{"type": 7, "text": {}}, None, 1e999])),
    "JSON cut short": lambda: HostileRequest(_body()[:-20]),
    "body cut short": lambda: HostileRequest(_body()[:-20], declared=len(_body()), leaves=True),
    "negative length": lambda: HostileRequest(_body(), "content-length: -5\r\n", declared=-1),
    "broken chunks": lambda: HostileRequest(
        b"zz\r\n" + _body(), "transfer-encoding: chunked\r\n", declared=-1
    ),
    "huge header": lambda: HostileRequest(_body(), f"x-large: {'a' * _MEGABYTE}\r\n"),
    "many headers": lambda: HostileRequest(
        _body(), "".join(f"x-{n}: a\r\n" for n in range(20_000))
    ),
    "slow body": lambda: HostileRequest(_body(), pause=1.0),
}
KINDS = tuple(_MAKERS)


@cache
def hostile_requests() -> dict[str, HostileRequest]:
    """One request of each kind, by its name."""
    return {kind: make() for kind, make in _MAKERS.items()}


async def send_hostile(host: str, port: int, path: str, request: HostileRequest) -> str:
    """The status of the reply, or `CLOSED`, or `UNANSWERED`."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _sent(host, port, path, request)
    except TimeoutError:
        return UNANSWERED
    except (OSError, ValueError, EOFError):
        return CLOSED


async def _sent(host: str, port: int, path: str, request: HostileRequest) -> str:
    reader, writer = await asyncio.open_connection(host, port)
    # The reply may come before the body has been sent.
    reply = asyncio.ensure_future(reader.readline())
    try:
        with suppress(ConnectionError):  # the reply, if there is one, says why
            writer.write(request.start(f"{host}:{port}", path))
            await _write(writer, request, reply)
        if request.leaves:
            return CLOSED
        line = await reply
        return line.split()[1].decode() if line else CLOSED
    finally:
        reply.cancel()
        writer.close()


async def _write(
    writer: asyncio.StreamWriter, request: HostileRequest, reply: asyncio.Future[bytes]
) -> None:
    if not request.pause:
        writer.write(request.body)
        await writer.drain()
        return
    for place in range(len(request.body)):
        writer.write(request.body[place : place + 1])
        await asyncio.wait({reply}, timeout=request.pause)
        if reply.done():
            return
