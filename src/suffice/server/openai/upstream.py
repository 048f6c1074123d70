"""The client for a route's upstream. It returns a completion or a stream, within a timeout.

Every failure is an `UpstreamFault` with the status for our caller. Only the configured address is
called, and the upstream's key never appears in a response, error or log.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from logging import INFO, WARNING
from typing import Any, ParamSpec, Protocol, TypeVar

import httpx2

from suffice.errors import ModelUnreachable
from suffice.models.wire.client import fetch, stream
from suffice.models.wire.endpoint import (
    PASSED,
    Body,
    CallFailed,
    Codec,
    Endpoint,
    Kind,
    Request,
    endpoint_url,
)
from suffice.server.errors import ApiError, decode, encode
from suffice.server.openai.passthrough import reads_as_text
from suffice.server.sending import offload
from suffice.server.telemetry.stats import CURRENT_STATS, FIELDS, TEXTS, fell_back, upstream_failed
from suffice.settings import BreakerSettings

log = logging.getLogger("suffice.server")
_MOST_BYTES, _MOST_STREAMED = 16_000_000, 64_000_000
_PATIENCE = 10.0
"""Maximum seconds to wait before a retry. If the upstream asks for more, its 429 is returned at
once."""
_CODEC = Codec(encode, decode)
CHAT, RESPONSES = "chat/completions", "responses"
_CODES = {429: "upstream_rate_limit", 503: "upstream_unavailable", 504: "upstream_timeout"}
_STATUSES = {Kind.RATE_LIMIT: 429, Kind.OPEN: 503, Kind.TIMEOUT: 504}
P = ParamSpec("P")
T = TypeVar("T")
_NAMED = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+|\[\d{1,4}\])*")
_url = lru_cache(maxsize=256)(httpx2.URL)
"""Parses a URL. Each upstream is called at the same few."""

EMPTY = CallFailed(
    "The upstream returned no answer: its reply contains no text.",
    remedy="Check that the model writes text; for a reasoning model, raise the token limit.",
    kind=Kind.EMPTY,
)


_LATER = "Try again later. If the problem persists, ask the operator of the gateway."
_REMEDIES = {
    Kind.DENIED: "Ask the operator of the gateway to check the upstream's API key.",
    Kind.EMPTY: EMPTY.remedy,
    Kind.OPEN: "Try again later.",
}
_REFUSED = {404: "Check the model name.", 413: "Shorten the request."}
_PARAMETERS = "Check the parameters of the request; the gateway's log has the upstream's message."


def _remedy(failed: CallFailed) -> str:
    """What the caller of the gateway can do."""
    if failed.kind is Kind.RATE_LIMIT:
        return f"Try again in {max(failed.wait or 0, 1):.0f} s."
    if failed.kind is Kind.REFUSED:
        return _REFUSED.get(failed.status, _PARAMETERS)
    return _REMEDIES.get(failed.kind, _LATER)


class UpstreamFault(ModelUnreachable):
    """A failed upstream call, with a message and a status for our caller. Its kind is added to the
    statistics of the current request, even if the request succeeds in the end."""

    def __init__(self, failed: CallFailed) -> None:
        super().__init__(failed.message, remedy=_remedy(failed))
        self.kind = failed.kind
        self.wait = failed.wait or 0.0
        self.status = _STATUSES.get(failed.kind, 502)
        if failed.kind is Kind.REFUSED:
            self.status = failed.status
        self._code, self._param = _name(failed.code), _name(failed.param)
        noted(failed)

    @property
    def passed(self) -> bool:
        """Whether the caller's request is at fault, so that quotations would not help."""
        return self.status in PASSED

    @property
    def fault(self) -> ApiError:
        waits = self.status in (429, 503)
        headers = {"Retry-After": f"{max(self.wait, 1):.0f}"} if waits else {}
        code = _CODES.get(self.status) or (self._code if self.passed else None)
        param = self._param if self.passed else None
        return ApiError(self.status, str(self), code or "upstream_failed", param, headers)


