"""Runs the cases against the system and collects the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from suffice.answers import Checker
from suffice.evidence.ingest import Progress
from suffice.evidence.retriever import Retriever, gather
from suffice.learn.redteam.case import Attack, Case, Trial
from suffice.learn.redteam.material import Material, first
from suffice.pipeline import Pipeline
from suffice.types import Passage, Retrieved, Verdict


@dataclass(frozen=True, slots=True)
class Altered:
    """A retriever that hides some documents and puts planted passages first."""

    search: Retriever
    hidden: frozenset[str]
    planted: tuple[Passage, ...]
    most: int

    def __call__(self, question: str) -> list[Retrieved]:
        found = gather(question, self.search(question), None)
        left = [item for item in found if item.passage.document not in self.hidden][: self.most]
        return [*(Retrieved(passage, None) for passage in self.planted), *left]


class Target(Protocol):
    """The system under attack."""

    def decide(self, trial: Trial) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class System:
    """Suffice itself: the pipeline for questions, the checks for drafts."""

    pipeline: Pipeline
    checker: Checker
    passages: int = 10
    """How many retrieved passages are kept for a question."""

    def decide(self, trial: Trial) -> Verdict:
        if trial.draft is not None:
            return self.checker.check(trial.draft, trial.passages, trial.question or None)
        search = self.pipeline.retriever
        altered = Altered(search, trial.hidden, trial.passages, self.passages)
        return replace(self.pipeline, retriever=altered).answer(trial.question)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a trial."""

    trial: Trial
    action: str
    reason: str
    released: str
    passed: bool

    @classmethod
    def of(cls, trial: Trial, verdict: Verdict) -> Result:
        released = verdict.released if verdict.served else ""
        return cls(trial, verdict.action.name, verdict.reason, released, trial.passed(verdict))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case: the results of the attack and of its twin."""

    case: Case
    hostile: Result
    twin: Result


def attack_all(
    attacks: Sequence[Attack], material: Material, system: Target, most: int, progress: Progress
) -> Iterator[tuple[Attack, list[Outcome]]]:
    """Each attack with at most `most` outcomes; none if the documents offer no material."""
    prepared = [(attack, first(attack.cases(material), most)) for attack in attacks]
    total, done = sum(len(cases) for _, cases in prepared), 0
    for attack, cases in prepared:
        outcomes = []
        for case in cases:
            hostile = Result.of(case.hostile, system.decide(case.hostile))
            outcomes.append(Outcome(case, hostile, Result.of(case.twin, system.decide(case.twin))))
            done += 1
            progress("attacks", done, total)
        yield attack, outcomes
