"""Measures all series in one run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.cost import index, log, workers
from benchmarks.cost.checks import Sizes, checking
from benchmarks.cost.index import searching
from benchmarks.cost.log import logging
from benchmarks.cost.series import Series
from benchmarks.cost.workers import working
from suffice.evidence.ingest import Progress
from suffice.lab.eval.run_record import run_record
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier

PARTS = ("checks", "index", "log", "workers")


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes and repeats. `answers`: what each worker checks in a repeat."""

    checks: Sizes = field(default_factory=Sizes)
    index: Sequence[int] = index.SIZES
    log: Sequence[int] = log.SIZES
    workers: Sequence[int] = workers.SIZES
    repeats: int = 3
    quick_repeats: int = 12
    """Repeats of what takes milliseconds."""
    answers: int = 3
    parts: Sequence[str] = PARTS


QUICK = Plan(
    Sizes((1, 2), (1, 2), (50, 100)), (100, 200), (50, 100), (), repeats=1, quick_repeats=2
)
"""Enough to see that every part runs. Without workers, which take seconds to start."""


def bench_cost(
    verifier: Verifier, embedder: Embedder, plan: Plan, progress: Progress
) -> dict[str, Any]:
    """Each series says at which commit and under which load of the machine it was measured, since
    parts can be measured on their own."""
    run = run_record()
    series: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for name, found in _series(verifier, embedder, plan, Path(folder), progress):
            load = round(os.getloadavg()[0], 2)
            series[name] = {**found.figures(), "commit": run["commit"], "load": load}
            progress(name, 1, 1)
    return {"model": verifier.id, "series": series, "run": run}


def _series(
    verifier: Verifier, embedder: Embedder, plan: Plan, folder: Path, progress: Progress
) -> Iterator[tuple[str, Series]]:
    if "checks" in plan.parts:
        yield from checking(verifier, embedder, plan.checks, plan.repeats)
    if "index" in plan.parts:
        yield from searching(folder, plan.index, plan.quick_repeats, progress)
    if "log" in plan.parts:
        yield from logging(folder, plan.log, plan.quick_repeats, progress)
    if "workers" in plan.parts and plan.workers:
        yield working(plan.workers, plan.repeats, plan.answers)
