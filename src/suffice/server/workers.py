"""Several processes that serve on one socket, and one that looks after them.

Each worker opens the store and the models for itself; the chain of records, the limits of keys and
the metrics are kept by all of them together. A worker that dies is replaced. One whose keeper is
gone stops too.
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
"""Opens what is served; known by its name, since another process calls it."""
_LOOK = 0.2
_AGAIN = 1.0
"""Seconds until a worker that could not even start is started once more."""
_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class _Said:
    """What a worker tells its keeper."""

    words: str
    ready: bool = False
    took: bool = False
    """It took the new settings."""


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False

    def told(self) -> list[_Said]:
        said: list[_Said] = []
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                said.append(self.pipe.recv())
        return said


@dataclass
class Workers:
    """Keeps as many workers as the settings say, until SIGTERM or SIGINT."""

    settings: Settings
    open: Opens
    read: Callable[[], Settings]
    listening: Listening
    _workers: list[_Worker] = field(default_factory=list)
    _signals: list[int] = field(default_factory=list)
    _new: Settings | None = None
    """Settings that were read, and that no worker has taken or refused yet."""
    _told: set[str] = field(default_factory=set)
    _served: bool = False
    _not_before: float = 0.0

    def run(self) -> None:
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(one, lambda number, frame: self._signals.append(number))
        with _counted_together():
            try:
                while not {signal.SIGTERM, signal.SIGINT} & set(self._signals):
                    self._look()
            finally:
                self._stop()

    def _look(self) -> None:
        """Once around: who is missing is started, who says something is heard."""
        if monotonic() >= self._not_before:
            for _ in range(self.settings.server.workers - len(self._workers)):
                self._start()
        ends = [one.process.sentinel for one in self._workers]
        wait([*ends, *(one.pipe for one in self._workers)], _LOOK)
        for worker in list(self._workers):
            for said in worker.told():
                self._hear(worker, said)
            if not worker.process.is_alive():
                self._bury(worker)
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

    def _hear(self, worker: _Worker, said: _Said) -> None:
        if said.ready:
            worker.ready = True
            if not self._served and all(one.ready for one in self._workers):
                self._served = True
                self.listening.say(said.words)
            return
        if said.took and self._new is not None:
            self.settings = self._new
        self._new = None
        if said.words not in self._told:  # all of them say the same
            self._told.add(said.words)
            print(said.words, file=sys.stderr, flush=True)

    def _bury(self, worker: _Worker) -> None:
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        mark_process_dead(worker.process.pid)  # type: ignore[no-untyped-call]
        if worker.ready:
            print("A worker ended; another takes its place.", file=sys.stderr, flush=True)
        elif not self._served:
            raise SufficeError("A worker could not start.", remedy="What it said stands above.")
        else:
            self._not_before = monotonic() + _AGAIN

    def _reload(self) -> None:
        self._told.clear()
        try:
            self._new = self.read()
        except SufficeError as problem:
            print(f"{NOT_RELOADED}: {problem}", file=sys.stderr, flush=True)
            return
        for worker in self._workers:
            with suppress(OSError):  # it died; whoever takes its place is sent them too
                worker.pipe.send(self._new)

    def _stop(self) -> None:
        """Nobody new is let in; what is under way is finished, within its time."""
        self.listening.socket.close()
        for worker in self._workers:
            worker.process.terminate()
        until = monotonic() + self.settings.server.stop + _GRACE
        for worker in self._workers:
            worker.process.join(max(until - monotonic(), 0))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


@contextmanager
def _counted_together() -> Iterator[None]:
    """A folder in which all workers count; one of our own goes with us."""
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
    settings: Settings, open_: Opens, listening: socket.socket, url: str, keeper: Connection
) -> None:
    """A worker, from its start to its end."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the keeper hears it, and tells

    def started(gateway: Gateway) -> None:
        keeper.send(_Said(announced(gateway, url), ready=True))
        threading.Thread(target=_obey, args=(gateway, keeper), daemon=True).start()

    try:
        serve(settings, open_(settings), listening, started)
    except SufficeError as problem:
        print(problem, file=sys.stderr, flush=True)
        raise SystemExit(1) from None


def _obey(gateway: Gateway, keeper: Connection) -> None:
    """Takes the settings that the keeper sends, and stops where there is no keeper any more."""
    while True:
        try:
            new: Settings = keeper.recv()
        except (EOFError, OSError):
            os.kill(os.getpid(), signal.SIGTERM)
            return
        words = gateway.reload(lambda new=new: new)  # type: ignore[misc]
        keeper.send(_Said(words, took=gateway.state.settings is new))
