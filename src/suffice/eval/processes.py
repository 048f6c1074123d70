"""Decides cases in several processes, each of one thread.

A case is always decided by the same process, which keeps what its models judged: another
configuration of the case costs little. Outcomes come in the order of the jobs, and are those of a
single process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from suffice.errors import SufficeError, WorkerFailed
from suffice.eval.outcomes import Outcome
from suffice.eval.worker import Job, Plan, Worker
from suffice.evidence.ingest import Progress
from suffice.settings import Settings

T = TypeVar("T")
_THREADS = "OMP_NUM_THREADS"
_REAPED = 5.0
"""Seconds to wait for the exit code of a process that is gone."""
_MEMORY = "Use fewer --workers if memory is short: each loads its own models."


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in a worker. Not every exception survives the way to another process."""

    message: str
    remedy: str = ""

    @classmethod
    def of(cls, problem: Exception) -> Failure:
        if isinstance(problem, SufficeError):
            return cls(problem.message, problem.remedy)
        last = traceback.extract_tb(problem.__traceback__)[-1]
        what = "".join(traceback.format_exception_only(problem)).strip()
        return cls(f"{what} ({Path(last.filename).name}, line {last.lineno})")


@dataclass(frozen=True)
class Processes:
    """As many single processes as there are workers."""

    plan: Plan
    pools: Sequence[ProcessPoolExecutor]

    def index(self, progress: Progress) -> None:
        names = self.plan.searched
        started = [self._submit(place, _index, name) for place, name in enumerate(names)]
        for done, (name, future) in enumerate(zip(names, started, strict=True), 1):
            _result(future, f"the collection “{name}” could not be indexed")
            progress("collections", done, len(names))

    def decide(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        started = [self._submit(job.place, _decide, job) for job in jobs]
        for job, future in zip(jobs, started, strict=True):
            yield _result(future, f"case {job.place + 1} could not be decided")

    def _submit(
        self, place: int, call: Callable[[Any], T | Failure], given: Any
    ) -> Future[T | Failure]:
        return self.pools[place % len(self.pools)].submit(call, given)


@contextmanager
def processes(plan: Plan, count: int) -> Iterator[Processes]:
    """Workers of one thread each, which end with the block."""
    spawn = multiprocessing.get_context("spawn")
    alone = replace(plan, settings=_one_thread(plan.settings))
    before, known = os.environ.get(_THREADS), set(multiprocessing.active_children())
    os.environ[_THREADS] = "1"  # inherited by the workers, whose libraries read it when they load
    pools = [ProcessPoolExecutor(1, spawn, _start, (alone,)) for _ in range(count)]
    workers: list[BaseProcess] = []
    try:
        for ready in [pool.submit(os.getpid) for pool in pools]:
            ready.result()
        workers = [one for one in multiprocessing.active_children() if one not in known]
        yield Processes(plan, pools)
    except BrokenProcessPool as problem:
        raise WorkerFailed(_ended(workers), remedy=_MEMORY) from problem
    finally:
        for pool in pools:
            pool.shutdown(cancel_futures=True)
        os.environ.pop(_THREADS)
        if before is not None:
            os.environ[_THREADS] = before


def _one_thread(settings: Settings) -> Settings:
    return replace(
        settings,
        embedder=replace(settings.embedder, threads=1),
        verifier=replace(settings.verifier, threads=1),
    )


def _result(future: Future[T | Failure], what: str) -> T:
    found = future.result()
    if isinstance(found, Failure):
        raise WorkerFailed(f"{what[0].upper()}{what[1:]}: {found.message}", remedy=found.remedy)
    return found


def _ended(workers: Sequence[BaseProcess]) -> str:
    """How the worker that is gone ended."""
    gone = wait([one.sentinel for one in workers], _REAPED)
    for one in workers:
        if one.sentinel in gone:
            one.join(_REAPED)
    code = next((one.exitcode for one in workers if one.exitcode), None)
    if code is None:
        return "A worker process ended before it was ready."
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return f"A worker process {how}."


# What follows runs in a worker.

_plan: Plan
_worker: Worker | None = None


def _start(plan: Plan) -> None:
    global _plan
    _plan = plan
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed ends no worker, and each would keep its models in memory."""
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _index(name: str) -> Failure | None:
    try:
        _plan.index(name, lambda what, done, total: None)
    except Exception as problem:  # whatever it was, the parent reports it
        return Failure.of(problem)
    return None


def _decide(job: Job) -> Outcome | Failure:
    global _worker
    try:
        _worker = _worker or Worker.of(_plan)
        return _worker.outcome(job)
    except Exception as problem:  # whatever it was, the parent reports it
        return Failure.of(problem)
