"""Change documents in one thread per process, so that indexing blocks neither the inference threads
nor the event loop. Other processes wait for the store's write lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from suffice.errors import SufficeError
from suffice.server.errors import busy

_WAITING = 32
"""Maximum number of queued jobs. Their files are held in memory."""
Step = tuple[str, int, int]
Work = Callable[[Callable[[str, int, int], None]], Any]
"""A job's function. It receives a progress callback."""


class Stopped(SufficeError):
    """The gateway is shutting down. Committed changes are kept, and a later run continues."""


class Job:
    """A job in progress. `steps` yields its progress, each step once, then `None`; `result` is the
    outcome."""

    def __init__(self) -> None:
        self.steps: asyncio.Queue[Step | None] = asyncio.Queue()
        self.result: Future[Any]


class DocumentJobs:
    """Runs jobs one at a time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="documents")
        self._waiting = 0
        self._closing = False

    def start(self, work: Work) -> Job:
        """Start or queue a job; raise 429 if the queue is full. A disconnect does not cancel it."""
        if self._waiting >= _WAITING:
            raise busy("Too many document changes are queued. Try again later.", 10)
        job, loop = Job(), asyncio.get_running_loop()

        def say(step: Step | None) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(job.steps.put_nowait, step)

        last: Step | None = None

        def progress(what: str, done: int, total: int) -> None:
            nonlocal last
            if self._closing:
                raise Stopped("The gateway stopped before the change was complete.")
            if (what, done, total) != last:
                last = (what, done, total)
                say(last)

        def ended(_: Future[Any]) -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._one_less)
            say(None)

        self._waiting += 1
        job.result = self._thread.submit(work, progress)
        job.result.add_done_callback(ended)
        return job

    def _one_less(self) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Stop the running job at its next step and drop the queued jobs."""
        self._closing = True
        self._thread.shutdown(wait=False, cancel_futures=True)
