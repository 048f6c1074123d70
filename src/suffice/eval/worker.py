"""Decides the cases of an evaluation: each in any configuration of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from suffice.answers import Checker
from suffice.eval.cases import Cases, Draft, Question, Recorded, unpacked
from suffice.eval.left_out import Operating
from suffice.eval.measures import measure
from suffice.eval.once import once
from suffice.eval.outcomes import Outcome, asked, checked, irrelevant, replayed
from suffice.eval.recorded import replay, with_llm
from suffice.eval.twins import twin_of
from suffice.evidence.ingest import Progress
from suffice.evidence.library import Library
from suffice.models.caching import CachedEmbedder
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import Verifier
from suffice.pipeline import Pipeline
from suffice.settings import CollectionSettings, Settings
from suffice.switch import RULES, rules_off
from suffice.text.marks import citations

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
            opened = Checker.of(settings, self.verifier, self.embedder, uncited=uncited)
            self._checkers[uncited, way] = opened
        checker = self._checkers[uncited, way]
        return checked(case, checker.check(case.text, case.passages, case.question or None))

    def _pipeline(self, collection: str, way: Configuration) -> Pipeline:
        if (collection, way) not in self._pipelines:
            own = _at(way.thresholds, way.of(self.plan.settings).collection("default"))
            search = self._libraries[collection].search()
            opened = Pipeline.of(search, self.embedder, own, self.verifier)
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
