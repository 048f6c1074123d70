"""Decides the cases of an evaluation, in this process or in several, in any configuration."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol, TypeVar

from suffice.checker import Checker
from suffice.engine import Engine
from suffice.errors import SufficeError, WorkerFailed
from suffice.evidence.ingest import Progress
from suffice.evidence.library import Library
from suffice.lab.eval.cases import Cases, Draft, Question, Recorded, unpacked
from suffice.lab.eval.outcomes import Outcome, asked, checked, irrelevant, measure, replayed
from suffice.lab.eval.twins import Operating, replay, twin_of, with_llm
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import LlmVerifier, below_llm
from suffice.models.verifier import (
    CachedEmbedder,
    Pair,
    SufficiencyScore,
    SupportScore,
    Verifier,
    WrappedVerifier,
    sentence_scores,
)
from suffice.pipeline import Pipeline
from suffice.settings import CollectionSettings, Settings
from suffice.switch import RULES, rules_off
from suffice.text.marks import citations

K = TypeVar("K")
V = TypeVar("V")


class MemoizedVerifier(WrappedVerifier):
    def __init__(self, verifier: Verifier) -> None:
        super().__init__(verifier)
        self._support: dict[Pair, SupportScore] = {}
        self._sufficiency: dict[Pair, SufficiencyScore] = {}
        self._sentences: dict[tuple[str, tuple[str, ...]], list[float]] = {}

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return _once(self._support, pairs, self._verifier.support)

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return _once(self._sufficiency, pairs, self._verifier.sufficiency)

    def sentences(self, text: str, sentences: Sequence[str]) -> list[float]:
        key = text, tuple(sentences)
        if key not in self._sentences:
            self._sentences[key] = sentence_scores(self._verifier, text, sentences)
        return self._sentences[key]


def once(verifier: Verifier) -> Verifier:
    """The verifier with a cache. An LLM has its own, so only the tier below it is wrapped, and
    `below_llm` still works."""
    if isinstance(verifier, LlmVerifier):
        return replace(verifier, inner=MemoizedVerifier(verifier.inner))
    return MemoizedVerifier(verifier)


def _once(known: dict[K, V], asked: Sequence[K], ask: Callable[[list[K]], list[V]]) -> list[V]:
    fresh = [one for one in dict.fromkeys(asked) if one not in known]
    if fresh:
        known.update(zip(fresh, ask(fresh), strict=True))
    return [known[one] for one in asked]


CHECKS = (
    *("structure", "citations", "literals", "omission"),
    *("verbatim", "grounding", "addresses", "whole"),
)


def _check_off(name: str) -> Callable[[Settings], Settings]:
    off: dict[str, Any] = {name: False}
    return lambda settings: replace(settings, checks=replace(settings.checks, **off))


def _no_conflicts(settings: Settings) -> Settings:
    off = replace(settings.gate.conflict, enabled=False)
    return replace(settings, gate=replace(settings.gate, conflict=off))


SETTINGS: Mapping[str, Callable[[Settings], Settings]] = {
    **{name: _check_off(name) for name in CHECKS},
    "conflicts": _no_conflicts,
    "filter": lambda one: replace(one, filter=replace(one.filter, enabled=False)),
    "rewrite": lambda one: replace(one, search=replace(one.search, rewrite="never")),
    "rescue": lambda one: replace(one, verdict=replace(one.verdict, rescue=False)),
}
"""How to disable each rule that has a setting."""


@dataclass(frozen=True)
class Plan:
    """What is evaluated, and how. `tier` is the verifier's, if not that of the settings."""

    cases: Cases
    settings: Settings
    scratch: Path
    tier: str = ""
    measured: bool = False
    """Whether the measures of `eval.measures` are computed for each question."""

    @property
    def searched(self) -> tuple[str, ...]:
        """The collections that are searched."""
        return tuple(dict.fromkeys(one.collection for one in self.cases.questions))

    def store(self, collection: str) -> Path:
        return self.scratch / f"{self.searched.index(collection)}.db"

    def open(self, collection: str) -> Library:
        return Library.open(self.store(collection), self.settings)

    def index(self, collection: str, progress: Progress) -> None:
        """Index a collection in a library of its own. A collection without a subfolder of its name
        is all of its documents."""
        path = self.cases.documents[collection]
        folder = unpacked(path, self.store(collection).with_suffix(".docs"))
        within = folder / collection
        library = Library.open(self.store(collection), self.settings, create=True)
        library.add(within if within.is_dir() else folder, progress=progress)
        library.store.close()


