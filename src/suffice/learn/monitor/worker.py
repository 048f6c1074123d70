"""Runs the monitor in its own thread, never on the event loop or while a request waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from suffice.errors import SufficeError
from suffice.learn.monitor.deep import DeepChecks
from suffice.learn.monitor.jobs import DEEP_CHECK, MAIL, Claimed, Jobs
from suffice.learn.monitor.mail import Mailer
from suffice.learn.monitor.monitor import Monitor

_LOG = logging.getLogger("suffice.monitor")
_JOIN = 1.0


class MonitorWorker:
    """Updates the monitor until it is closed. Every gateway process has a worker; the store decides
    which of them counts a record, checks an answer or sends a message."""

    def __init__(
        self,
        monitor: Monitor,
        open_deep: Callable[[], DeepChecks] | None = None,
        idle: Callable[[], bool] = lambda: True,
        updated: Callable[[Monitor], None] = lambda monitor: None,
    ) -> None:
        self._jobs = Jobs(monitor.log.database, monitor.seconds)
        self._deep = None if open_deep is None else _Once(open_deep)
        self._idle, self._updated = idle, updated
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self.change(monitor)

    def change(self, monitor: Monitor) -> None:
        """Use another monitor from the next round on, after settings changed."""
        self._mailer = Mailer.of(monitor.settings.monitor.mail)
        self._monitor = monitor

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the current job, and wait only briefly for it."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(_JOIN)

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self.round()
            except SufficeError as problem:
                _LOG.warning("Monitor: %s", problem)
            except Exception:  # the thread must not end: drift would go unnoticed
                _LOG.exception("Monitor: unexpected error.")
            self._closed.wait(self._monitor.settings.monitor.every_seconds)

    def round(self) -> None:
        """Read new records, draw the weekly sample, and do the jobs that are due."""
        monitor = self._monitor
        while not self._closed.is_set() and monitor.update():
            pass
        monitor.sample()
        self._updated(monitor)
        kinds = tuple(
            kind for kind, able in ((MAIL, self._mailer), (DEEP_CHECK, self._deep)) if able
        )
        while not self._closed.is_set() and (job := self._next(kinds)) is not None:
            self._do(job)

    def _next(self, kinds: tuple[str, ...]) -> Claimed | None:
        """The next job. Deep checks wait while requests need the models."""
        able = kinds if self._idle() else tuple(kind for kind in kinds if kind != DEEP_CHECK)
        return self._jobs.claim(able) if able else None

    def _do(self, job: Claimed) -> None:
        try:
            problem = self._done(job)
        except SufficeError as error:
            problem = str(error)
        if not problem:
            self._jobs.done(job)
        elif not self._jobs.failed(job, problem):
            _LOG.warning("Monitor: gave up on job %s: %s", job.id, problem)

    def _done(self, job: Claimed) -> str:
        """Run a job once. Return why it failed, or ""."""
        if job.kind == MAIL and self._mailer is not None:
            return self._mailer.send(self._monitor.log.entry(job.record))
        if job.kind == DEEP_CHECK and self._deep is not None:
            self._deep().check(job.record)
        return ""


class _Once:
    """Opens the deep checks when the first is due, because their models are large."""

    def __init__(self, open_: Callable[[], DeepChecks]) -> None:
        self._open = open_
        self._made: DeepChecks | None = None

    def __call__(self) -> DeepChecks:
        if self._made is None:
            self._made = self._open()
        return self._made
