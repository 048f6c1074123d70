"""Parses replies into JSON objects: one for a whole reply, or one for each event of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from suffice.models.wire.endpoint import Endpoint
from suffice.models.wire.failures import QUOTED, UP, URL, Kind, clipped, message_of
from suffice.models.wire.sse import DONE, EventReader


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
            yield parsed(self.endpoint, self.body)
            return
        yield from self._read(self._events.close())
        if self.ends and not self.done:
            raise self.endpoint.problem("the stream ended early", UP)

    @property
    def body(self) -> bytes:
        """The body so far, if it is not a stream."""
        return b"".join(self._parts)

    def _read(self, events: Iterator[tuple[str, bytes]]) -> Iterator[dict[str, Any]]:
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
        raise endpoint.problem("its reply is not JSON", UP, clipped(text)) from None
    if not isinstance(value, dict):
        raise endpoint.problem("its reply is not a JSON object", UP)
    if error or value.get("error"):
        said = message_of(value.get("error") or value)
        raise endpoint.problem("its reply reports an error", UP, said, kind=Kind.FAILED)
    return value
