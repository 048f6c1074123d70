"""Runs the whole pipeline on labelled cases, as configured and in other configurations.

A case is decided well if a right answer or draft is served, or if an unanswerable question or wrong
draft is not. Two configurations are compared case by case.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import SettingsError, Unreadable
from suffice.evidence.ingest import Progress
from suffice.lab.eval.cases import LABELS, Cases, Draft, Question, Recorded
from suffice.lab.eval.figures import f1_flagged
from suffice.lab.eval.outcomes import Outcome, abstention, answers_of, means
from suffice.lab.eval.run_record import run_record
from suffice.lab.eval.twins import (
    OPEN,
    Operating,
    choose,
    has_twin,
    shipped,
    twin_figures,
    with_llm,
)
from suffice.lab.eval.worker import (
    BASE,
    SETTINGS,
    Configuration,
    Decides,
    Job,
    Plan,
    Worker,
    processes,
)
from suffice.log.setup import Setup
from suffice.models.catalog import open_embedder
from suffice.models.verifier import Verifier
from suffice.settings import Settings
from suffice.switch import RULES


@dataclass(frozen=True)
class State:
    """Outcomes by key. Without a path they are not kept."""

    path: Path | None = None
    known: dict[str, Outcome] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None, made_for: str) -> State:
        """The outcomes of an earlier run with the same data, models and settings (`made_for`)."""
        if path is None:
            return cls()
        if not path.exists():
            path.write_text(json.dumps({"made_for": made_for}) + "\n", encoding="utf-8")
            return cls(path)
        first, *rows = _rows(path)
        if first.get("made_for") != made_for:
            raise Unreadable(
                f"{path} was created with different data, models or settings.",
                remedy="Delete it, or name another file.",
            )
        return cls(path, {row.pop("key"): Outcome(**row) for row in rows})

    def once(self, key: str, decide: Callable[[], Outcome]) -> Outcome:
        """The saved outcome; otherwise decide, and save the new one."""
        if key not in self.known:
            self.known[key] = decide()
            if self.path is not None:
                row = json.dumps({"key": key, **asdict(self.known[key])})
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(row + "\n")
        return self.known[key]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The complete rows of a file. If the interruption cut off the last row, it is removed, but
    only from a file that is a saved state."""
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    try:
        rows = [json.loads(line) for line in whole.splitlines()]
    except ValueError as problem:
        raise _unreadable(path) from problem
    if not rows or not all(isinstance(row, dict) for row in rows) or "made_for" not in rows[0]:
        raise _unreadable(path)
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return rows


def _unreadable(path: Path) -> Unreadable:
    return Unreadable(
        f"{path} is not a saved evaluation state.", remedy="Delete it, or name another file."
    )


def provenance(cases: Cases, settings: Settings, embedder: str, verifier: str) -> dict[str, str]:
    """The id of the setup (settings, models, package versions), and the hashes of the cases and
    their documents; `id` identifies them together."""
    own = settings.collection("default")
    made = {
        "setup": Setup.of(settings, own, embedder, verifier).record().id,
        "cases": _digest(repr(cases.all).encode()),
        "documents": _digest(
            repr([_documents(path) for path in dict.fromkeys(cases.documents.values())]).encode()
        ),
    }
    return {"id": _digest(repr(sorted(made.items())).encode()), **made}


def _documents(path: Path) -> str:
    """The hash of an archive, or of the names and contents of all files of a folder."""
    if path.is_file():
        return _digest(path.read_bytes())
    found = hashlib.sha256()
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        name = file.relative_to(path).as_posix().encode()
        found.update(name + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:32]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


_DRAWS = 2000


def rules() -> list[str]:
    """The names of all rules that can be disabled."""
    return sorted({*SETTINGS, *RULES})


