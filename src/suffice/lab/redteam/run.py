"""Runs attacks against the system, and reports the figures, every case and a comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from suffice.bounds import at_most
from suffice.checker import Checker
from suffice.errors import Unreadable
from suffice.evidence.index import Retriever, gather
from suffice.evidence.ingest import Progress
from suffice.lab.redteam.material import Attack, Case, Material, Trial, first
from suffice.pipeline import Pipeline
from suffice.types import Action, Passage, Retrieved, Verdict


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


FORMAT = "suffice-redteam-1"
_STEPS = 40
Report = dict[str, Any]


def report(found: Iterable[tuple[Attack, Sequence[Outcome]]]) -> Report:
    """The figures of a run, in total and by attack, with every case as evidence."""
    by_attack: dict[str, Any] = {}
    everything: list[Outcome] = []
    for attack, outcomes in found:
        by_attack[attack.name] = {"correct_system": attack.correct, **figures(outcomes)}
        everything += outcomes
    return {
        "format": FORMAT,
        "total": figures(everything),
        "attacks": by_attack,
        "cases": [_case(one) for one in everything],
    }


def figures(outcomes: Sequence[Outcome]) -> Report:
    """How many attacks ended in the right action and how many twins were served, with exact 95 %
    intervals (Clopper-Pearson), which treat cases as independent. `served_plain` counts attacks
    served without a caveat."""
    if not outcomes:
        return {"cases": 0, "note": "no material in the documents"}
    return _counted([_case(one) for one in outcomes])


def interval(hits: int, n: int, confidence: float = 0.95) -> list[float]:
    """The exact confidence interval of a share (Clopper-Pearson).

    >>> [round(end, 3) for end in interval(9, 10)]
    [0.555, 0.997]
    """
    risk = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _root(lambda p: 1 - at_most(hits - 1, n, p) < risk)
    high = 1.0 if hits == n else _root(lambda p: at_most(hits, n, p) > risk)
    return [round(low, 4), round(high, 4)]


def documents_hash(passages: Iterable[Passage]) -> str:
    """A digest of the passages, independent of their order."""
    texts = sorted(f"{one.document}\0{one.version}\0{one.start}\0{one.text}" for one in passages)
    return sha256("\1".join(texts).encode()).hexdigest()


def compare(now: Mapping[str, Any], last: Mapping[str, Any]) -> Report:
    """What changed since the last run. Cases that both runs have are compared one by one."""
    before = {_key(one): one for one in last["cases"]}
    changed = [(before[_key(one)], one) for one in now["cases"] if _key(one) in before]
    return {
        "date": last.get("date"),
        "same_documents": last.get("documents") == now.get("documents"),
        "same_setup": last.get("setup") == now.get("setup"),
        "compared_cases": len(changed),
        "newly_missed": [_key(new) for old, new in changed if _worse(old, new, "attack_result")],
        "newly_right": [_key(new) for old, new in changed if _worse(new, old, "attack_result")],
        "newly_refused_twins": [_key(new) for old, new in changed if _worse(old, new, "twin")],
        "right_share": [_share(last, "right_share"), _share(now, "right_share")],
        "twins_served_share": [
            _share(last, "twins_served_share"),
            _share(now, "twins_served_share"),
        ],
    }


def pooled(reports: Mapping[str, Report]) -> Report:
    """The combined figures of several collections, without any text from the documents."""
    cases = [case for found in reports.values() for case in found["cases"]]
    names = list(dict.fromkeys(name for found in reports.values() for name in found["attacks"]))
    by_attack = {name: [case for case in cases if case["attack"] == name] for name in names}
    one = next(iter(reports.values()))
    return {
        "total": _counted(cases),
        "attacks": {name: _counted(own) for name, own in by_attack.items()},
        "collections": {
            name: {
                "date": found["date"],
                "documents": found["documents"],
                **_counted(found["cases"]),
            }
            for name, found in reports.items()
        },
        "most": one["most"],
        "setup": one["setup"],
        "run": one["run"],
    }


def read_report(path: Path) -> Report:
    """A report of an earlier run."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise Unreadable(
            f"{path} cannot be read: {problem}.", remedy="Use a report written by suffice redteam."
        ) from problem
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Unreadable(
            f"{path} is not a report of suffice redteam.", remedy="Name another file with --last."
        )
    return found


def _root(low_side: Callable[[float], bool]) -> float:
    """The largest share for which the condition holds, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if low_side(middle) else (low, middle)
    return low


def _counted(cases: Sequence[Mapping[str, Any]]) -> Report:
    n = len(cases)
    if not n:
        return {"cases": 0}
    missed = [case["attack_result"]["action"] for case in cases if not _passed(case)]
    right, served = n - len(missed), sum(bool(case["twin"]["passed"]) for case in cases)
    return {
        "cases": n,
        "right": right,
        "right_share": right / n,
        "right_interval": interval(right, n),
        "served_plain": missed.count(Action.SERVE.name),
        "twins_served": served,
        "twins_served_share": served / n,
        "twins_served_interval": interval(served, n),
    }


def _passed(case: Mapping[str, Any]) -> bool:
    return bool(case["attack_result"]["passed"])


def _case(one: Outcome) -> Report:
    return {
        "attack": one.case.attack,
        "what": one.case.what,
        "document": one.case.document,
        "attack_result": _result(one.hostile),
        "twin": _result(one.twin),
    }


def _result(one: Result) -> Report:
    trial = one.trial
    return {
        "question": trial.question,
        "draft": trial.draft,
        "right_actions": sorted(action.name for action in trial.right),
        "action": one.action,
        "reason": one.reason,
        "released": one.released if trial.draft is None else "",
        "passed": one.passed,
    }


def _key(case: Mapping[str, Any]) -> str:
    hostile = case["attack_result"]
    return f"{case['attack']}: {case['what']}: {hostile['draft'] or hostile['question']}"


def _worse(old: Mapping[str, Any], new: Mapping[str, Any], part: str) -> bool:
    return bool(old[part]["passed"]) and not new[part]["passed"]


def _share(found: Mapping[str, Any], name: str) -> float | None:
    share: float | None = found["total"].get(name)
    return share
