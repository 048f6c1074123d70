"""Encode and decode JSON bodies and server-sent events."""

from __future__ import annotations

from typing import Any

import msgspec

JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream"
DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def decode(data: bytes) -> Any:
    """Decode JSON; raise `ValueError` if it is invalid."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError(str(problem)) from None


def event(value: Any, name: str = "") -> bytes:
    """Encode a server-sent event with an optional name."""
    head = f"event: {name}\n".encode() if name else b""
    return b"%bdata: %b\n\n" % (head, encode(value))
