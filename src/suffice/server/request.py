"""Admit a request: authenticate the caller, apply limits, and turn failures into API errors."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from suffice.access.keys import Principal, Role
from suffice.errors import SufficeError
from suffice.server.auth import address_of, check_role, identified, needs
from suffice.server.errors import (
    CLOSE,
    JSON_TYPE,
    OPENAI,
    ApiError,
    ErrorFormat,
    bad,
    decode,
    encode,
    fault_of,
)
from suffice.server.gateway import Gateway
from suffice.server.inference_pool import closing
from suffice.server.rate_limiter import enforce, rate_headers
from suffice.server.sending import ClientGone, Events, offload, undo_cancellation
from suffice.server.telemetry.logs import description_of
from suffice.server.telemetry.stats import CURRENT_STATS, RequestStats
from suffice.settings import LimitSettings
from suffice.validation import Invalid, converted

log = logging.getLogger("suffice.server")
T = TypeVar("T")
_HUNG_UP = 499
_DIGITS = 20
LATE = ApiError(504, "The request timed out and was cancelled.", "request_timeout")


@dataclass(slots=True)
class RequestContext:
    """One request and its caller. `stack` is closed when the request is answered."""

    request: Request
    gateway: Gateway
    caller: Principal
    stack: ExitStack
    stats: RequestStats
    unsettled: list[Future[None]] = field(default_factory=list)

    async def body(self) -> Any:
        """The request body, parsed as JSON."""
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # Other content types can be sent cross-origin without a CORS preflight.
        if kind != JSON_TYPE:
            raise ApiError(
                415, f"The content type must be {JSON_TYPE}, not '{kind}'.", "unsupported_type"
            )
        sent = await whole_body(self.request, self.gateway.state.settings.server.limits)
        self.stats.received = len(sent)
        try:
            return await offload(len(sent), decode, sent)
        except ValueError as problem:
            raise bad(
                f"The request body is not valid JSON: {problem}", code="invalid_json"
            ) from None

    async def object(self) -> dict[str, Any]:
        value = await self.body()
        if not isinstance(value, dict):
            raise bad("The request body must be a JSON object.")
        return value

    async def read(self, shape: type[T]) -> T:
        """The request body as an object of the schema. Raise 400 if a field is wrong."""
        try:
            return converted(await self.object(), shape)
        except Invalid as problem:
            message = f"'{problem.field}' must be {problem.allowed}."
            raise bad(message, problem.field) from None

    def spent(self, usage: Mapping[str, Any], price_in: float = 0, price_out: float = 0) -> None:
        """Count an answer's token usage and cost towards the caller's limits."""
        prompt, written = (usage.get(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
        cost = (prompt * price_in + written * price_out) / 1e6
        general = self.gateway.state.settings.server.limits
        tokens = usage.get("total_tokens") or prompt + written
        if counted := self.gateway.limits.spent(self.caller, general, tokens, cost):
            self.unsettled.append(counted)
        self.stats.cost += cost
        self.stats.tokens_in += prompt
        self.stats.tokens_out += written

    async def settled(self) -> None:
        """Wait until all usage so far is stored, so that the caller's next request sees it."""
        await asyncio.gather(*map(asyncio.wrap_future, self.unsettled))


async def whole_body(request: Request, limits: LimitSettings) -> bytes:
    """The request body. Raise 413 if it is larger than a body may be, 408 if it takes too long."""
    return await in_time(limits, joined(request, limits.body_bytes))


async def in_time(limits: LimitSettings, reading: Awaitable[T]) -> T:
    """What `reading` a whole body returns. Raise 408 and end the connection if it takes too
    long."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await reading
    except TimeoutError:
        message = "The request body did not arrive in time."
        raise ApiError(408, message, "request_timeout", headers=CLOSE) from None


async def joined(request: Request, most: int) -> bytes:
    """The request body. Raise 413 if it exceeds `most` bytes."""
    return b"".join([part async for part in body_parts(request, most)])


async def body_parts(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """Stream the request body. Raise 413 if it exceeds `most` bytes."""
    length = request.headers.get("content-length", "0")
    size = 0
    too_large = f"The request body exceeds the limit of {most:,} bytes."
    if not length.isdecimal() or len(length) > _DIGITS or int(length) > most:
        raise ApiError(413, too_large, "too_large")
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise ApiError(413, too_large, "too_large")
        yield part


Handler = Callable[[RequestContext], Awaitable[Response]]


def endpoint(
    handle: Handler, role: Role, *others: Role, errors: ErrorFormat = OPENAI
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a handler as an endpoint for callers with any of the roles. Every failure becomes a JSON
    error, never an HTML page."""
    roles = (role, *others)

    @needs(*roles)
    async def handle_request(request: Request) -> Response:
        gateway: Gateway = request.app.state.gateway
        server = gateway.state.settings.server
        stats = RequestStats(request.url.path, time.perf_counter())
        CURRENT_STATS.set(stats)  # for as long as the task of this request lives
        until = asyncio.get_running_loop().time() + server.timeout
        stack = ExitStack()
        stack.callback(gateway.tell, stats)

        async def handled() -> Response:
            caller = await identified(gateway.authenticator, request.headers)
            context = await admit(request, gateway, caller, stack, stats)
            check_role(caller, roles)
            response = await handle(context)
            if context.unsettled:
                await context.settled()
            return response

        streams = False
        try:
            try:
                async with asyncio.timeout_at(until):
                    response = await _answered(handled(), stats, errors, server.log_text)
            except TimeoutError:
                response = errors.response(LATE)
            except asyncio.CancelledError:
                undo_cancellation()
                response = errors.response(closing())
            stats.status = response.status_code
            if isinstance(response, Events):
                streams = True
                response.done, response.until = stack.close, until
                response.late = errors.event(LATE)
                response.closing = errors.event(closing())
        finally:
            if not streams:
                stack.close()
        response.headers["x-request-id"] = stats.id
        response.headers.update(rate_headers(stats.left, stats.tokens))
        return response

    return handle_request


async def _answered(
    response: Awaitable[Response], stats: RequestStats, errors: ErrorFormat, log_text: bool
) -> Response:
    """The response, or an error response."""
    try:
        return await response
    except ApiError as fault:
        return errors.response(fault)
    except SufficeError as problem:
        failure = fault_of(problem)
        # Caller errors are not warnings for the operator.
        level = logging.WARNING if failure.status >= 500 else logging.DEBUG
        log.log(level, "%s: %s", stats.path, description_of(problem, with_text=log_text))
        return errors.response(failure)
    except (ClientDisconnect, ClientGone):
        return Response(status_code=_HUNG_UP)
    except Exception as problem:  # a bug: 500 for the caller, the traceback in the log
        log.exception("%s: %s", stats.path, type(problem).__name__)
        return errors.response(fault_of(problem))


async def admit(
    request: Request, gateway: Gateway, caller: Principal, stack: ExitStack, stats: RequestStats
) -> RequestContext:
    """Admit a request of this caller within all limits, or raise 429 or 503."""
    stats.caller, stats.team, stats.user = caller.name, caller.team, caller.user
    server = gateway.state.settings.server
    general = server.limits
    address = address_of(request, server.site.behind_proxy)
    stack.enter_context(gateway.limits.at_once(caller, general, address, server.capacity.share))
    stack.enter_context(gateway.work.admitted())
    admission = await gateway.limits.count(caller, general)
    stats.left = admission.left
    enforce(admission)
    return RequestContext(request, gateway, caller, stack, stats)


def as_response(value: Any, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(value), 200, dict(headers or {}), JSON_TYPE)
