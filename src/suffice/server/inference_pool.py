"""Run inference outside the event loop, in a bounded number of threads with a bounded queue.

A request is admitted or refused before any work is done for it; an admitted request is not refused
later. If the caller stops waiting, its job is cancelled and ends when it next checks its deadline
(see `suffice.deadline`). Records are written in separate threads and never cancelled.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import ParamSpec, TypeVar

from suffice.deadline import Cancelled, Deadline, check, within
from suffice.models.session import bounded
from suffice.server.errors import ApiError, busy
from suffice.settings import WorkSettings

P = ParamSpec("P")
T = TypeVar("T")
_FULL = "The gateway is busy: too many requests are waiting. Try again in a moment."
_AGAIN = 1.0
_A_CORE = 4
_RECORDING = 16
_NICE = 5


class InferencePool:
    """Threads for inference, and counts of requests and jobs in progress."""

    def __init__(self, settings: WorkSettings) -> None:
        self._settings = settings
        self._pool = _pool(settings)
        self.threads = _threads(settings)
        """Number of inference threads."""
        self._recording = ThreadPoolExecutor(_RECORDING, thread_name_prefix="suffice-record")
        self._deadlines: set[Deadline] = set()
        self.under_way = 0
        """Number of requests in progress."""
        self.jobs = 0
        """Number of jobs that are queued or running."""
        self._closing_since: float | None = None

    @property
    def closing(self) -> bool:
        return self._closing_since is not None

    def refuse(self) -> None:
        """Refuse new requests from now on."""
        if self._closing_since is None:
            self._closing_since = monotonic()

    def change(self, settings: WorkSettings) -> None:
        """Apply new settings. The old threads finish their jobs, then exit."""
        if settings.threads != self._settings.threads:
            self._pool, self.threads = _pool(settings), _threads(settings)
        self._settings = settings

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Admit a request. Raise 429 if the gateway is full and 503 if it is closing."""
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
        """Whether a new request is refused: too many are in progress, or too many jobs wait for a
        thread."""
        too_many = self.under_way >= self._settings.max_requests
        return too_many or self.jobs - self.threads >= self._settings.max_queued

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in a thread. It is cancelled if the caller stops waiting."""
        try:
            return await self._run(Deadline(), partial(call, *args, **kwargs))
        except Cancelled:  # by `close`
            raise closing() from None

    async def run_within(
        self, seconds: float, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a call for at most `seconds`, then cancel it and raise `TimeoutError`."""
        async with asyncio.timeout(seconds):
            try:
                return await self._run(Deadline(seconds), partial(call, *args, **kwargs))
            except Cancelled:  # the thread noticed the deadline first
                raise TimeoutError from None

    async def record(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that writes a record. It continues even if the caller stops waiting."""
        context = contextvars.copy_context()
        job = self._recording.submit(context.run, partial(call, *args, **kwargs))
        return await asyncio.shield(asyncio.wrap_future(job))

    async def _run(self, deadline: Deadline, call: Callable[[], T]) -> T:
        context = contextvars.copy_context()
        job = self._pool.submit(context.run, _under, deadline, call)
        self.jobs += 1
        self._deadlines.add(deadline)
        # Count the job until its thread is done, even if the caller stops waiting.
        job.add_done_callback(partial(self._done, asyncio.get_running_loop(), deadline))
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            deadline.cancel()
            raise

    def _done(self, loop: asyncio.AbstractEventLoop, deadline: Deadline, job: object) -> None:
        with suppress(RuntimeError):  # the event loop is already closed
            loop.call_soon_threadsafe(self._one_less, deadline)

    def _one_less(self, deadline: Deadline) -> None:
        self.jobs -= 1
        self._deadlines.discard(deadline)

    async def drain(self, seconds: float) -> bool:
        """Refuse new requests and wait for those in progress, until `seconds` after `refuse` was
        first called. Return whether all finished."""
        self.refuse()
        assert self._closing_since is not None
        while self.under_way and monotonic() < self._closing_since + seconds:
            await asyncio.sleep(0.02)
        return not self.under_way

    def close(self) -> None:
        """Cancel all jobs. Threads that do not check their deadline are abandoned."""
        for deadline in self._deadlines:
            deadline.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._recording.shutdown(wait=False)


def _under(deadline: Deadline, call: Callable[[], T]) -> T:
    with within(deadline):
        check()
        return call()


def closing() -> ApiError:
    """A new error each time, because a reused exception would accumulate tracebacks."""
    return ApiError(
        503,
        "The gateway is shutting down. Try again in a moment.",
        "shutting_down",
        headers={"Retry-After": "1"},
    )


def _threads(settings: WorkSettings) -> int:
    # Use more threads than the models do: some wait for a model while others do other work.
    return settings.threads or _A_CORE * bounded(0)


def _pool(settings: WorkSettings) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        _threads(settings), thread_name_prefix="suffice", initializer=_yield_to_loop
    )


def _yield_to_loop() -> None:
    """Lower the priority of this thread, so that the event loop answers while all cores are busy.
    Only Linux sets it for a thread; elsewhere it would be the whole process."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, 0) + _NICE)
