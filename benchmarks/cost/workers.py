"""Answers checked per second by one and by two processes with one thread each."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.cost.series import Series
from benchmarks.speed import PASSAGES, answer, passages
from suffice.answers import open_checker
from suffice.settings import Settings

SIZES = (1, 2)
_PATIENCE = 300.0


def working(sizes: Sequence[int], repeats: int, answers: int) -> tuple[str, Series]:
    """Each of the processes checks this many answers; the best of the repeats counts."""
    rates: dict[int, list[float]] = {size: [] for size in sizes}
    cores: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(repeats):
        for size in sizes:
            rate, used = _rate(size, answers)
            rates[size].append(rate)
            cores[size].append(used)
    best = {size: max(found) for size, found in rates.items()}
    more = {size: {"cores": round(cores[size][rates[size].index(best[size])], 2)} for size in sizes}
    return "workers", Series("Workers", "processes", "answers per second", best, more)


def _rate(workers: int, answers: int) -> tuple[float, float]:
    """Answers per second of all workers together, and the number of cores they used."""
    context = multiprocessing.get_context("spawn")
    ready, done = context.Barrier(workers), context.Queue()
    running = [
        context.Process(target=_work, args=(place, answers, ready, done))
        for place in range(workers)
    ]
    for process in running:
        process.start()
    spans = [done.get(timeout=_PATIENCE) for _ in running]
    for process in running:
        process.join()
    seconds = max(span[1] for span in spans) - min(span[0] for span in spans)
    return workers * answers / seconds, sum(span[2] for span in spans) / seconds


def _work(place: int, answers: int, ready: Any, done: Any) -> None:
    settings = Settings()
    settings = replace(
        settings,
        verifier=replace(settings.verifier, threads=1),
        embedder=replace(settings.embedder, threads=1),
    )
    checker = open_checker(settings, uncited=True)

    def check(turn: int) -> None:
        first = 1000 * (place * (answers + 1) + turn)
        checker.check(" ".join(answer(first)), passages(PASSAGES, first))

    check(answers)  # loads the models
    ready.wait(_PATIENCE)
    start, cpu = time.time(), time.process_time()
    for turn in range(answers):
        check(turn)
    done.put((start, time.time(), time.process_time() - cpu))