@dataclass(frozen=True)
class Evaluation:
    """Cases, and what decides them."""

    cases: Cases
    decides: Decides
    progress: Progress
    state: State = field(default_factory=State)

    def outcomes(self, jobs: Sequence[Job], what: str) -> list[Outcome]:
        """The outcomes of the jobs: those that are saved, and those that are decided now."""
        left = iter(self.decides.decide([job for job in jobs if job.key not in self.state.known]))
        found = []
        for number, job in enumerate(jobs, 1):
            found.append(self.state.once(job.key, lambda: next(left)))
            self.progress(what, number, len(jobs))
        return found

    def everywhere(self, way: Configuration = BASE) -> list[Outcome]:
        """The outcomes of all cases in one configuration."""
        jobs = [Job(place, way) for place in range(len(self.cases.all))]
        return self.outcomes(jobs, "cases" if way == BASE else str(way))

    def twins(self, base: Sequence[Outcome]) -> Mapping[str, Any]:
        """The figures of the questions paired with their twins."""
        asked = [(n, case) for n, case in enumerate(self.cases.questions) if has_twin(case)]
        way = Configuration(twin=True)
        others = self.outcomes([Job(n, way) for n, _ in asked], "twins")
        return twin_figures(
            [
                (base[n].good, other.good) if case.answerable else (other.good, base[n].good)
                for (n, case), other in zip(asked, others, strict=True)
            ]
        )

    def left_out(self, places: range, base: Sequence[Outcome], ships: Operating) -> dict[str, Any]:
        """The answers to these cases with the shipped thresholds, and for each collection with
        those chosen on the other collections. Empty if there is no other."""
        cases = {place: _question(self.cases.all[place]) for place in places}
        names = _named(list(cases.values()))
        if len(names) < 2:
            return {}
        way = Configuration(thresholds=OPEN)
        opened = self.outcomes([Job(place, way) for place in places], "with an open gate")
        scored = dict(zip(places, opened, strict=True))
        chosen = {
            name: choose([scored[n] for n, case in cases.items() if case.collection != name])
            for name in names
        }
        jobs = [
            Job(n, Configuration(thresholds=chosen[case.collection])) for n, case in cases.items()
        ]
        found = dict(zip(places, self.outcomes(jobs, "left out"), strict=True))

        def answers(outcomes: Mapping[int, Outcome], name: str = "") -> Any:
            own = [n for n, case in cases.items() if name in ("", case.collection)]
            return answers_of([cases[n] for n in own], [outcomes[n] for n in own])

        configured = {place: base[place] for place in places}
        return {
            "shipped": _numbers(ships),
            "collections": {
                name: {
                    "chosen": _numbers(chosen[name]),
                    "left_out": answers(found, name),
                    "shipped": answers(configured, name),
                }
                for name in names
            },
            "all": {"left_out": answers(found), "shipped": answers(configured)},
        }


def _question(case: Question | Draft | Recorded) -> Question:
    assert not isinstance(case, Draft), "a draft has no thresholds of its own"
    return case.question if isinstance(case, Recorded) else case


def _numbers(thresholds: Operating) -> dict[str, float]:
    return {"gate": round(thresholds.gate, 4), "confidence": thresholds.confidence}


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
    leave_out: bool = False,
    resume: Path | None = None,
    workers: int = 1,
    tier: str = "",
) -> dict[str, Any]:
    """The figures as configured. `off` adds a run without these rules, `each` a run without each
    rule in turn, both compared with the configured run. `twins` adds runs on documents without the
    answers, `measures` the figures of `eval.measures`, and `leave_out` runs with thresholds that
    were chosen on the other collections. `resume` is a file that keeps the outcomes, so that an
    interrupted run continues where it stopped. Several `workers` open the verifier of this `tier`
    themselves."""
    if unknown := [name for name in off if name not in rules()]:
        raise SettingsError(
            f"There is no rule “{unknown[0]}”.", remedy=f"Use one of {', '.join(rules())}."
        )
    if leave_out and max(len(_named(cases.questions)), len(_named(cases.recorded))) < 2:
        raise SettingsError(
            "Thresholds cannot be chosen on other collections: there is only one.",
            remedy="Name a second folder, or a second collection in questions.jsonl.",
        )
    made = provenance(cases, settings, open_embedder(settings.embedder).id, verifier.id)
    state = State.open(resume, f"{made['id']} {measures}")
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        plan = Plan(cases, settings, Path(scratch), tier, measures)
        decides: Decides
        if workers > 1:
            decides = stack.enter_context(processes(plan, workers))
        else:
            decides = stack.enter_context(closing(Worker.of(plan, verifier)))
        decides.index(progress)
        whole = Evaluation(cases, decides, progress, state)
        base = whole.everywhere()
        halves = whole.twins(base) if twins else None
        without = [tuple(off)] if off else []
        without += [(name,) for name in rules()] if each else []
        compared = {
            ", ".join(names): compare(base, whole.everywhere(Configuration(names)), cases)
            for names in without
        }
        left_out = _left_out(whole, base, settings) if leave_out else None
    return {
        "data": cases.name,
        "tier": verifier.tier,
        "model": verifier.id,
        **figures(base, cases),
        "collections": {name: figures(*_of(name, base, cases)) for name in cases.collections},
        "left_out": left_out,
        "twins": halves,
        "measures": means([one.measures for one in base]) if measures else None,
        "without": compared,
        "provenance": made,
        "run": run_record(*cases.files),
    }