def _name(value: str | None) -> str | None:
    """A name of an error or parameter from the upstream's error object, such as `bad_value` or
    `messages[0].content`. Anything else may be text, markup or a key."""
    named = value is not None and _NAMED.fullmatch(value) and not reads_as_text(value)
    return value if named else None


def noted(failed: CallFailed) -> None:
    """Count and log a failed attempt. The upstream's message may quote the prompt, so it is logged
    only if texts may be logged."""
    upstream_failed(failed.kind)
    fields = {"upstream_status": failed.status, "upstream_code": _name(failed.code)}
    extra = {FIELDS: fields, TEXTS: {"upstream_message": failed.detail}}
    level = INFO if failed.kind is Kind.REFUSED else WARNING
    log.log(level, "Upstream call failed: %s", failed.kind, extra=extra)


class UpstreamClient(Protocol):
    """The upstream of a route, with one or several addresses."""

    async def ask(self, body: Body, path: str = CHAT) -> dict[str, Any]:
        """The complete reply to a POST request."""
        ...

    async def get(self, path: str) -> dict[str, Any]:
        """The reply to a GET request."""
        ...

    def events(self, body: Body, path: str = CHAT) -> AsyncGenerator[dict[str, Any], None]:
        """The chunks of a streamed reply; a single chunk if the server does not stream."""
        ...


