"""Times detectors on the same answers, in turns.

The load of a machine changes while it measures. So every round times all detectors, the reference
first and last, and each round gives one ratio; the median of these ratios is reported.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.graph import Shape
from benchmarks.peers.rows import Answer
from benchmarks.peers.t5 import T5, write_t5
from benchmarks.shapes import DEBERTA, MODERNBERT, write_deberta, write_modernbert
from suffice.evidence.ingest import Progress
from suffice.models.session import open_session
from suffice.text.claims import claims

Count = Callable[[str], int]
"""The number of tokens of a text."""
Judge = Callable[[Answer], object]
PRECISIONS = ("fp32", "int8")
STEP = 64
"""Lengths are rounded to the nearest multiple, so that few graphs serve all answers."""
_NLI_WINDOW = 512
_HHEM_PROMPT = 24


@dataclass(frozen=True, slots=True)
class Peer:
    """Another detector: a model of its shape, and the lengths of the inputs it reads for an
    answer."""

    name: str
    model: str
    write: Callable[[Path, Shape, int, bool], int]
    shape: Shape
    reads: Callable[[Answer, Count], list[int]]

    def lengths(self, answer: Answer, count: Count) -> Counter[int]:
        return Counter(max(1, round(n / STEP)) * STEP for n in self.reads(answer, count))


def nli_calls(answer: Answer, count: Count) -> list[int]:
    """One call for each sentence with each passage; a longer pair is truncated to the window."""
    said, pieces = [count(one) for one in sentences(answer)], map(count, answer.pieces())
    return [min(one + piece + 3, _NLI_WINDOW) for piece in pieces for one in said]


def token_pass(answer: Answer, count: Count) -> list[int]:
    """One pass over the passages, the question and the answer."""
    return [sum(map(count, (*answer.evidence, answer.question, answer.text))) + 4]


def premise_pass(answer: Answer, count: Count) -> list[int]:
    """One pass over the prompt, the evidence as premise, and the answer as hypothesis."""
    return [sum(map(count, (*answer.evidence, answer.text))) + _HHEM_PROMPT]


def sentences(answer: Answer) -> list[str]:
    """The sentences that are judged, the same ones for all detectors that read sentences."""
    found = [claim.alone for claim in claims(answer.text) if claim.checkable]
    return found or [answer.text]


def peers(
    deberta: Shape = DEBERTA, modernbert: Shape = MODERNBERT, t5: Shape = T5
) -> tuple[Peer, ...]:
    return (
        Peer("NLI loop", "DeBERTa-v3-base", write_deberta, deberta, nli_calls),
        Peer("LettuceDetect-base", "ModernBERT-base", write_modernbert, modernbert, token_pass),
        Peer("HHEM-2.1-Open", "flan-T5-base encoder", write_t5, t5, premise_pass),
    )


@dataclass(frozen=True, slots=True)
class Entrant:
    """A detector in the race: the seconds it takes for all answers."""

    seconds: Callable[[], float]
    about: Mapping[str, Any]


def race(
    answers: Sequence[Answer],
    ours: Mapping[str, Judge],
    others: Sequence[Peer],
    count: Count,
    *,
    threads: int = 0,
    rounds: int = 3,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The time of each detector as a multiple of the first of `ours`."""
    with TemporaryDirectory() as folder:
        entrants = [_own(name, judge, answers) for name, judge in ours.items()]
        for peer in others:
            for precision in PRECISIONS:
                progress("graphs", len(entrants), len(ours) + len(others) * len(PRECISIONS))
                entrants.append(_peer(peer, precision, answers, count, Path(folder), threads))
        times = _rounds(entrants, rounds, progress)
    reference = [(first + last) / 2 for first, last in zip(times[0], times[-1], strict=True)]
    return [
        _figures(entrant, spent, reference, len(answers))
        for entrant, spent in zip(entrants, [reference, *times[1:-1]], strict=True)
    ]


def _rounds(entrants: Sequence[Entrant], rounds: int, progress: Progress) -> list[list[float]]:
    """The seconds of each entrant in each round; the first runs once more at the end."""
    order = [*entrants, entrants[0]]
    entrants[0].seconds()  # loads the model
    times: list[list[float]] = [[] for _ in order]
    for n in range(rounds):
        for place, entrant in enumerate(order):
            times[place].append(entrant.seconds())
            progress("rounds", n * len(order) + place + 1, rounds * len(order))
    return times


def _figures(
    entrant: Entrant, spent: Sequence[float], reference: Sequence[float], answers: int
) -> dict[str, Any]:
    ratios = [one / base for one, base in zip(spent, reference, strict=True)]
    return {
        **entrant.about,
        "ratio": _short(median(ratios)),
        "low": _short(min(ratios)),
        "high": _short(max(ratios)),
        "seconds": _short(median(spent) / answers),
    }


def _own(name: str, judge: Judge, answers: Sequence[Answer]) -> Entrant:
    def seconds() -> float:
        return sum(_time(lambda answer=answer: judge(answer)) for answer in answers)  # type: ignore[misc]

    return Entrant(seconds, {"name": name})


def _peer(
    peer: Peer, precision: str, answers: Sequence[Answer], count: Count, folder: Path, threads: int
) -> Entrant:
    """A call of each length is timed, and counts as often as the answers need it."""
    lengths: Counter[int] = sum((peer.lengths(one, count) for one in answers), Counter())
    runs, parameters = {}, 0
    for tokens in sorted(lengths):
        path = folder / f"{peer.name}-{precision}-{tokens}.onnx"
        parameters = peer.write(path, peer.shape, tokens, precision == "int8")
        session = open_session(path, threads)
        inputs = {"input_ids": np.arange(tokens)[None] % 1000}
        session.run(None, inputs)  # the first call is slower
        runs[tokens] = (session, inputs)

    def seconds() -> float:
        return sum(
            lengths[tokens] * _time(lambda one=one: one[0].run(None, one[1]))  # type: ignore[misc]
            for tokens, one in runs.items()
        )

    return Entrant(
        seconds,
        {
            "name": peer.name,
            "model": peer.model,
            "precision": precision,
            "parameters": parameters,
            "calls": round(lengths.total() / len(answers), 1),
            "tokens": round(fmean(lengths.elements())),
        },
    )


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _short(value: float) -> float:
    """Three significant digits."""
    return float(f"{value:.3g}")
