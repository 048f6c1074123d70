"""Runs the whole pipeline on labelled questions and drafts, as configured and with rules disabled.

A case is decided well if a right answer or draft is served, or if an unanswerable question or wrong
draft is not. Two configurations are compared case by case.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suffice.answers import Checker
from suffice.errors import SettingsError
from suffice.eval.cases import Cases, Draft, Question, unpacked
from suffice.eval.figures import f1_flagged
from suffice.eval.measures import abstention, means, measure
from suffice.eval.once import once
from suffice.eval.provenance import provenance
from suffice.eval.run_record import run_record
from suffice.eval.state import Outcome, State
from suffice.eval.twins import twin_figures, twin_of
from suffice.evidence.ingest import Progress
from suffice.evidence.library import Library
from suffice.models.caching import CachedEmbedder
from suffice.models.catalog import open_embedder
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.pipeline import Pipeline
from suffice.settings import Settings
from suffice.switch import RULES, rules_off
from suffice.text.marks import citations
from suffice.types import Action, Verdict

SERVED = (Action.SERVE, Action.CAVEAT)
CHECKS = (
    *("structure", "citations", "literals", "omission"),
    *("verbatim", "grounding", "addresses", "whole"),
)
_DRAWS = 2000


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


def rules() -> list[str]:
    """The names of all rules that can be disabled."""
    return sorted({*SETTINGS, *RULES})


@dataclass(frozen=True)
class Evaluation:
    """Cases and their indexed documents, ready to run in any configuration."""

    cases: Cases
    libraries: Mapping[str, Library]
    verifier: Verifier
    embedder: Embedder
    settings: Settings
    state: State = field(default_factory=State)
    measured: bool = False
    """Whether the measures of `eval.measures` are computed for each question."""

    def outcomes(self, off: Iterable[str], progress: Progress) -> list[Outcome]:
        names = set(off)
        settings = self.settings
        for name in names & SETTINGS.keys():
            settings = SETTINGS[name](settings)
        with rules_off(names & RULES):
            where = f"without {', '.join(sorted(names))}" if names else "base"
            answers = self._asked(settings, where, progress)
            return [*answers, *self._checked(settings, where, progress)]

    def _asked(self, settings: Settings, where: str, progress: Progress) -> Iterable[Outcome]:
        pipelines = self._pipelines(settings)

        def decide(case: Question) -> Outcome:
            verdict = pipelines[case.collection].answer(case.question)
            found = asked(case, verdict)
            if not self.measured or where != "base":
                return found
            return replace(found, measures=measure(case, verdict, self.verifier))

        for number, one in enumerate(self.cases.questions, 1):
            yield self.state.once(f"{where}, question {number}", partial(decide, one))
            progress("questions", number, len(self.cases.questions))

    def _pipelines(self, settings: Settings) -> dict[str, Pipeline]:
        own = settings.collection("default")
        return {
            name: Pipeline.of(library.search(), self.embedder, own, self.verifier)
            for name, library in self.libraries.items()
        }

    def twins(self, base: Sequence[Outcome], progress: Progress) -> Mapping[str, Any]:
        """The figures of the questions paired with their twins."""
        pipelines = self._pipelines(self.settings)
        pairs = []
        for number, (case, one) in enumerate(zip(self.cases.questions, base, strict=False), 1):
            pipeline = pipelines[case.collection]
            if twin := twin_of(case, pipeline.retriever):
                other, search = twin
                changed = replace(pipeline, retriever=search)
                good = self.state.once(
                    f"twin {number}", partial(_answered, other, changed, case.question)
                ).good
                pairs.append((one.good, good) if case.answerable else (good, one.good))
            progress("twins", number, len(self.cases.questions))
        return twin_figures(pairs)

    def _checked(self, settings: Settings, where: str, progress: Progress) -> Iterable[Outcome]:
        checkers = {
            uncited: Checker.of(settings, self.verifier, self.embedder, uncited=uncited)
            for uncited in (True, False)
        }

        def decide(case: Draft) -> Outcome:
            checker = checkers[not citations(case.text)]
            return checked(case, checker.check(case.text, case.passages, case.question or None))

        for number, one in enumerate(self.cases.drafts, 1):
            yield self.state.once(f"{where}, draft {number}", partial(decide, one))
            progress("drafts", number, len(self.cases.drafts))


def _answered(case: Question, pipeline: Pipeline, question: str) -> Outcome:
    return asked(case, pipeline.answer(question))


def asked(case: Question, verdict: Verdict) -> Outcome:
    served = verdict.action in SERVED
    if not case.answerable:
        result = "served" if served else _unserved(verdict)
        good = 0.0 if served or verdict.action is Action.CONFLICT else 1.0
    elif served:
        good = case.share(verdict.released)
        result = "right" if good == 1 else "half" if good else "wrong"
    else:
        good, result = 0.0, _unserved(verdict)
    kind = "answerable" if case.answerable else "unanswerable"
    return Outcome(f"{kind}: {result}", verdict.action.name, good)


def checked(case: Draft, verdict: Verdict) -> Outcome:
    served = verdict.action in SERVED
    kind = "right draft" if case.correct else "wrong draft"
    result = "served" if served else _unserved(verdict)
    return Outcome(f"{kind}: {result}", verdict.action.name, float(served == case.correct))


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
    twins: bool = False,
    measures: bool = False,
    resume: Path | None = None,
) -> dict[str, Any]:
    """The figures as configured. `off` adds a run without these rules, `each` a run without each
    rule in turn, both compared with the configured run. `twins` adds runs on documents without the
    answers, and `measures` adds the figures of `eval.measures`. `resume` is a file that keeps the
    outcomes, so that an interrupted run continues where it stopped."""
    if unknown := [name for name in off if name not in rules()]:
        raise SettingsError(
            f"There is no rule “{unknown[0]}”.", remedy=f"Use one of {', '.join(rules())}."
        )
    embedder = CachedEmbedder(open_embedder(settings.embedder), most=200_000)
    made = provenance(cases, settings, embedder.id, verifier.id)
    state = State.open(resume, f"{made['id']} {measures}")
    with tempfile.TemporaryDirectory() as scratch:
        libraries = indexed(cases, settings, Path(scratch), progress)
        try:
            whole = Evaluation(
                cases, libraries, once(verifier), embedder, settings, state, measures
            )
            base = whole.outcomes((), progress)
            halves = whole.twins(base, progress) if twins else None
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
        "questions": len(cases.questions),
        "drafts": len(cases.drafts),
        "tier": verifier.tier,
        "model": verifier.id,
        **figures(base, cases),
        "twins": halves,
        "measures": means([one.measures for one in base]) if measures else None,
        "without": compared,
        "provenance": made,
        "run": run_record(*cases.files),
    }


def indexed(
    cases: Cases, settings: Settings, scratch: Path, progress: Progress
) -> dict[str, Library]:
    """The collections of the questions, each in a library of its own. A collection without a
    subfolder of its name is all of the documents."""
    made: dict[str, Library] = {}
    if cases.documents is None or not cases.questions:
        return made
    folder = unpacked(cases.documents, scratch / "docs")
    for number, name in enumerate(sorted({one.collection for one in cases.questions})):
        made[name] = Library.open(scratch / f"{number}.db", settings, create=True)
        within = folder / name
        made[name].add(within if within.is_dir() else folder, progress=progress)
    return made


def figures(outcomes: Sequence[Outcome], cases: Cases) -> dict[str, Any]:
    """Counts of outcomes, coverage, and the precision of each verdict. Outcomes are in the order of
    the cases, questions first."""
    count = len(cases.questions)
    answers, drafts = outcomes[:count], outcomes[count:]
    labels: dict[str, list[bool]] = defaultdict(list)
    for case, one in zip(cases.questions, answers, strict=True):
        if one.action in ("SERVE", "CAVEAT"):
            labels[one.action].append(case.answerable and one.good == 1)
    passed = np.array([one.action == "SERVE" for one in drafts])
    correct = np.array([case.correct for case in cases.drafts])
    served = sum(map(len, labels.values()))
    return {
        "cases": len(outcomes),
        "outcomes": dict(sorted(Counter(one.result for one in outcomes).items())),
        "good": _mean([one.good for one in outcomes]),
        "coverage": served / count if count else None,
        "abstention": abstention(
            [case.answerable for case in cases.questions], [one.action for one in answers]
        ),
        "precision": {
            name: {"served": len(own), "right": _mean(own)} for name, own in sorted(labels.items())
        },
        "pairs_told_apart": _told_apart(drafts, cases),
        "f1": f1_flagged(passed, correct) if len(drafts) else None,
    }


def _told_apart(drafts: Sequence[Outcome], cases: Cases) -> float | None:
    """The share of draft pairs (one right, one wrong) in which only the right one is served."""
    pairs: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for case, one in zip(cases.drafts, drafts, strict=True):
        if case.pair:
            pairs[case.pair][case.correct].append(one.good)
    return _mean([one * two for wrong, right in pairs.values() for one in right for two in wrong])


def compare(base: Sequence[Outcome], other: Sequence[Outcome], cases: Cases) -> dict[str, Any]:
    """Compare the other configuration with the base, case by case, with a paired 95 % interval."""
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


def _mean(values: Sequence[float | bool]) -> float | None:
    return float(np.mean(values)) if values else None
