"""Parses replies from their bytes: whole JSON objects, and streams of server-sent events."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from suffice.models.wire.endpoint import QUOTED, UP, URL, Endpoint, Kind, message_of
from suffice.text.one_line import one_line

DONE = b"[DONE]"
Event = tuple[str, bytes]
"""The name of an event (empty if it has none) and its data."""


@dataclass(slots=True)
class EventReader:
    """Parses bytes fed in parts. `close` returns a last event that lacks its final empty line."""

    _rest: bytes = b""
    _parts: list[bytes] = field(default_factory=list)
    """Parts of an incomplete line, after `_rest`."""
    _name: str = ""
    _data: list[bytes] = field(default_factory=list)
    _begun: bool = False

    def feed(self, part: bytes) -> Iterator[Event]:
        if self._begun and b"\n" not in part and b"\r" not in part:
            self._parts.append(part)
            return
        part = b"".join((self._rest, *self._parts, part))
        self._parts = []
        if not self._begun and len(part) >= len(BOM_UTF8):
            self._begun, part = True, part.removeprefix(BOM_UTF8)
        # A part may end inside a CRLF.
        part, later = (part[:-1], b"\r") if part.endswith(b"\r") else (part, b"")
        if b"\r" in part:
            part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = part.split(b"\n")
        self._rest = rest + later
        for line in lines:
            yield from self._line(line)

    def close(self) -> Iterator[Event]:
        if rest := b"".join((self._rest, *self._parts)):
            yield from self._line(rest.removeprefix(BOM_UTF8).rstrip(b"\r"))
            self._rest, self._parts = b"", []
        yield from self._event()

    def _line(self, line: bytes) -> Iterator[Event]:
        if not line:
            yield from self._event()
        elif line.startswith(b"data:"):
            data = line[5:].strip()
            if self._data and _separate(self._data[-1], data):
                yield from self._event()
            self._data.append(data)
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode("utf-8", "replace")

    def _event(self) -> Iterator[Event]:
        name, data = self._name, self._data
        self._name, self._data = "", []
        if data:
            yield name, b"\n".join(data)


def _separate(first: bytes, second: bytes) -> bool:
    """Whether two data lines are separate events although no empty line is between them: within a
    JSON value, no object follows another without a comma."""
    return first.endswith(b"}") and (second.startswith(b"{") or second == DONE)


@dataclass(slots=True)
class ReplyReader:
    """Parses a reply that is fed in parts and then closed. With `stream`, the reply is a stream of
    events; with `ends`, it must end with `[DONE]`."""

    endpoint: Endpoint
    stream: bool = False
    ends: bool = True
    done: bool = False
    """Whether `[DONE]` was received, so that nothing is left to read."""
    pending: int = 0
    """The number of bytes received since the last value."""
    _size: int = 0
    _parts: list[bytes] = field(default_factory=list)
    _events: EventReader = field(default_factory=EventReader)

    @classmethod
    def of_stream(cls, endpoint: Endpoint, content_type: str, *, ends: bool = True) -> ReplyReader:
        """The reader for a request that asked for a stream. A server that does not stream sends one
        object, which becomes one event."""
        whole = not content_type or re.search("json|html", content_type)
        return cls(endpoint, stream=not whole, ends=ends)

    def feed(self, part: bytes) -> Iterator[dict[str, Any]]:
        self._size += len(part)
        self.pending += len(part)
        if self._size > self.endpoint.most_bytes:
            most = self.endpoint.most_bytes
            raise self.endpoint.problem(f"its reply has more than {most:,} bytes", URL)
        if self.stream:
            yield from self._read(self._events.feed(part))
        else:
            self._parts.append(part)

    def close(self) -> Iterator[dict[str, Any]]:
        if not self.stream:
            yield self.value()
            return
        yield from self._read(self._events.close())
        if self.ends and not self.done:
            raise self.endpoint.problem("the stream ended early", UP)

    @property
    def body(self) -> bytes:
        """The body so far, if it is not a stream."""
        return b"".join(self._parts)

    def value(self) -> dict[str, Any]:
        """The JSON object of the whole reply, if it is not a stream."""
        return parsed(self.endpoint, self.body)

    def _read(self, events: Iterator[Event]) -> Iterator[dict[str, Any]]:
        for name, data in events:
            self.done = self.done or data == DONE
            if self.done:
                return
            self.pending = 0
            yield parsed(self.endpoint, data, error=name == "error")


def parsed(endpoint: Endpoint, data: bytes, *, error: bool = False) -> dict[str, Any]:
    """The JSON object in these bytes. Raise an error if it reports an error."""
    try:
        value = endpoint.decoded(data)
    except (ValueError, RecursionError):
        text = data[: 4 * QUOTED].decode("utf-8", "replace").strip()
        if text.startswith("<"):
            raise endpoint.problem("it replied with a web page, not with JSON", URL) from None
        raise endpoint.problem("its reply is not JSON", UP, one_line(text, QUOTED)) from None
    if not isinstance(value, dict):
        raise endpoint.problem("its reply is not a JSON object", UP)
    if error or value.get("error"):
        detail = message_of(value.get("error") or value)
        raise endpoint.problem("its reply reports an error", UP, detail, kind=Kind.FAILED)
    return value