@dataclass(frozen=True)
class Configuration:
    """Without the rules in `off`; with these thresholds in place of those of the settings; `twin`:
    with the twin of a question in its place."""

    off: tuple[str, ...] = ()
    thresholds: Operating | None = None
    twin: bool = False

    def of(self, settings: Settings) -> Settings:
        for name in sorted(set(self.off) & SETTINGS.keys()):
            settings = SETTINGS[name](settings)
        return settings

    def __str__(self) -> str:
        where = f"without {', '.join(sorted(self.off))}" if self.off else "base"
        where = "twin" if self.twin else where
        return f"{where} at {self.thresholds}" if self.thresholds else where


BASE = Configuration()
"""As configured."""


@dataclass(frozen=True)
class Job:
    """The case with this place among all cases, in one configuration."""

    place: int
    way: Configuration = BASE

    @property
    def key(self) -> str:
        return f"{self.way}, case {self.place + 1}"


class Decides(Protocol):
    """Indexes the documents, then decides jobs, in their order."""

    def index(self, progress: Progress) -> None: ...

    def decide(self, jobs: Sequence[Job]) -> Iterator[Outcome]: ...


@dataclass
class Worker:
    """Decides cases in this process."""

    plan: Plan
    verifier: Verifier
    embedder: Embedder
    _pipelines: dict[tuple[str, Configuration], Pipeline] = field(default_factory=dict)
    _checkers: dict[tuple[bool, Configuration], Checker] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def of(cls, plan: Plan, verifier: Verifier | None = None) -> Worker:
        settings = plan.settings
        verifier = verifier or open_verifier(settings.verifier, plan.tier, settings.draft)
        embedder = CachedEmbedder(open_embedder(settings.embedder), most=200_000)
        return cls(plan, once(verifier), embedder)

    def close(self) -> None:
        self._open.close()

    def index(self, progress: Progress) -> None:
        for name in self.plan.searched:
            self.plan.index(name, progress)

    def decide(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        return map(self.outcome, jobs)

    def outcome(self, job: Job) -> Outcome:
        case, way = self.plan.cases.all[job.place], job.way
        with rules_off(set(way.off) & RULES):
            if isinstance(case, Draft):
                return self._checked(case, way)
            if isinstance(case, Recorded):
                return self._replayed(case, way)
            return self._twin(case, way) if way.twin else self._asked(case, way)

    @cached_property
    def _libraries(self) -> Mapping[str, Library]:
        found = {name: self.plan.open(name) for name in self.plan.searched}
        for library in found.values():
            self._open.callback(library.store.close)
        return found

    def _asked(self, case: Question, way: Configuration) -> Outcome:
        verdict = self._pipeline(case.collection, way).answer(case.question)
        found = asked(case, verdict, irrelevant(below_llm(self.verifier)))
        if not self.plan.measured or way != BASE:
            return found
        return replace(found, measures=measure(case, verdict, self.verifier))

    def _twin(self, case: Question, way: Configuration) -> Outcome:
        pipeline = self._pipeline(case.collection, way)
        twin = twin_of(case, pipeline.retriever)
        assert twin, "only questions that have a twin are asked for it"
        other, search = twin
        return asked(other, replace(pipeline, retriever=search).answer(case.question))

    def _replayed(self, case: Recorded, way: Configuration) -> Outcome:
        own = _at(way.thresholds, with_llm(way.of(self.plan.settings).collection("default")))
        verdict = replay(case, own, self.verifier, self.embedder)
        return replayed(case, verdict, irrelevant(below_llm(self.verifier)))

    def _checked(self, case: Draft, way: Configuration) -> Outcome:
        uncited = not citations(case.text)
        if (uncited, way) not in self._checkers:
            settings = way.of(self.plan.settings)
            engine = Engine(settings, embedder=self.embedder, verifier=self.verifier)
            opened = engine.checker(uncited=uncited)
            self._checkers[uncited, way] = opened
        checker = self._checkers[uncited, way]
        return checked(case, checker.check(case.text, case.passages, case.question or None))

    def _pipeline(self, collection: str, way: Configuration) -> Pipeline:
        if (collection, way) not in self._pipelines:
            own = _at(way.thresholds, way.of(self.plan.settings).collection("default"))
            search = self._libraries[collection].search()
            engine = Engine(embedder=self.embedder, verifier=self.verifier)
            opened = engine.pipeline(settings=own, retriever=search)
            self._pipelines[collection, way] = opened
        return self._pipelines[collection, way]


def _at(thresholds: Operating | None, own: CollectionSettings) -> CollectionSettings:
    return thresholds.apply(own) if thresholds else own


def indexed(
    cases: Cases, settings: Settings, scratch: Path, progress: Progress
) -> dict[str, Library]:
    """The collections of the questions, each in a library of its own."""
    plan = Plan(cases, settings, scratch)
    for name in plan.searched:
        plan.index(name, progress)
    return {name: plan.open(name) for name in plan.searched}


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