def _left_out(whole: Evaluation, base: Sequence[Outcome], settings: Settings) -> dict[str, Any]:
    """The same for the questions and for the recorded drafts of an LLM."""
    own, cases = settings.collection("default"), whole.cases
    count = len(cases.all)
    asked, recorded = range(len(cases.questions)), range(count - len(cases.recorded), count)
    return {
        "answers": whole.left_out(asked, base, shipped(own)),
        "recorded": whole.left_out(recorded, base, shipped(with_llm(own))),
    }


def _named(cases: Sequence[Question | Recorded]) -> list[str]:
    """The names of the collections."""
    return list(dict.fromkeys(case.collection for case in cases))


def _of(name: str, outcomes: Sequence[Outcome], cases: Cases) -> tuple[list[Outcome], Cases]:
    """The outcomes and cases of one collection."""
    own = [one for case, one in zip(cases.all, outcomes, strict=True) if case.collection == name]
    return own, replace(
        cases,
        questions=tuple(case for case in cases.questions if case.collection == name),
        drafts=tuple(case for case in cases.drafts if case.collection == name),
        recorded=tuple(case for case in cases.recorded if case.collection == name),
    )


def figures(outcomes: Sequence[Outcome], cases: Cases) -> dict[str, Any]:
    """Counts of outcomes, coverage, and the precision of each verdict. Outcomes are in the order of
    the cases: questions, drafts, recorded drafts."""
    asked, drafted = len(cases.questions), len(cases.questions) + len(cases.drafts)
    answers, drafts, recorded = outcomes[:asked], outcomes[asked:drafted], outcomes[drafted:]
    labels: dict[str, list[bool]] = defaultdict(list)
    for case, one in zip(cases.questions, answers, strict=True):
        if one.action in ("SERVE", "CAVEAT"):
            labels[one.action].append(case.answerable and one.good == 1)
    passed = np.array([one.action == "SERVE" for one in drafts])
    correct = np.array([case.correct for case in cases.drafts])
    served = sum(map(len, labels.values()))
    return {
        "cases": len(outcomes),
        "questions": len(cases.questions),
        "drafts": len(cases.drafts),
        "recorded_drafts": len(cases.recorded),
        "answers": answers_of(cases.questions, answers),
        "recorded": _recorded(recorded, cases) if recorded else None,
        "outcomes": dict(sorted(Counter(one.result for one in outcomes).items())),
        "good": _mean([one.good for one in outcomes]),
        "coverage": served / asked if asked else None,
        "abstention": abstention(
            [case.answerable for case in cases.questions], [one.action for one in answers]
        ),
        "precision": {
            name: {"served": len(own), "right": _mean(own)} for name, own in sorted(labels.items())
        },
        "pairs_told_apart": _told_apart(drafts, cases),
        "f1": f1_flagged(passed, correct) if len(drafts) else None,
    }


def _recorded(outcomes: Sequence[Outcome], cases: Cases) -> dict[str, Any]:
    """The answers with the recorded drafts, and what became of the drafts of each label."""
    fates: dict[str, Counter[str]] = {label: Counter() for label in LABELS}
    for case, one in zip(cases.recorded, outcomes, strict=True):
        fates[case.label][one.result.partition(": ")[2]] += 1
    return {
        "answers": answers_of([case.question for case in cases.recorded], outcomes),
        "drafts": {
            label: {"drafts": own.total(), **dict(own.most_common())}
            for label, own in fates.items()
        },
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
