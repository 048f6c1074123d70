"""Several worker processes on one socket, and their supervisor.

Each worker opens its own store connection and models; the record chain, the key limits and the
metrics are shared. A worker that dies is replaced. Workers stop if their supervisor is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from prometheus_client.multiprocess import mark_process_dead

from suffice.errors import SufficeError
from suffice.evidence.library import Library
from suffice.server.gateway import NOT_RELOADED, Gateway
from suffice.server.run import Listening, announced, serve
from suffice.server.telemetry.metrics import SHARED
from suffice.settings import Settings

Opens = Callable[[Settings], Library]
"""Opens the library. It must be importable by name, because another process calls it."""
_POLL = 0.2
_AGAIN = 1.0
"""Seconds to wait before replacing a worker that failed to start."""
_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class _Report:
    """A message from a worker to its supervisor."""

    text: str
    ready: bool = False
    applied: bool = False
    """The worker applied the new settings."""


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False

    def reports(self) -> list[_Report]:
        received: list[_Report] = []
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                received.append(self.pipe.recv())
        return received


@dataclass
class Workers:
    """Supervisor: keeps the configured number of workers running until SIGTERM or SIGINT."""

    settings: Settings
    open: Opens
    read: Callable[[], Settings]
    listening: Listening
    _workers: list[_Worker] = field(default_factory=list)
    _signals: list[int] = field(default_factory=list)
    _new: Settings | None = None
    """Settings that were read but that no worker has applied or refused yet."""
    _printed: set[str] = field(default_factory=set)
    _served: bool = False
    _not_before: float = 0.0

    def run(self) -> None:
        for handled in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(handled, lambda number, frame: self._signals.append(number))
        with _shared_metrics():
            try:
                while not {signal.SIGTERM, signal.SIGINT} & set(self._signals):
                    self._poll()
            finally:
                self._stop()

    def _poll(self) -> None:
        """Start missing workers, handle reports, reap dead workers and handle SIGHUP."""
        if monotonic() >= self._not_before:
            for _ in range(self.settings.server.workers - len(self._workers)):
                self._start()
        sentinels = [worker.process.sentinel for worker in self._workers]
        wait([*sentinels, *(worker.pipe for worker in self._workers)], _POLL)
        for worker in list(self._workers):
            for report in worker.reports():
                self._handle(worker, report)
            if not worker.process.is_alive():
                self._reap(worker)
        if signal.SIGHUP in self._signals:
            self._signals.remove(signal.SIGHUP)
            self._reload()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        arguments = (self.settings, self.open, self.listening.socket, self.listening.url, theirs)
        process = spawn.Process(target=_work, args=arguments, name="suffice worker")
        process.start()
        theirs.close()
        if self._new is not None:
            ours.send(self._new)
        self._workers.append(_Worker(process, ours))

    def _handle(self, worker: _Worker, report: _Report) -> None:
        if report.ready:
            worker.ready = True
            if not self._served and all(other.ready for other in self._workers):
                self._served = True
                self.listening.say(report.text)
            return
        if report.applied and self._new is not None:
            self.settings = self._new
        self._new = None
        if report.text not in self._printed:  # every worker sends the same text
            self._printed.add(report.text)
            print(report.text, file=sys.stderr, flush=True)

    def _reap(self, worker: _Worker) -> None:
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        mark_process_dead(worker.process.pid)  # type: ignore[no-untyped-call]
        if worker.ready:
            print("A worker exited and is being replaced.", file=sys.stderr, flush=True)
        elif not self._served:
            raise SufficeError("A worker could not start.", remedy="See its message above.")
        else:
            self._not_before = monotonic() + _AGAIN

    def _reload(self) -> None:
        self._printed.clear()
        try:
            self._new = self.read()
        except SufficeError as problem:
            print(f"{NOT_RELOADED}: {problem}", file=sys.stderr, flush=True)
            return
        for worker in self._workers:
            with suppress(OSError):  # the worker died; its replacement gets the settings too
                worker.pipe.send(self._new)

    def _stop(self) -> None:
        """Stop accepting connections and wait up to `shutdown_seconds` for requests in progress."""
        self.listening.socket.close()
        for worker in self._workers:
            worker.process.terminate()
        until = monotonic() + self.settings.server.shutdown_seconds + _GRACE
        for worker in self._workers:
            worker.process.join(max(until - monotonic(), 0))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


@contextmanager
def _shared_metrics() -> Iterator[None]:
    """Provide a folder for the metrics of all workers. A temporary folder is removed at the end."""
    if named := os.environ.get(SHARED):
        Path(named).mkdir(parents=True, exist_ok=True)
        yield
        return
    with TemporaryDirectory(prefix="suffice-metrics-") as folder:
        os.environ[SHARED] = folder
        try:
            yield
        finally:
            del os.environ[SHARED]


def _work(
    settings: Settings, open_: Opens, listening: socket.socket, url: str, supervisor: Connection
) -> None:
    """The main function of a worker process."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the supervisor handles it and sends the settings

    def started(gateway: Gateway) -> None:
        supervisor.send(_Report(announced(gateway, url), ready=True))
        threading.Thread(target=_follow, args=(gateway, supervisor), daemon=True).start()

    try:
        serve(settings, open_(settings), listening, started)
    except SufficeError as problem:
        print(problem, file=sys.stderr, flush=True)
        raise SystemExit(1) from None


def _follow(gateway: Gateway, supervisor: Connection) -> None:
    """Apply the settings that the supervisor sends, and stop if the supervisor is gone."""
    while True:
        try:
            new: Settings = supervisor.recv()
        except (EOFError, OSError):
            os.kill(os.getpid(), signal.SIGTERM)
            return
        text = gateway.reload(lambda new=new: new)  # type: ignore[misc]
        supervisor.send(_Report(text, applied=gateway.state.settings is new))
