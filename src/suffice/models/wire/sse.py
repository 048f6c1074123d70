"""Parses server-sent events incrementally, from parts of any size and with any line endings."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field

DONE = b"[DONE]"
Sent = tuple[str, bytes]
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

    def feed(self, part: bytes) -> Iterator[Sent]:
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

    def close(self) -> Iterator[Sent]:
        if rest := b"".join((self._rest, *self._parts)):
            yield from self._line(rest.removeprefix(BOM_UTF8).rstrip(b"\r"))
            self._rest, self._parts = b"", []
        yield from self._event()

    def _line(self, line: bytes) -> Iterator[Sent]:
        if not line:
            yield from self._event()
        elif line.startswith(b"data:"):
            data = line[5:].strip()
            if self._data and _separate(self._data[-1], data):
                yield from self._event()
            self._data.append(data)
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode("utf-8", "replace")

    def _event(self) -> Iterator[Sent]:
        name, data = self._name, self._data
        self._name, self._data = "", []
        if data:
            yield name, b"\n".join(data)


def _separate(first: bytes, second: bytes) -> bool:
    """Whether two data lines are separate events although no empty line is between them: within a
    JSON value, no object follows another without a comma."""
    return first.endswith(b"}") and (second.startswith(b"{") or second == DONE)
