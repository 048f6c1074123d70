"""Inference outside the event loop: in a bounded number of threads, with a bounded queue.

A request is admitted or refused before any work is done for it; an admitted request is not refused
later.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import ParamSpec, TypeVar

from suffice.models.threads import bounded
from suffice.server.errors import ApiError, busy
from suffice.settings import WorkSettings

P = ParamSpec("P")
T = TypeVar("T")
_FULL = "The gateway is busy: too many requests are waiting. Try again in a moment."
_AGAIN = 1.0
_A_CORE = 4


class InferencePool:
    """Threads for inference, and counts of requests and jobs in progress."""

    def __init__(self, settings: WorkSettings) -> None:
        self._settings = settings
        self._pool = _pool(settings)
        self.under_way = 0
        """Requests admitted and not answered yet."""
        self.waiting = 0
        """Jobs that are queued or running."""
        self.closing = False

    def change(self, settings: WorkSettings) -> None:
        """Apply new settings. Threads of the old pool finish their jobs and end when the pool is
        garbage-collected."""
        if settings.threads != self._settings.threads:
            self._pool = _pool(settings)
        self._settings = settings

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Admit one request, or raise 429 if the gateway is full and 503 if it is closing."""
        if self.closing:
            raise closing()
        if self.full:
            raise busy(_FULL, _AGAIN, "overloaded")
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    @property
    def full(self) -> bool:
        room = self._pool._max_workers + self._settings.queue
        return self.under_way >= self._settings.requests or self.waiting >= room

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in one of the threads."""
        context = contextvars.copy_context()
        made = self._pool.submit(context.run, partial(call, *args, **kwargs))
        self.waiting += 1
        # Counted until the thread is done, even if the caller no longer waits for the result.
        made.add_done_callback(partial(self._done, asyncio.get_running_loop()))
        return await asyncio.wrap_future(made)

    def _done(self, loop: asyncio.AbstractEventLoop, made: object) -> None:
        with suppress(RuntimeError):  # the loop ended before the thread did
            loop.call_soon_threadsafe(self._one_less)

    def _one_less(self) -> None:
        self.waiting -= 1

    async def drain(self, seconds: float) -> bool:
        """Refuse new requests and wait for those in progress; return whether all finished."""
        self.closing = True
        deadline = asyncio.get_running_loop().time() + seconds
        while self.under_way and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        return not self.under_way

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def closing() -> ApiError:
    """A new error each time: an exception raised again would accumulate tracebacks."""
    return ApiError(
        503,
        "The gateway is shutting down. Try again in a moment.",
        "shutting_down",
        headers={"Retry-After": "1"},
    )


def _pool(settings: WorkSettings) -> ThreadPoolExecutor:
    # More threads than the models use: while some wait for a model, others parse and compare.
    threads = settings.threads or _A_CORE * bounded(0)
    return ThreadPoolExecutor(threads, thread_name_prefix="suffice")
