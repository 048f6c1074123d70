"""Measures the time to check an answer, as ratios of times from one run on the same cores.

memory of a fresh process → fast tier and the shapes of two common verifiers → growth

Times of a shared machine drift, so the fast tier is timed before, between and after the others.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.graph import Shape, onnx_package
from benchmarks.shapes import DEBERTA, MODERNBERT, write_deberta, write_modernbert
from suffice.errors import ModelError
from suffice.evidence.ingest import Progress
from suffice.lab.eval.run_record import run_record
from suffice.models.session import open_session
from suffice.models.verifier import Pair, Verifier

SENTENCES, SENTENCE_WORDS = 5, 20
PASSAGES, PASSAGE_WORDS = 5, 200
TOKENS_A_WORD = 1.35
"""Measured on real evidence: English prose with its names, numbers and punctuation."""
MARKS = 3
"""[CLS] evidence [SEP] claim [SEP]"""
GROWTH = (1, 2, 4, 8, 16, 32, 64)
WANTED = {
    "deberta_ratio": 1 / 25,
    "modernbert_ratio": 1 / 4,
    "memory_mb": 250,
    "exponent": 1,
    "strong_times_fast": 4,
}
"""Upper limits."""
_REPEATS, _SECONDS = 5, 4.0

_WORDS = {
    "body": "committee hospital ministry laboratory parliament cooperative museum university "
    "shipyard observatory brewery municipality orchestra refinery archive monastery",
    "place": "Antwerp Ljubljana Valparaiso Reykjavik Bologna Gdansk Montevideo Tromsø Coimbra "
    "Thessaloniki Bergen Marseille Lausanne Kaunas",
    "things": "turbines manuscripts vaccines greenhouses locomotives subsidies permits antibodies "
    "sculptures scholarships reservoirs lighthouses vineyards spectrometers",
    "kind": "experimental medieval municipal waterproof unfinished renewable confidential "
    "prefabricated quarterly hydraulic ceremonial bilingual seasonal overdue",
    "did": "inspected purchased catalogued dismantled financed restored insured relocated "
    "photographed auctioned recalibrated",
    "who": "Lindqvist Okonkwo Ferreira Papadakis Whitcombe Nakagawa Brandão Kowalczyk",
}
_PATTERNS = (
    "In {year}, the {body} of {place} {did} {number} {kind} {things} before anyone beside "
    "Mrs {who} had asked what that cost.",
    "About {number} {things} were {did} by the {kind} {body} in {place}, which Mrs {who} "
    "had not announced before May {year}.",
    "The {body} in {place} never {did} its {things}, although {who} had counted {number} {kind} "
    "ones beside it in May {year}.",
    "According to {who}, {number} {kind} {things} were still in {place} after the {body} {did} "
    "all the rest during May {year}.",
)


def passages(count: int, first: int = 0) -> tuple[str, ...]:
    """Synthetic texts of PASSAGE_WORDS words, always the same ones."""
    return tuple(
        " ".join(_sentence(fact, n) for n, fact in enumerate(_facts(passage)))
        for passage in range(first, first + count)
    )


def answer(first: int = 0, count: int = SENTENCES) -> tuple[str, ...]:
    """An answer in which each sentence paraphrases one sentence of one of PASSAGES passages."""
    facts = (_facts(first + n % PASSAGES) for n in range(count))
    return tuple(_sentence(own[n % len(own)], n + 1) for n, own in enumerate(facts))


def _facts(passage: int) -> list[dict[str, str]]:
    draw = random.Random(passage)
    return [
        {
            **{name: draw.choice(words.split()) for name, words in _WORDS.items()},
            "number": f"{draw.randint(101, 1999):,}",
            "year": str(draw.randint(1950, 2024)),
        }
        for _ in range(PASSAGE_WORDS // SENTENCE_WORDS)
    ]


def _sentence(fact: Mapping[str, str], pattern: int) -> str:
    return _PATTERNS[pattern % len(_PATTERNS)].format_map(fact)


@dataclass(frozen=True, slots=True)
class Run:
    """The time of a rival: the median of its repeats."""

    ms: float
    parameters: int
    threads: int


@dataclass(frozen=True, slots=True)
class Rival:
    """The same work by a model of another shape: `calls` inputs of `words` words."""

    name: str
    write: Callable[[Path, Shape, int], int]
    shape: Shape
    words: int
    calls: int
    repeats: int

    @property
    def tokens(self) -> int:
        return round(self.words * TOKENS_A_WORD) + MARKS

    def run(self, threads: int, progress: Progress) -> Run:
        """Run all calls in sequence, after one that is not timed."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            parameters = self.write(path, self.shape, self.tokens)
            session = open_session(path, threads)
            times = self._times(session, progress)
        return Run(median(times), parameters, session.get_session_options().intra_op_num_threads)

    def _times(self, session: Any, progress: Progress) -> list[float]:
        inputs = {"input_ids": np.arange(self.tokens)[None] % 1000}
        session.run(None, inputs)
        times = [0.0] * self.repeats
        for n in range(self.repeats * self.calls):
            times[n // self.calls] += _ms(lambda: session.run(None, inputs))
            progress(self.name, n + 1, self.repeats * self.calls)
        return times


def rivals(deberta: Shape = DEBERTA, modernbert: Shape = MODERNBERT) -> tuple[Rival, Rival]:
    """DeBERTa reads each sentence with each passage; ModernBERT reads all in one pass."""
    single, pair = SENTENCES * PASSAGES, PASSAGE_WORDS + SENTENCE_WORDS
    together = PASSAGES * PASSAGE_WORDS + SENTENCES * SENTENCE_WORDS
    return (
        Rival("DeBERTa", write_deberta, deberta, pair, single, repeats=1),
        Rival("ModernBERT", write_modernbert, modernbert, together, 1, repeats=3),
    )


def bench_speed(
    verifier: Verifier,
    open_fresh: Callable[[], Verifier] | None,
    progress: Progress,
    *,
    strong: Verifier | None = None,
    against: tuple[Rival, Rival] | None = None,
    growth: Sequence[int] = GROWTH,
    threads: int = 0,
) -> dict[str, Any]:
    """The fast tier against both shapes, its memory, its growth, and the strong tier if given.

    `open_fresh` opens the fast tier in a separate process, so it must be picklable; without it,
    memory is not measured. `threads` is the thread count of the verifier.
    """
    onnx_package()
    deberta, modernbert = against or rivals()
    memory = _memory(open_fresh) if open_fresh else None
    times = _times(verifier, PASSAGES)
    calls = deberta.run(threads, progress)
    times += _times(verifier, PASSAGES)
    one_pass = modernbert.run(threads, progress)
    times += _times(verifier, PASSAGES)
    fast = median(times)
    figures = {
        "model": verifier.id,
        "fast_ms": _short(fast),
        "deberta_25_calls_ms": _short(calls.ms),
        "deberta_ratio": _short(fast / calls.ms),
        "modernbert_pass_ms": _short(one_pass.ms),
        "modernbert_ratio": _short(fast / one_pass.ms),
        "memory_mb": memory,
        "growth": _growth(verifier, growth, progress),
        "shapes": {
            "tokens_a_word": TOKENS_A_WORD,
            "threads": calls.threads,
            "deberta": {"tokens": deberta.tokens, "parameters": calls.parameters},
            "modernbert": {"tokens": modernbert.tokens, "parameters": one_pass.parameters},
        },
    }
    if strong is not None:
        slow = median(_times(strong, PASSAGES))
        figures["strong_ms"] = _short(slow)
        figures["strong_times_fast"] = _short(slow / fast)
    return {**figures, "wanted": WANTED, "run": run_record()}


def growth_exponent(times: Mapping[int, float]) -> float:
    """The slope of log time over log passages: 1 if twice the evidence takes twice as long."""
    sizes, each = np.log(list(times)), np.log(list(times.values()))
    return float(np.polyfit(sizes, each, 1)[0])


def _growth(verifier: Verifier, sizes: Sequence[int], progress: Progress) -> dict[str, Any]:
    times = {}
    for done, size in enumerate(sizes, start=1):
        times[size] = median(_times(verifier, size))
        progress("growth", done, len(sizes))
    return {
        "passages": {str(size): _short(ms) for size, ms in times.items()},
        "exponent": round(growth_exponent(times), 3),
    }


def _pairs(count: int, turn: int = 0) -> list[Pair]:
    """An answer with its passages; each round has different texts of the same size."""
    evidence, claims = passages(count, turn * count), answer(turn * count)
    return [Pair(sentence, evidence, answer=" ".join(claims)) for sentence in claims]


def _times(verifier: Verifier, count: int) -> list[float]:
    """Milliseconds for the whole answer against `count` passages, repeated a few times. The model
    is loaded before, and each round has its own text, because cached evidence costs nothing."""
    for score in verifier.support(_pairs(count, _REPEATS)):
        if score.unchecked:
            raise ModelError(
                f"{verifier.id} cannot read the text of the bench: {score.unchecked}",
                remedy="Use another verifier: there is nothing to time.",
            )
    times: list[float] = []
    start = time.perf_counter()
    while not times or (len(times) < _REPEATS and time.perf_counter() - start < _SECONDS):
        pairs = _pairs(count, len(times))
        times.append(_ms(partial(verifier.support, pairs)))
    return times


def _short(value: float) -> float:
    """Four significant digits; a ratio may be far below one."""
    return float(f"{value:.4g}")


def _ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


# On Linux, ru_maxrss of a process starts at that of its parent; VmHWM is its own.
_FRESH = """
import pickle, resource, sys
from pathlib import Path
open_verifier, pairs = pickle.load(sys.stdin.buffer)
open_verifier().support(pairs)
status = Path("/proc/self/status")
if status.exists():
    lines = status.read_text().splitlines()
    peak = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak)
"""


def _memory(open_fresh: Callable[[], Verifier]) -> int:
    """Peak memory in megabytes of a process that opens the verifier and judges one sentence."""
    done = subprocess.run(
        [sys.executable, "-c", _FRESH],
        input=pickle.dumps((open_fresh, _pairs(PASSAGES)[:1])),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
    )
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise ModelError(f"The verifier failed in a separate process: {' '.join(problem)}")
    return round(int(done.stdout.split()[-1]) / 1e6)
