"""Runs a golden set through the whole pipeline, and compares the run with an earlier one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from suffice.errors import Unreadable
from suffice.eval.run_record import run_record
from suffice.evidence.ingest import Progress
from suffice.learn.golden.cases import GoldenCase, key_of
from suffice.types import Verdict

Answers = Callable[[GoldenCase], Verdict]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one case. `released` is kept to show what changed."""

    passed: bool
    action: str
    confidence: float | None = None
    released: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The outcomes by case, and the conditions of the run."""

    cases: Mapping[str, Outcome]
    run: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        return sum(one.passed for one in self.cases.values())

    def write(self, path: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        path.write_text(f"{text}\n", encoding="utf-8")


def read_run(path: Path) -> Run:
    """An earlier run."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        return Run({name: Outcome(**one) for name, one in tree["cases"].items()}, tree["run"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Unreadable(
            f"{path} is not a run of a golden set.",
            remedy="Use a file written by suffice golden run.",
        ) from problem


def run(cases: Sequence[GoldenCase], answer: Answers, path: Path, progress: Progress) -> Run:
    """Ask every question, without writing to the log."""
    found: dict[str, Outcome] = {}
    for number, case in enumerate(cases, 1):
        verdict = answer(case)
        found[key_of(case)] = Outcome(
            case.passes(verdict),
            verdict.action.value,
            None if verdict.confidence is None else round(verdict.confidence, 4),
            verdict.released,
            verdict.reason,
        )
        progress("questions", number, len(cases))
    return Run(found, run_record(path))


@dataclass(frozen=True, slots=True)
class Difference:
    """A case in an earlier run and now."""

    question: str
    was: Outcome
    now: Outcome


@dataclass(frozen=True, slots=True)
class Comparison:
    """Cases grouped by change: passed and now fail, failed and now pass, fail in both runs, new and
    fail, and removed."""

    regressions: tuple[Difference, ...] = ()
    fixed: tuple[Difference, ...] = ()
    still: tuple[Difference, ...] = ()
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def compare(before: Run | None, now: Run) -> Comparison:
    """Compare a run with an earlier one. Without an earlier run, every failure is new."""
    known = before.cases if before else {}
    pairs = [Difference(name, known[name], one) for name, one in now.cases.items() if name in known]
    return Comparison(
        tuple(one for one in pairs if one.was.passed and not one.now.passed),
        tuple(one for one in pairs if one.now.passed and not one.was.passed),
        tuple(one for one in pairs if not one.now.passed and not one.was.passed),
        tuple(n for n, one in now.cases.items() if n not in known and not one.passed),
        tuple(name for name in known if name not in now.cases),
    )
