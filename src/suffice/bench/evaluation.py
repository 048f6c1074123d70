"""The whole path over labelled questions and drafts, as it is and with rules switched off.

Every case is decided well or not: a right answer served, an unanswerable question not served, a
right draft served, a wrong one not. Two configurations are compared case by case.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from suffice.answers import Checker
from suffice.bench.cases import Cases, Draft, Question, unpacked
from suffice.bench.figures import f1_flagged
from suffice.bench.run_record import run_record
from suffice.errors import SettingsError
from suffice.evidence.ingest import Progress
from suffice.evidence.library import Library
from suffice.models.catalog import open_embedder
from suffice.models.embedder import Embedder
from suffice.models.remembering import Remembering
from suffice.models.verifier import (
    Pair,
    SufficiencyScore,
    SupportScore,
    Thresholds,
    Verifier,
    sentence_scores,
)
from suffice.pipeline import Pipeline
from suffice.settings import Settings
from suffice.switch import RULES, without
from suffice.types import Action, Verdict

SERVED = (Action.SERVE, Action.CAVEAT)
CHECKS = ("structure", "citations", "literals", "omission", "verbatim", "grounding")
_DRAWS = 2000
K = TypeVar("K")
V = TypeVar("V")


def _check_off(name: str) -> Callable[[Settings], Settings]:
    off: dict[str, Any] = {name: False}
    return lambda settings: replace(settings, checks=replace(settings.checks, **off))


def _no_conflicts(settings: Settings) -> Settings:
    off = replace(settings.gate.conflict, on=False)
    return replace(settings, gate=replace(settings.gate, conflict=off))


SETTINGS: Mapping[str, Callable[[Settings], Settings]] = {
    **{name: _check_off(name) for name in CHECKS},
    "conflicts": _no_conflicts,
    "filter": lambda one: replace(one, filter=replace(one.filter, on=False)),
    "rewrite": lambda one: replace(one, search=replace(one.search, rewrite="never")),
    "rescue": lambda one: replace(one, verdict=replace(one.verdict, rescue=False)),
}
"""The rules that a setting switches off."""


def rules() -> list[str]:
    """The names of everything that can be switched off."""
    return sorted({*SETTINGS, *RULES})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case, and how good that is, from 0 to 1."""

    id: str
    said: str
    action: str
    good: float


