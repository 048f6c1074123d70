"""Calls an OpenAI-compatible URL: JSON or a stream of events, with a time limit and retries.

Every failure of the other side becomes a `ModelUnreachable` with a remedy.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from random import uniform
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from suffice.errors import ModelUnreachable

if TYPE_CHECKING:
    import ssl

    import httpx2

Body = Mapping[str, Any]

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_MOST_BYTES = 16_000_000
_QUOTED = 300

_WAIT = "Try again later, or raise the rate limits of your account."
_KEY = "Check the API key in the environment variable that key_env names."
_URL = "Check the URL. An OpenAI-compatible base URL looks like http://host:port/v1."
_UP = "Check that the server is up and the URL is right."
_SLOW = "Raise the timeout, or use a faster model."
_NAMED = "Correct the request as the message describes."


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that accepts JSON by POST. `wanted` names the expected result in error messages.
    `timeout` covers a whole call, retries and their waits included. `spare` lists parameters that
    some servers reject, each with its alternative name ("" to omit it); `lesser` holds a value to
    try once before that. `called` replaces the URL in error messages for readers who need not know
    it."""

    url: str
    key: str = field(default="", repr=False)
    wanted: str = "answer"
    timeout: float = 60.0
    retries: int = 0
    spare: Mapping[str, str] = field(default_factory=dict)
    called: str = ""
    lesser: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The URL as it may be shown: without user, password and query."""
        if self.called:
            return self.called
        try:
            parts = urlsplit(self.url)
        except ValueError:
            return self.url
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    def ask(self, body: Body, timeout: float | None = None) -> Any:
        """The JSON of the reply."""
        deadline = self._deadline(timeout)
        with self._opened(body, deadline) as reply:
            data = b"".join(self._read(reply, deadline))
        return self._parsed(data)

    def events(self, body: Body, timeout: float | None = None) -> Iterator[Any]:
        """The JSON of each server-sent event, until `[DONE]`. A server that does not stream and
        sends one JSON object gives one event. A stream that breaks off raises an error at that
        point."""
        deadline = self._deadline(timeout)
        with self._opened(body, deadline) as reply:
            if re.search("json|html", reply.headers.get("content-type", "")):
                yield self._parsed(b"".join(self._read(reply, deadline)))
                return
            for line in _lines(self._read(reply, deadline)):
                if not line.startswith(b"data:"):
                    continue
                data = line.removeprefix(b"data:").strip()
                if data == b"[DONE]":
                    return
                yield self._parsed(data)
        raise self.problem("the stream ended early", _UP)

    def problem(self, why: str, remedy: str) -> ModelUnreachable:
        why = why.replace(self.key, "…") if self.key else why
        return ModelUnreachable(
            f"{self.name} returned no {self.wanted}: {why.rstrip('.')}.", remedy=remedy
        )

    def _deadline(self, timeout: float | None) -> float:
        return monotonic() + min(self.timeout, math.inf if timeout is None else timeout)

    @contextmanager
    def _opened(self, body: Body, deadline: float) -> Iterator[httpx2.Response]:
        """A reply with status 200; any failure while it is read becomes a `ModelUnreachable`."""
        import httpx2

        try:
            with httpx2.Client(headers=self._headers(), verify=_certificates()) as client:
                reply = self._tried(client, body, deadline)
                try:
                    yield reply
                finally:
                    reply.close()
        except httpx2.TimeoutException:
            raise self.problem("it took too long", _SLOW) from None
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as problem:
            raise self.problem(f"it cannot be called: {problem}", _URL) from problem
        except (httpx2.HTTPError, OSError) as problem:
            raise self.problem(str(problem) or type(problem).__name__, _UP) from problem

    def _tried(self, client: httpx2.Client, body: Body, deadline: float) -> httpx2.Response:
        """Retry where it may help: no connection, a temporary refusal, a rejected optional
        parameter."""
        import httpx2

        tries = 0
        while True:
            wait = uniform(0.5, 1) * min(_FIRST_WAIT * 2**tries, _LONGEST_WAIT)
            try:
                reply = self._send(client, body, deadline)
            except (httpx2.ConnectError, httpx2.RemoteProtocolError, httpx2.ReadError):
                if tries == self.retries or wait >= deadline - monotonic():
                    raise
            else:
                if reply.is_success:
                    return reply
                said = self._complaint(reply, deadline)
                if reply.status_code == 400 and (less := self._spared(body, said)) is not None:
                    body = less
                    continue
                asked = retry_after(reply.headers)
                wait = wait if asked is None else asked
                last = tries == self.retries or wait >= deadline - monotonic()
                if last or reply.status_code not in AGAIN:
                    raise self._refusal(reply, said, asked)
            tries += 1
            sleep(wait)

    def _send(self, client: httpx2.Client, body: Body, deadline: float) -> httpx2.Response:
        remaining = deadline - monotonic()
        if remaining <= 0:
            raise self.problem("it took too long", _SLOW)
        # Escaped to ASCII, so that any text can be sent.
        content = json.dumps(body).encode()
        request = client.build_request("POST", self.url, content=content, timeout=remaining)
        return client.send(request, stream=True)

    def _headers(self) -> dict[str, str]:
        # No compression, so that the size limit applies to the bytes received.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise self.problem("the API key contains invalid characters", _KEY)
        return headers | ({"Authorization": f"Bearer {self.key}"} if self.key else {})

    def _read(self, reply: httpx2.Response, deadline: float) -> Iterator[bytes]:
        size = 0
        for part in reply.iter_bytes():
            size += len(part)
            if size > _MOST_BYTES:
                raise self.problem(f"its reply has more than {_MOST_BYTES:,} bytes", _URL)
            if monotonic() > deadline:
                raise self.problem("it took too long", _SLOW)
            yield part

    def _parsed(self, data: bytes) -> Any:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            text = data[: 4 * _QUOTED].decode("utf-8", "replace").strip()
            if text.startswith("<"):
                raise self.problem("it replied with a web page, not with JSON", _URL) from None
            raise self.problem(f"its reply is not JSON: {_clipped(text)!r}", _UP) from None
        if isinstance(value, dict) and value.get("error"):
            raise self.problem(message_of(value["error"]), _UP)
        return value

    def _complaint(self, reply: httpx2.Response, deadline: float) -> str:
        """The error message of a refusal."""
        data = b"".join(self._read(reply, deadline))
        reply.close()
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return ""
        return message_of(value["error"]) if isinstance(value, dict) and "error" in value else ""

    def _spared(self, body: Body, said: str) -> Body | None:
        """The body without the optional parameter that a refusal names, or with its lesser
        value."""
        for name, other in self.spare.items():
            if name in body and re.search(rf"\b{name}\b", said):
                if body[name] != self.lesser.get(name, body[name]):
                    return {**body, name: self.lesser[name]}
                rest = {key: value for key, value in body.items() if key != name}
                return rest | ({other: body[name]} if other else {})
        return None

    def _refusal(self, reply: httpx2.Response, said: str, asked: float | None) -> ModelUnreachable:
        why = f"it answered {reply.status_code} {reply.reason_phrase}".rstrip()
        why += f" and asks to wait {asked:.0f} s" if asked else ""
        return self.problem(f"{why}: {said}" if said else why, _remedy(reply.status_code))


def endpoint_url(base: str, path: str) -> str:
    """The full URL of `path` under a base URL; a base that already ends with it is unchanged."""
    return base.rstrip("/").removesuffix(f"/{path}").rstrip("/") + f"/{path}"


@cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates, cached: loading them takes longer than many calls."""
    import httpx2

    return httpx2.create_ssl_context()


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, separated by newlines only: JSON may contain other separators unescaped."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from (line.strip() for line in whole)
    yield rest.strip()


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait that the server requests, in seconds; the header may also hold a date."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            when = parsedate_to_datetime(said)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def message_of(error: Any) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return _clipped(said if isinstance(said, str) else json.dumps(error))


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"


def _remedy(status: int) -> str:
    if status in (401, 403):
        return _KEY
    if status in (404, 405) or 300 <= status < 400:
        return f"{_URL} Check the model name too."
    if status == 429:
        return _WAIT
    return _UP if status >= 500 else _NAMED