@dataclass(frozen=True, slots=True)
class Upstream:
    """A base URL and its client. `until`, a deadline on the event loop's clock, replaces
    `timeout`."""

    base: str
    key: str = field(repr=False)
    client: httpx2.AsyncClient = field(repr=False)
    timeout: float = 120.0
    retries: int = 2

    async def ask(
        self, body: Body, path: str = CHAT, *, until: float | None = None
    ) -> dict[str, Any]:
        return await self._fetched(path, body, until)

    async def get(self, path: str, *, until: float | None = None) -> dict[str, Any]:
        return await self._fetched(path, None, until)

    async def events(
        self, body: Body, path: str = CHAT, *, until: float | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        endpoint, until = self._endpoint(path, _MOST_STREAMED), self._until(until)
        _note_model(body)
        # Streams of other paths have their own final event.
        values = stream(endpoint, body, until, EventLoopTransport(self.client), ends=path == CHAT)
        with _faults():
            async with aclosing(values):
                async for value in values:
                    yield value

    def late(self) -> UpstreamFault:
        return UpstreamFault(self._endpoint(CHAT).late())

    async def _fetched(self, path: str, body: Body | None, until: float | None) -> dict[str, Any]:
        endpoint, until = self._endpoint(path), self._until(until)
        _note_model(body)
        with _faults():
            return await fetch(endpoint, body, until, EventLoopTransport(self.client))

    def _until(self, until: float | None) -> float:
        return asyncio.get_running_loop().time() + self.timeout if until is None else until

    def _endpoint(self, path: str, most: int = _MOST_BYTES) -> Endpoint:
        return Endpoint(
            endpoint_url(self.base.removesuffix("/chat/completions"), path),
            self.key,
            timeout=self.timeout,
            retries=self.retries,
            called="The upstream",
            patience=_PATIENCE,
            most_bytes=most,
            codec=_CODEC,
        )


def _note_model(body: Body | None) -> None:
    """Note the requested model in the statistics of the current request."""
    if (stats := CURRENT_STATS.get()) is not None and body is not None:
        stats.model = str(body.get("model") or "")


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except CallFailed as failed:
        raise UpstreamFault(failed) from failed.__cause__


@dataclass(frozen=True, slots=True)
class EventLoopTransport:
    """Runs calls on the event loop."""

    client: httpx2.AsyncClient

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    async def send(self, request: Request, until: float) -> httpx2.Response:
        built = self.client.build_request(
            request.method,
            _url(request.url),
            content=request.content,
            headers=dict(request.headers),
        )
        async with asyncio.timeout_at(until):
            return await self.client.send(built, stream=True)

    async def parts(
        self, endpoint: Endpoint, response: httpx2.Response, until: float
    ) -> AsyncGenerator[bytes, None]:
        parts = aiter(response.aiter_bytes())
        while True:
            # Each part may be read by another task, and a timeout applies to one task only.
            async with asyncio.timeout_at(until):
                part = await anext(parts, None)
            if part is None:
                return
            yield part

    async def close(self, response: httpx2.Response) -> None:
        await response.aclose()

    async def wait(self, seconds: float, failed: CallFailed) -> None:
        noted(failed)
        await asyncio.sleep(seconds)

    async def compute(
        self, size: int | None, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        stats = CURRENT_STATS.get()
        if size is None:
            size = stats.received if stats else 0
        return await offload(size, call, *args, **kwargs)


class State(StrEnum):
    CLOSED = "closed"
    """Requests are sent."""
    HALF_OPEN = "half_open"
    """The pause is over. One trial request at a time decides whether to close again."""
    OPEN = "open"
    """No request is sent."""


@dataclass(slots=True)
class Breaker:
    """Counts consecutive faults. Call `enter` before a request. If it returns true, call exactly
    one of `succeeded`, `failed` and `left` afterwards. Not thread-safe."""

    settings: BreakerSettings = field(default_factory=BreakerSettings)
    clock: Callable[[], float] = time.monotonic
    limited: bool = False
    """Whether the last fault was a rate limit."""
    _faults: int = 0
    _until: float | None = None
    """When the pause ends; `None` if closed."""
    _trying: bool = False

    @property
    def state(self) -> State:
        if self._until is None:
            return State.CLOSED
        return State.OPEN if self.clock() < self._until else State.HALF_OPEN

    @property
    def ready(self) -> bool:
        """Whether `enter` would return true."""
        state = self.state
        return state is State.CLOSED or (state is State.HALF_OPEN and not self._trying)

    @property
    def wait(self) -> float:
        """Seconds until the pause ends."""
        return max((self._until or 0.0) - self.clock(), 0.0)

    def enter(self) -> bool:
        if not self.ready:
            return False
        self._trying = self.state is State.HALF_OPEN
        return True

    def succeeded(self) -> None:
        self._faults, self._until, self._trying = 0, None, False

    def failed(self, wait: float = 0.0, *, limited: bool = False) -> None:
        """Count a fault. The pause is at least as long as the upstream asks to wait."""
        self._faults, self.limited = self._faults + 1, limited
        most = self.settings.faults
        if self._trying or (most and self._faults >= most):
            self._until = self.clock() + max(self.settings.seconds, wait)
        self._trying = False

    def left(self) -> None:
        """End a request without a result, for example because the client disconnected."""
        self._trying = False


_PAUSED = "The upstream returned no answer: all upstreams of this route are paused after failures."


@dataclass(slots=True)
class Target:
    """One upstream of a route. `current` is its turn in the smooth weighted round-robin."""

    name: str
    upstream: Upstream
    weight: int = 1
    model: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    first_token: float = 0.0
    breaker: Breaker = field(default_factory=Breaker)
    current: int = 0

    def body(self, body: Body) -> Body:
        """The request body with this upstream's name for the model."""
        asked = body.get("model") or ""
        name = self.models.get(asked) or self.model or asked
        return body if name == asked else {**body, "model": name}

    def first(self, until: float) -> float:
        """The deadline for the first token."""
        now = asyncio.get_running_loop().time()
        return min(until, now + self.first_token) if self.first_token else until

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Report the result of a call to the breaker."""
        try:
            yield
        except UpstreamFault as fault:
            if fault.passed:  # the upstream works; the request is at fault
                self.breaker.succeeded()
            else:
                self.breaker.failed(fault.wait, limited=fault.kind is Kind.RATE_LIMIT)
            raise
        except BaseException:
            self.breaker.left()
            raise
        self.breaker.succeeded()


@dataclass(frozen=True, slots=True)
class Upstreams:
    """Calls the upstreams of a route; used like a single `Upstream`."""

    targets: Sequence[Target]
    timeout: float = 120.0

    @property
    def states(self) -> dict[str, str]:
        """The state of each circuit breaker."""
        return {one.name: one.breaker.state.value for one in self.targets}

    async def ask(self, body: Body, path: str = CHAT) -> dict[str, Any]:
        until = self._until()
        return await self._first(
            lambda target, one: one.ask(target.body(body), path, until=target.first(until))
        )

    async def get(self, path: str) -> dict[str, Any]:
        until = self._until()
        return await self._first(lambda target, one: one.get(path, until=target.first(until)))

    async def events(self, body: Body, path: str = CHAT) -> AsyncGenerator[dict[str, Any], None]:
        """The chunks of the first upstream that sends a token."""
        until, faults = self._until(), list[UpstreamFault]()
        for target, one in self._tries(faults):
            async with aclosing(one.events(target.body(body), path, until=until)) as events:
                try:
                    with target.counted():
                        begun = await _begun(events, path, target.first(until), one)
                except UpstreamFault as fault:
                    self._noted(target, fault, faults)
                    continue
                for value in begun:
                    yield value
                async for value in events:
                    yield value
                return
        raise _told(faults, self.targets)

    async def _first(
        self, call: Callable[[Target, Upstream], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        faults = list[UpstreamFault]()
        for target, one in self._tries(faults):
            try:
                with target.counted():
                    return await call(target, one)
            except UpstreamFault as fault:
                self._noted(target, fault, faults)
        raise _told(faults, self.targets)

    def _tries(self, faults: Sequence[UpstreamFault]) -> Iterator[tuple[Target, Upstream]]:
        """The upstreams to call, in order. Only the last call is retried."""
        ready = [one for one in self._ordered() if one.breaker.ready]
        for n, target in enumerate(ready):
            # Another request may already be the trial of a half-open breaker.
            if not target.breaker.enter():
                continue
            if faults:
                log.warning("Upstream fallback: trying '%s'.", target.name)
            last = n == len(ready) - 1
            yield target, target.upstream if last else replace(target.upstream, retries=0)

    def _ordered(self) -> list[Target]:
        """The next upstream by smooth weighted round-robin, then the others by weight."""
        ready = [one for one in self.targets if one.weight and one.breaker.ready]
        for one in ready:
            one.current += one.weight
        chosen = max(ready, key=lambda one: one.current, default=None)
        if chosen is not None:
            chosen.current -= sum(one.weight for one in ready)
        return sorted(self.targets, key=lambda one: (one is not chosen, -one.weight))

    def _noted(self, target: Target, fault: UpstreamFault, faults: list[UpstreamFault]) -> None:
        if fault.passed:
            raise fault
        faults.append(fault)
        fell_back(target.name)

    def _until(self) -> float:
        return asyncio.get_running_loop().time() + self.timeout


async def _begun(
    events: AsyncGenerator[dict[str, Any], None], path: str, first: float, upstream: Upstream
) -> list[dict[str, Any]]:
    """The chunks up to the first chunk with a token."""
    held = []
    try:
        async with asyncio.timeout_at(first):
            async for value in events:
                held.append(value)
                if path != CHAT or _has_token(value):
                    break
    except TimeoutError:
        raise upstream.late() from None
    return held


def _has_token(value: Mapping[str, Any]) -> bool:
    """Whether a chunk contains more than a role."""
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        said = choice.get("delta") or choice.get("message")
        fields = said.items() if isinstance(said, dict) else ()
        if choice.get("finish_reason") or any(v for name, v in fields if name != "role"):
            return True
    return False


def _told(faults: Sequence[UpstreamFault], targets: Sequence[Target]) -> UpstreamFault:
    """The fault to report: a rate limit if there is one, because it says when to retry."""
    limited = [one for one in faults if one.kind is Kind.RATE_LIMIT]
    if limited:
        return min(limited, key=lambda one: one.wait)
    if faults:
        return faults[-1]
    breakers = [one.breaker for one in targets]
    kind = Kind.RATE_LIMIT if all(one.limited for one in breakers) else Kind.OPEN
    wait = min(one.wait for one in breakers)
    return UpstreamFault(CallFailed(_PAUSED, kind=kind, wait=wait))
