"""The client for a route's upstream: sends a request and returns a completion or a stream, within a
timeout.

Every failure is an `UpstreamFault` with the status for our caller. Only the configured address is
called, and the upstream's key never appears in a response, error or log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from logging import DEBUG, WARNING
from random import uniform
from typing import Any

import httpx2

from suffice.errors import ModelUnreachable
from suffice.models.wire import AGAIN, Endpoint, endpoint_url, message_of, retry_after
from suffice.server.errors import ApiError
from suffice.server.json_body import decode, encode
from suffice.server.sse import DONE, EventReader, Sent
from suffice.server.telemetry.stats import NOW, upstream_failed

log = logging.getLogger("suffice.server")
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_MOST_BYTES = 64_000_000
_LONGEST_NAME = 100
CHAT, RESPONSES = "chat/completions", "responses"
_PASSED = frozenset({400, 404, 413, 415, 422})
"""Statuses about the request itself, which are passed on to the caller."""

_KINDS = {429: "rate_limit", 504: "timeout", **dict.fromkeys(_PASSED, "refused")}
_CONNECTION, _BROKEN, _DENIED = "connection", "broken", "denied"

EMPTY = ModelUnreachable(
    "The upstream gave no answer: its reply contains no text.",
    remedy="Check that the model writes text; for a reasoning model, raise the token limit.",
)


class UpstreamFault(ModelUnreachable):
    """A failed upstream call, with the status for our caller. Its kind is added to the statistics
    of the current request, whether or not the request succeeds in the end."""

    def __init__(
        self,
        problem: ModelUnreachable,
        status: int = 502,
        wait: float = 0,
        kind: str = "",
        error: Any = None,
    ) -> None:
        super().__init__(problem.message, remedy=problem.remedy)
        self.status = status
        self.wait = wait
        self._error: Mapping[str, Any] = error if isinstance(error, dict) else {}
        kind = "empty" if problem is EMPTY else kind or _KINDS.get(status, "failed")
        upstream_failed(kind)
        # The message may quote the prompt, so it goes to the caller but not to the log.
        log.log(DEBUG if self.passed else WARNING, "Upstream call failed: %s", kind)

    @property
    def passed(self) -> bool:
        """Whether the caller's request is at fault, so that quotations would not help."""
        return self.status in _PASSED

    @property
    def fault(self) -> ApiError:
        headers = {"Retry-After": f"{max(self.wait, 1):.0f}"} if self.status == 429 else {}
        code = {429: "upstream_rate_limit", 504: "upstream_timeout"}.get(self.status)
        code = code or self._named("code") or "upstream_failed"
        return ApiError(self.status, str(self), code, self._named("param"), headers)

    def _named(self, name: str) -> str | None:
        """A field of the upstream's error object, if the caller's request is at fault."""
        value = self._error.get(name) if self.passed else None
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Upstream:
    """One base URL and the client that calls it."""

    base: str
    key: str = field(repr=False)
    client: httpx2.AsyncClient = field(repr=False)
    timeout: float = 120.0
    retries: int = 2

    async def ask(self, body: Mapping[str, Any], path: str = CHAT) -> dict[str, Any]:
        """The complete reply to a POST request."""
        endpoint = self._endpoint(path)
        async with self._opened(endpoint, body) as reply:
            return self._object(endpoint, await self._whole(endpoint, reply))

    async def get(self, path: str) -> dict[str, Any]:
        """The reply to a GET request."""
        endpoint = self._endpoint(path)
        async with self._opened(endpoint, None) as reply:
            return self._object(endpoint, await self._whole(endpoint, reply))

    async def events(
        self, body: Mapping[str, Any], path: str = CHAT
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The chunks of a streamed reply; a server that does not stream yields one."""
        endpoint = self._endpoint(path)
        until = asyncio.get_running_loop().time() + self.timeout
        async with self._opened(endpoint, body) as reply:
            if "event-stream" not in reply.headers.get("content-type", ""):
                yield self._object(endpoint, await self._whole(endpoint, reply))
                return
            async for name, data in self._sent(endpoint, reply, until):
                if data == DONE:
                    return
                yield self._object(endpoint, data, error=name == "error")
        if path == CHAT:  # other streams end with a final event of their own
            raise _broken(endpoint, "the stream ended in the middle")

    async def _sent(
        self, endpoint: Endpoint, reply: httpx2.Response, until: float
    ) -> AsyncIterator[Sent]:
        reader, size, parts = EventReader(), 0, aiter(reply.aiter_bytes())
        while True:
            # Each part may be read by another task, and a timeout applies to one task only.
            async with asyncio.timeout_at(until):
                part = await anext(parts, None)
            if part is None:
                break
            size += len(part)
            if size > _MOST_BYTES:
                raise _broken(endpoint, "its reply is too long", "")
            for one in reader.feed(part):
                yield one
        for one in reader.close():
            yield one

    def _endpoint(self, path: str) -> Endpoint:
        url = endpoint_url(self.base.removesuffix("/chat/completions"), path)
        return Endpoint(url, self.key, called="The upstream")

    @asynccontextmanager
    async def _opened(
        self, endpoint: Endpoint, body: Mapping[str, Any] | None
    ) -> AsyncIterator[httpx2.Response]:
        """A successful reply; the whole call must finish within `timeout` seconds."""
        try:
            async with asyncio.timeout(self.timeout):
                reply = await self._tried(endpoint, body)
                try:
                    yield reply
                finally:
                    await reply.aclose()
        except (TimeoutError, httpx2.TimeoutException):
            raise UpstreamFault(endpoint.problem("it took too long", _SLOW), 504) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
            why = str(problem) or type(problem).__name__
            raise UpstreamFault(endpoint.problem(why, _UP), kind=_CONNECTION) from problem

    async def _tried(self, endpoint: Endpoint, body: Mapping[str, Any] | None) -> httpx2.Response:
        tries = 0
        while True:
            wait = uniform(0.5, 1) * min(_FIRST_WAIT * 2**tries, _LONGEST_WAIT)
            try:
                reply = await self._send(endpoint, body)
            except (httpx2.ConnectError, httpx2.RemoteProtocolError, httpx2.ReadError):
                if tries >= self.retries:
                    raise
                upstream_failed(_CONNECTION)
            else:
                if reply.is_success:
                    return reply
                refusal, wait = await self._refused(endpoint, reply, wait)
                if tries >= self.retries or reply.status_code not in AGAIN or wait > self.timeout:
                    raise refusal
            tries += 1
            await asyncio.sleep(wait)

    async def _send(self, endpoint: Endpoint, body: Mapping[str, Any] | None) -> httpx2.Response:
        if (stats := NOW.get()) is not None and body is not None:
            stats.model = str(body.get("model") or "")
        headers = {"Accept-Encoding": "identity"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        if body is None:
            request = self.client.build_request("GET", endpoint.url, headers=headers)
        else:
            headers["Content-Type"] = "application/json"
            request = self.client.build_request(
                "POST", endpoint.url, content=encode(body), headers=headers
            )
        return await self.client.send(request, stream=True)

    async def _refused(
        self, endpoint: Endpoint, reply: httpx2.Response, wait: float
    ) -> tuple[UpstreamFault, float]:
        """The error of a non-2xx reply, and how long to wait before the next attempt."""
        data = await self._whole(endpoint, reply)
        await reply.aclose()
        try:
            value = decode(data)
        except ValueError:
            value = None
        error = value.get("error") if isinstance(value, dict) else None
        message = message_of(error) if error else ""
        asked = retry_after(reply.headers)
        why = f"it answered {reply.status_code}" + (f": {message}" if message else "")
        known = reply.status_code in _PASSED | {429}
        status = reply.status_code if known else 502
        kind = _DENIED if reply.status_code in (401, 403) else ""
        named = {name: self._shown(error, name) for name in ("code", "param")}
        fault = UpstreamFault(endpoint.problem(why, ""), status, asked or wait, kind, named)
        return fault, wait if asked is None else asked

    def _shown(self, error: Any, name: str) -> str | None:
        value = error.get(name) if isinstance(error, dict) else None
        if not isinstance(value, str) or len(value) > _LONGEST_NAME:
            return None
        return value.replace(self.key, "…") if self.key else value

    async def _whole(self, endpoint: Endpoint, reply: httpx2.Response) -> bytes:
        parts, size = [], 0
        async for part in reply.aiter_bytes():
            size += len(part)
            if size > _MOST_BYTES:
                raise _broken(endpoint, "its reply is too long", "")
            parts.append(part)
        return b"".join(parts)

    def _object(self, endpoint: Endpoint, data: bytes, *, error: bool = False) -> dict[str, Any]:
        try:
            value = decode(data)
        except ValueError:
            page = data.lstrip().startswith(b"<")
            why = "it replied with a web page, not JSON" if page else "its reply is not JSON"
            raise _broken(endpoint, why) from None
        if not isinstance(value, dict):
            raise _broken(endpoint, "its reply is not a JSON object")
        if error or value.get("error"):
            why = message_of(value.get("error") or value)
            raise UpstreamFault(endpoint.problem(why, _UP))
        return value


def _broken(endpoint: Endpoint, why: str, remedy: str | None = None) -> UpstreamFault:
    """The error for a reply that cannot be parsed."""
    return UpstreamFault(endpoint.problem(why, _UP if remedy is None else remedy), kind=_BROKEN)


_UP = "Check that the server is up and the URL is correct."
_SLOW = "Raise the route's timeout, or use a faster model."
