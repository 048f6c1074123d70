"""Inference beside the event loop: in a bounded number of threads, with a bounded queue.

A request is let in or refused before anything is done for it; what was let in is not refused later.
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
    """Threads for inference, and the count of what is under way."""

    def __init__(self, settings: WorkSettings) -> None:
        self._settings = settings
        self._pool = _pool(settings)
        self.under_way = 0
        """Requests that were let in and are not answered yet."""
        self.waiting = 0
        """Pieces of work that wait for a thread, or have one."""
        self.closing = False

    def change(self, settings: WorkSettings) -> None:
        """Other numbers from now on. What the old threads have is theirs to finish; they end with
        their pool, once nobody holds it any more."""
        if settings.threads != self._settings.threads:
            self._pool = _pool(settings)
        self._settings = settings

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """One request; refused where there is no room for it."""
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
        """A call in one of the threads."""
        context = contextvars.copy_context()
        made = self._pool.submit(context.run, partial(call, *args, **kwargs))
        self.waiting += 1
        # Counted until a thread is done with it, also where nobody waits for it any more.
        made.add_done_callback(partial(self._done, asyncio.get_running_loop()))
        return await asyncio.wrap_future(made)

    def _done(self, loop: asyncio.AbstractEventLoop, made: object) -> None:
        with suppress(RuntimeError):  # the loop ended before the thread did
            loop.call_soon_threadsafe(self._one_less)

    def _one_less(self) -> None:
        self.waiting -= 1

    async def drain(self, seconds: float) -> bool:
        """Lets nobody in any more, and waits for those under way; whether all came to their end."""
        self.closing = True
        deadline = asyncio.get_running_loop().time() + seconds
        while self.under_way and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        return not self.under_way

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def closing() -> ApiError:
    """A new one each time: an exception that is raised again keeps every traceback it had."""
    return ApiError(
        503,
        "The gateway is shutting down; ask another one, or try again in a moment.",
        "shutting_down",
        headers={"Retry-After": "1"},
    )


def _pool(settings: WorkSettings) -> ThreadPoolExecutor:
    # More than the models run on: while some wait for a model, others read and compare.
    threads = settings.threads or _A_CORE * bounded(0)
    return ThreadPoolExecutor(threads, thread_name_prefix="suffice")