@dataclass(frozen=True)
class Known:
    """A verifier that judges a pair once: configurations ask mostly the same."""

    verifier: Verifier
    support_of: dict[Pair, SupportScore] = field(default_factory=dict)
    enough_of: dict[Pair, SufficiencyScore] = field(default_factory=dict)
    sentences_of: dict[tuple[str, tuple[str, ...]], list[float]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.verifier.id

    @property
    def tier(self) -> str:
        return self.verifier.tier

    @property
    def thresholds(self) -> Thresholds:
        return self.verifier.thresholds

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return _once(self.support_of, pairs, self.verifier.support)

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return _once(self.enough_of, pairs, self.verifier.sufficiency)

    def sentences(self, said: str, sentences: Sequence[str]) -> list[float]:
        key = said, tuple(sentences)
        if key not in self.sentences_of:
            self.sentences_of[key] = sentence_scores(self.verifier, said, sentences)
        return self.sentences_of[key]


def _once(known: dict[K, V], asked: Sequence[K], ask: Callable[[list[K]], list[V]]) -> list[V]:
    fresh = [one for one in dict.fromkeys(asked) if one not in known]
    if fresh:
        known.update(zip(fresh, ask(fresh), strict=True))
    return [known[one] for one in asked]


@dataclass(frozen=True)
class Evaluation:
    """Cases with their documents indexed, ready to be decided in any configuration."""

    cases: Cases
    libraries: Mapping[str, Library]
    verifier: Known
    embedder: Embedder
    settings: Settings

    def outcomes(self, off: Iterable[str], progress: Progress) -> list[Outcome]:
        names = set(off)
        settings = self.settings
        for name in names & SETTINGS.keys():
            settings = SETTINGS[name](settings)
        with without(names & RULES):
            return [*self._asked(settings, progress), *self._checked(settings, progress)]

    def _asked(self, settings: Settings, progress: Progress) -> Iterable[Outcome]:
        own = settings.collection("default")
        pipelines = {
            name: Pipeline.of(library.search(), self.embedder, own, self.verifier)
            for name, library in self.libraries.items()
        }
        for number, one in enumerate(self.cases.questions, 1):
            yield asked(one, pipelines[one.collection].answer(one.question))
            progress("questions", number, len(self.cases.questions))

    def _checked(self, settings: Settings, progress: Progress) -> Iterable[Outcome]:
        checkers = {
            uncited: Checker.of(settings, self.verifier, self.embedder, uncited=uncited)
            for uncited in (True, False)
        }
        for number, one in enumerate(self.cases.drafts, 1):
            checker = checkers["[" not in one.text]
            yield checked(one, checker.check(one.text, one.passages, one.question or None))
            progress("drafts", number, len(self.cases.drafts))


def asked(case: Question, verdict: Verdict) -> Outcome:
    served = verdict.action in SERVED
    if not case.answerable:
        said = "served" if served else _unserved(verdict)
        good = 0.0 if served or verdict.action is Action.CONFLICT else 1.0
    elif served:
        good = case.share(verdict.released)
        said = "right" if good == 1 else "half" if good else "wrong"
    else:
        good, said = 0.0, _unserved(verdict)
    kind = "answerable" if case.answerable else "unanswerable"
    return Outcome(case.id, f"{kind}: {said}", verdict.action.name, good)


def checked(case: Draft, verdict: Verdict) -> Outcome:
    served = verdict.action in SERVED
    kind = "right draft" if case.correct else "wrong draft"
    said = "served" if served else _unserved(verdict)
    return Outcome(case.id, f"{kind}: {said}", verdict.action.name, float(served == case.correct))


def _unserved(verdict: Verdict) -> str:
    return {Action.CONFLICT: "false conflict", Action.REVIEW: "review"}.get(
        verdict.action, "withheld"
    )


def evaluate(
    cases: Cases,
    settings: Settings,
    verifier: Verifier,
    progress: Progress,
    *,
    off: Sequence[str] = (),
    each: bool = False,
) -> dict[str, Any]:
    """Figures as configured; with `off` also without these rules, with `each` without each rule in
    turn, and how the decisions differ."""
    if unknown := [name for name in off if name not in rules()]:
        raise SettingsError(
            f"There is no rule “{unknown[0]}”.", remedy=f"Name one of {', '.join(rules())}."
        )
    embedder = Remembering(open_embedder(settings.embedder), most=200_000)
    with tempfile.TemporaryDirectory() as scratch:
        libraries = _indexed(cases, settings, Path(scratch), progress)
        try:
            whole = Evaluation(cases, libraries, Known(verifier), embedder, settings)
            base = whole.outcomes((), progress)
            configurations = [tuple(off)] if off else []
            configurations += [(name,) for name in rules()] if each else []
            compared = {
                ", ".join(names): compare(base, whole.outcomes(names, progress), cases)
                for names in configurations
            }
        finally:
            for library in libraries.values():
                library.store.close()
    return {
        "data": cases.name,
        "tier": verifier.tier,
        "model": verifier.id,
        **figures(base, cases),
        "without": compared,
        "run": run_record(*cases.files),
    }


def _indexed(
    cases: Cases, settings: Settings, scratch: Path, progress: Progress
) -> dict[str, Library]:
    made: dict[str, Library] = {}
    if cases.documents is None or not cases.questions:
        return made
    folder = unpacked(cases.documents, scratch / "docs")
    for number, name in enumerate(sorted({one.collection for one in cases.questions})):
        made[name] = Library.open(scratch / f"{number}.db", settings, create=True)
        made[name].add(folder / name if name else folder, progress=progress)
    return made


def figures(outcomes: Sequence[Outcome], cases: Cases) -> dict[str, Any]:
    """Counts of what became of the cases, coverage, and how often each label was right."""
    asked_of = {case.id for case in cases.questions}
    answerable = {case.id for case in cases.questions if case.answerable}
    correct = {case.id: case.correct for case in cases.drafts}
    labels: dict[str, list[float]] = defaultdict(list)
    for one in outcomes:
        if one.id in asked_of and one.action in ("SERVE", "CAVEAT"):
            labels[one.action].append(one.good if one.id in answerable else 0.0)
    drafts = [one for one in outcomes if one.id in correct]
    passed = np.array([one.action == "SERVE" for one in drafts])
    true = np.array([correct[one.id] for one in drafts])
    served = sum(map(len, labels.values()))
    return {
        "cases": len(outcomes),
        "outcomes": dict(sorted(Counter(one.said for one in outcomes).items())),
        "good": _mean([one.good for one in outcomes]),
        "coverage": served / len(asked_of) if asked_of else None,
        "precision": {
            name: {"served": len(own), "right": _mean([float(good == 1) for good in own])}
            for name, own in sorted(labels.items())
        },
        "pairs_told_apart": _told_apart(drafts, cases),
        "f1": f1_flagged(passed, true) if len(drafts) else None,
    }


def _told_apart(drafts: Sequence[Outcome], cases: Cases) -> float | None:
    """The share of pairs of a right and a wrong draft in which the right one alone is served."""
    good = {one.id: one.good for one in drafts}
    pairs: dict[str, list[Draft]] = defaultdict(list)
    for case in cases.drafts:
        if case.pair:
            pairs[case.pair].append(case)
    told = [
        good[right.id] * good[wrong.id]
        for own in pairs.values()
        for right in own
        if right.correct
        for wrong in own
        if not wrong.correct
    ]
    return _mean(told)


def compare(base: Sequence[Outcome], other: Sequence[Outcome], cases: Cases) -> dict[str, Any]:
    """The other configuration beside the base, case by case, with a paired 95 % interval."""
    gain = np.array([two.good - one.good for one, two in zip(base, other, strict=True)])
    draw = np.random.default_rng(7)
    means = gain[draw.integers(0, len(gain), (_DRAWS, len(gain)))].mean(axis=1)
    return {
        "better": int((gain > 0).sum()),
        "worse": int((gain < 0).sum()),
        "change": float(gain.mean()),
        "interval": [float(one) for one in np.quantile(means, (0.025, 0.975))],
        **figures(other, cases),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
