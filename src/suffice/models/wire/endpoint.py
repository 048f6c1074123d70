"""A URL that is called with JSON: the request to send, and errors about it."""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from suffice.errors import ModelUnreachable
from suffice.text.one_line import one_line

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
    return one_line(message if isinstance(message, str) else json.dumps(error), QUOTED)


def _name(error: Any, field: str) -> str | None:
    value = error.get(field) if isinstance(error, dict) else None
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else None


Body = Mapping[str, Any]


def _encoded(value: Any) -> bytes:
    # Escaped to ASCII, so that any text can be sent.
    return json.dumps(value).encode()


@dataclass(frozen=True, slots=True)
class Codec:
    """Converts JSON to bytes and back. `decode` raises `ValueError`."""

    encode: Callable[[Any], bytes] = _encoded
    decode: Callable[[bytes], Any] = json.loads


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send within `seconds`."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that accepts JSON by POST. `wanted` names the expected result in error messages.
    `timeout` covers a whole call including retries, and `patience` limits each wait between them.
    `spare` lists parameters that some servers reject, with an alternative name ("" to omit it);
    `lesser` holds a value to try first. `called` replaces the URL in error messages for readers who
    should not see it."""

    url: str
    key: str = field(default="", repr=False)
    wanted: str = "answer"
    timeout: float = 60.0
    retries: int = 0
    spare: Mapping[str, str] = field(default_factory=dict)
    called: str = ""
    lesser: Mapping[str, Any] = field(default_factory=dict)
    patience: float = 3600.0
    most_bytes: int = 16_000_000
    codec: Codec = Codec()

    @property
    def name(self) -> str:
        """The URL for display, without user, password and query."""
        if self.called:
            return self.called
        try:
            parts = urlsplit(self.url)
        except ValueError:
            return self.url
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    def request(self, body: Body | None, seconds: float) -> Request:
        """The request with this body, or a GET request without a body."""
        if seconds <= 0:
            raise self.late()
        # No compression, so that the size limit applies to the bytes received.
        headers = {"Accept-Encoding": "identity"}
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise self.problem("the API key contains invalid characters", KEY, kind=Kind.DENIED)
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        if body is None:
            return Request("GET", self.url, headers, None, seconds)
        headers["Content-Type"] = "application/json"
        return Request("POST", self.url, headers, self.codec.encode(body), seconds)

    def problem(self, why: str, remedy: str, detail: str = "", **more: Any) -> CallFailed:
        """The error for a failed call. `CallFailed` explains the other fields."""
        detail = detail.replace(self.key, "…") if self.key else detail
        message = f"{self.name} returned no {self.wanted}: {why.rstrip('.')}."
        return CallFailed(message, remedy=remedy, detail=detail, **more)

    def late(self) -> CallFailed:
        return self.problem("it took too long", SLOW, kind=Kind.TIMEOUT)

    def refusal(self, status: int, data: bytes, wait: float | None) -> CallFailed:
        """The error for a reply without a success status."""
        error = self._error_in(data)
        why = f"it answered {phrase(status)}"
        why += f" and asks to wait {wait:.0f} s" if wait else ""
        # Readers who cannot see the URL cannot act on a remedy about it.
        remedy = "" if self.called else remedy_of(status)
        detail = message_of(error) if error else ""
        if self.key and isinstance(error, dict):
            error = {
                name: value.replace(self.key, "…") if isinstance(value, str) else value
                for name, value in error.items()
            }
        return self.problem(
            why,
            remedy,
            detail,
            kind=kind_of(status),
            status=status,
            wait=wait,
            error=error,
            again=status in AGAIN,
        )

    def _error_in(self, data: bytes) -> Any:
        try:
            value = self.decoded(data)
        except (ValueError, RecursionError):
            return None
        return value.get("error") if isinstance(value, dict) else None

    def decoded(self, data: bytes) -> Any:
        """The JSON value in a reply. Some servers put a byte order mark before it."""
        return self.codec.decode(data.removeprefix(BOM_UTF8))

    def spared(self, body: Body | None, message: str) -> Body | None:
        """The body without the optional parameter that a refusal names, or with its lesser value;
        `None` if it names none."""
        for name, other in self.spare.items():
            if body and name in body and re.search(rf"\b{name}\b", message):
                if body[name] != self.lesser.get(name, body[name]):
                    return {**body, name: self.lesser[name]}
                rest = {key: value for key, value in body.items() if key != name}
                return rest | ({other: body[name]} if other else {})
        return None

    def failure(self, problem: Exception) -> CallFailed:
        """The `CallFailed` for an HTTP client exception. Other exceptions are raised again."""
        import httpx2

        if isinstance(problem, CallFailed):
            return problem
        if isinstance(problem, TimeoutError | httpx2.TimeoutException):
            return self.late()
        if isinstance(problem, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
            return self.problem("it cannot be called", URL, str(problem), kind=Kind.CONNECTION)
        if isinstance(problem, httpx2.HTTPError | OSError):
            again = httpx2.ConnectError | httpx2.RemoteProtocolError | httpx2.ReadError
            return self.problem(
                "the connection failed",
                UP,
                str(problem) or type(problem).__name__,
                kind=Kind.CONNECTION,
                again=isinstance(problem, again),
            )
        raise problem

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Convert HTTP client exceptions to `CallFailed`."""
        try:
            yield
        except CallFailed:
            raise
        except Exception as problem:
            raise self.failure(problem) from problem


def endpoint_url(base: str, path: str) -> str:
    """The full URL of `path` under a base URL. A base that already ends with it is unchanged."""
    return base.rstrip("/").removesuffix(f"/{path}").rstrip("/") + f"/{path}"
