"""Failures of a call: their kind, a message with a remedy, and how long to wait before a retry."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from suffice.errors import ModelUnreachable

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses of temporary failures: the same request may succeed later."""
PASSED = frozenset({400, 404, 413, 415, 422})
"""Statuses about the request itself: a retry would not help."""
QUOTED = 300
_LONGEST_NAME = 100

WAIT = "Try again later, or raise the rate limits of your account."
KEY = "Check the API key in the environment variable that key_env names."
URL = "Check the URL. An OpenAI-compatible base URL looks like http://host:port/v1."
UP = "Check that the server is up and the URL is right."
SLOW = "Raise the timeout, or use a faster model."
NAMED = "Correct the request as the server describes."


class Kind(StrEnum):
    """What went wrong, as named in the metrics."""

    CONNECTION = "connection"
    TIMEOUT = "timeout"
    RATE_LIMIT = "rate_limit"
    DENIED = "denied"
    REFUSED = "refused"
    FAILED = "failed"
    BROKEN = "broken"
    EMPTY = "empty"
    OPEN = "circuit_open"


class CallFailed(ModelUnreachable):
    """A call without a usable reply. `status` is the HTTP status (0 without a reply), `wait` the
    number of seconds that the server asks to wait, and `code` and `param` come from its error
    object. `detail` is the server's own text. It is untrusted, may quote the prompt, and is part of
    no message. With `again`, another attempt may succeed."""

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        detail: str = "",
        kind: Kind = Kind.BROKEN,
        status: int = 0,
        wait: float | None = None,
        error: Any = None,
        again: bool = False,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.detail = detail
        if detail:
            self.add_note(f"The server says: {detail}")  # for tracebacks
        self.kind = kind
        self.status = status
        self.wait = wait
        self.code = _name(error, "code")
        self.param = _name(error, "param")
        self.again = again


def kind_of(status: int) -> Kind:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Kind.RATE_LIMIT
    if status in (401, 403):
        return Kind.DENIED
    return Kind.REFUSED if status in PASSED else Kind.FAILED


def remedy_of(status: int) -> str:
    if status in (401, 403):
        return KEY
    if status in (404, 405) or 300 <= status < 400:
        return f"{URL} Check the model name too."
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return WAIT
    return UP if status >= 500 else NAMED


def phrase(status: int) -> str:
    """A status with its standard phrase, not the server's."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The number of seconds that the server asks to wait. The header may also give a date."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def message_of(error: Any) -> str:
    """The message of an error object, shortened to one line."""
    message = error.get("message") if isinstance(error, dict) else error
    return clipped(message if isinstance(message, str) else json.dumps(error))


def clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else f"{line[:QUOTED]}…"


def _name(error: Any, field: str) -> str | None:
    value = error.get(field) if isinstance(error, dict) else None
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else None
