"""Calls an endpoint, for a whole reply or a stream of events.

The calls are coroutines over a `Transport`, which sends, reads and waits. `ask` and `events` run
them in the calling thread, and `suffice.server.openai.upstream` on the event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import cache
from random import uniform
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from suffice.deadline import check, current, watched
from suffice.models.wire.endpoint import Body, CallFailed, Endpoint, Request, retry_after
from suffice.models.wire.replies import ReplyReader

if TYPE_CHECKING:
    import ssl

    import httpx2

P = ParamSpec("P")
T = TypeVar("T")
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0


class Transport(Protocol):
    """The I/O of a call. Deadlines are times of its clock."""

    def clock(self) -> float: ...

    async def send(self, request: Request, until: float) -> httpx2.Response:
        """An open reply, whose body is not read yet."""
        ...

    def parts(
        self, endpoint: Endpoint, response: httpx2.Response, until: float
    ) -> AsyncGenerator[bytes, None]:
        """The body of a reply as it arrives."""
        ...

    async def close(self, response: httpx2.Response) -> None: ...

    async def wait(self, seconds: float, failed: CallFailed) -> None:
        """Wait for the next attempt after a failed one."""
        ...

    async def compute(
        self, size: int | None, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function on this many bytes; `None` means the caller's request."""
        ...


async def fetch(
    endpoint: Endpoint, body: Body | None, until: float, io: Transport
) -> dict[str, Any]:
    """The reply as a JSON object. Without a body, the request is a GET request."""
    with endpoint.failures():
        response = await _opened(endpoint, body, until, io)
        reader = ReplyReader(endpoint)
        await _read(reader, response, until, io)
        return await io.compute(reader.pending, reader.value)


async def stream(
    endpoint: Endpoint, body: Body, until: float, io: Transport, *, ends: bool = True
) -> AsyncGenerator[dict[str, Any], None]:
    """The events of a reply as JSON objects; a reply that is no stream is a single one. Raises if
    the stream breaks or, with `ends`, if it does not end with `[DONE]`."""
    with endpoint.failures():
        response = await _opened(endpoint, body, until, io)
        content_type = response.headers.get("content-type", "")
        reader = ReplyReader.of_stream(endpoint, content_type, ends=ends)
        try:
            async for value in _values(reader, response, until, io):
                yield value
        finally:
            await io.close(response)


async def _opened(
    endpoint: Endpoint, body: Body | None, until: float, io: Transport
) -> httpx2.Response:
    """An open reply with a success status, after as many attempts as the endpoint allows."""
    tries = 0
    while True:
        wait = uniform(0.5, 1) * min(_FIRST_WAIT * 2**tries, _LONGEST_WAIT)
        try:
            request = await io.compute(None, endpoint.request, body, until - io.clock())
            response = await io.send(request, until)
            if response.is_success:
                return response
            failed = await _refusal(endpoint, response, until, io)
            reduced = endpoint.spared(body, failed.detail) if failed.status == 400 else None
        except Exception as problem:
            failed, reduced = endpoint.failure(problem), None
        if reduced is not None:
            body = reduced
            continue
        wait = wait if failed.wait is None else failed.wait
        left = min(until - io.clock(), endpoint.patience)
        if not failed.again or tries >= endpoint.retries or wait >= left:
            raise failed
        tries += 1
        await io.wait(wait, failed)


async def _refusal(
    endpoint: Endpoint, response: httpx2.Response, until: float, io: Transport
) -> CallFailed:
    reader = ReplyReader(endpoint)
    await _read(reader, response, until, io)
    return endpoint.refusal(response.status_code, reader.body, retry_after(response.headers))


async def _read(
    reader: ReplyReader, response: httpx2.Response, until: float, io: Transport
) -> None:
    """Read the whole body and close the reply."""
    try:
        async with aclosing(io.parts(reader.endpoint, response, until)) as parts:
            async for part in parts:
                list(reader.feed(part))
    finally:
        await io.close(response)


async def _values(
    reader: ReplyReader, response: httpx2.Response, until: float, io: Transport
) -> AsyncIterator[dict[str, Any]]:
    async with aclosing(io.parts(reader.endpoint, response, until)) as parts:
        async for part in parts:
            size = reader.pending + len(part)
            values, problem = await io.compute(size, _taken, reader.feed(part))
            for value in values:
                yield value
            if problem is not None:
                raise problem
            if reader.done:
                return
    values, problem = await io.compute(reader.pending, _taken, reader.close())
    for value in values:
        yield value
    if problem is not None:
        raise problem


def _taken(values: Iterable[T]) -> tuple[list[T], Exception | None]:
    """The values up to the first exception, and the exception, if any."""
    taken: list[T] = []
    try:
        for value in values:
            taken.append(value)
    except Exception as problem:  # for the caller to raise after the values
        return taken, problem
    return taken, None


@dataclass(frozen=True, slots=True)
class BlockingTransport:
    """Blocks the thread. Its coroutines never suspend, so `_run` needs no event loop."""

    client: httpx2.Client

    def clock(self) -> float:
        return monotonic()

    async def send(self, request: Request, until: float) -> httpx2.Response:
        built = self.client.build_request(
            request.method,
            request.url,
            content=request.content,
            headers=dict(request.headers),
            timeout=request.seconds,
        )
        return self.client.send(built, stream=True)

    async def parts(
        self, endpoint: Endpoint, response: httpx2.Response, until: float
    ) -> AsyncGenerator[bytes, None]:
        for part in watched(response.iter_bytes()):
            if monotonic() > until:
                raise endpoint.late()
            yield part

    async def close(self, response: httpx2.Response) -> None:
        response.close()

    async def wait(self, seconds: float, failed: CallFailed) -> None:
        sleep(seconds)
        check()

    async def compute(
        self, size: int | None, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return call(*args, **kwargs)


def ask(endpoint: Endpoint, body: Body, timeout: float | None = None) -> dict[str, Any]:
    """The reply as a JSON object. Blocks the thread."""
    until = _deadline(endpoint, timeout)
    with _blocking(endpoint) as io:
        return _run(fetch(endpoint, body, until, io))


def events(
    endpoint: Endpoint, body: Body, timeout: float | None = None
) -> Iterator[dict[str, Any]]:
    """The events of a reply as JSON objects. Blocks the thread. Raises if the stream breaks."""
    until = _deadline(endpoint, timeout)
    with _blocking(endpoint) as io:
        values = stream(endpoint, body, until, io)
        try:
            while (value := _run(_next(values))) is not None:
                yield value
        finally:
            _run(values.aclose())


def _deadline(endpoint: Endpoint, timeout: float | None) -> float:
    """When this call must end. It also ends at the deadline of the calling task."""
    work = current()
    left = None if work is None else work.left
    return monotonic() + min(t for t in (endpoint.timeout, timeout, left) if t is not None)


@contextmanager
def _blocking(endpoint: Endpoint) -> Iterator[BlockingTransport]:
    import httpx2

    with endpoint.failures(), httpx2.Client(verify=_certificates()) as client:
        yield BlockingTransport(client)


async def _next(values: AsyncGenerator[dict[str, Any], None]) -> dict[str, Any] | None:
    return await anext(values, None)


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that blocks instead of suspending."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("A blocking call was suspended.")


@cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates, cached because loading them takes longer than many calls."""
    import httpx2

    return httpx2.create_ssl_context()
