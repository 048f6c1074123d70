"""How well simple detectors and the fast tier separate supported answers from others.

A higher score means better supported. A detector without a threshold of its own gets the one that
is best on one half of the rows and is measured on the other half, separately for each figure.
Answers from the same evidence are in the same half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.race import sentences
from benchmarks.peers.rows import Answer
from suffice.evidence.ingest import Progress
from suffice.lab.eval.figures import Flags, Scores, auroc, balanced_accuracy, f1_flagged
from suffice.lab.eval.verifiers import AGGREGATION, judged
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.text.sentences import sentences as split

Measure = Callable[[Flags, Flags], float | None]
FAST, FAST_FITTED = "Suffice, fast tier", "Suffice, fast tier, fitted threshold"
COSINE, LENGTH, ALL = "embeddings only", "answer length", "flag everything"
MEASURES: dict[str, Measure] = {"f1": f1_flagged, "balanced_accuracy": balanced_accuracy}
_DRAWS = 1000
_ROWS_A_CALL = 16


@dataclass(frozen=True, slots=True)
class Judged:
    """The scores of a detector, and for each measure which answers pass."""

    scores: Scores
    passed: dict[str, Flags]


def measure(
    answers: Sequence[Answer], verifier: Verifier, embedder: Embedder, progress: Progress
) -> dict[str, Any]:
    """The figures of all detectors on the answers of one set, and for each task."""
    truth = np.array([answer.supported for answer in answers], dtype=np.bool_)
    scores, passed = _fast(answers, verifier, progress)
    half = halves(answers)
    found = {
        FAST: Judged(scores, dict.fromkeys(MEASURES, passed)),
        FAST_FITTED: fitted(scores, truth, half),
        COSINE: fitted(np.array([cosine(one, embedder) for one in answers]), truth, half),
        LENGTH: fitted(-np.array([len(one.text) for one in answers], np.float64), truth, half),
        ALL: Judged(np.zeros(len(truth)), dict.fromkeys(MEASURES, np.zeros_like(truth))),
    }
    tasks = np.array([answer.task for answer in answers])
    figures = _figures(found, truth, np.ones_like(truth))
    if any(tasks):
        figures["tasks"] = {
            str(task): _figures(found, truth, tasks == task) for task in dict.fromkeys(tasks)
        }
    return figures


def _fast(
    answers: Sequence[Answer], verifier: Verifier, progress: Progress
) -> tuple[Scores, Flags]:
    found = []
    for start in range(0, len(answers), _ROWS_A_CALL):
        found += judged(verifier, [one.row() for one in answers[start : start + _ROWS_A_CALL]])
        progress(f"judging {answers[0].set}", len(found), len(answers))
    passed = np.array([one.passed for one in found], dtype=np.bool_)
    return np.array([one.score for one in found], dtype=np.float64), passed


def cosine(answer: Answer, embedder: Embedder) -> float:
    """Each sentence of the answer takes its highest cosine with a sentence of the evidence; the two
    worst sentences count, as for the fast tier."""
    said = sentences(answer)
    texts = [text[start:end] for text in answer.evidence for start, end in split(text)]
    vectors = embedder.embed([*said, *(texts or [""])])
    nearest = (vectors[: len(said)] @ vectors[len(said) :].T).max(axis=1)
    return AGGREGATION.score([float(one) for one in nearest])


def halves(answers: Sequence[Answer]) -> Flags:
    """The half of each answer, by its evidence."""
    digests = (hashlib.sha256("\n".join(one.evidence).encode()).digest() for one in answers)
    return np.array([digest[0] % 2 for digest in digests], dtype=np.bool_)


def fitted(scores: Scores, truth: Flags, half: Flags) -> Judged:
    """Thresholds that are best on the other half."""
    passed = {}
    for name, how in MEASURES.items():
        flags = np.zeros_like(truth)
        for here in (half, ~half):
            flags[here] = scores[here] >= best_threshold(scores[~here], truth[~here], how)
        passed[name] = flags
    return Judged(scores, passed)


def best_threshold(scores: Scores, truth: Flags, how: Measure) -> float:
    """The threshold with the best figure; between two scores, or beyond all of them."""
    values = np.unique(scores)
    between = [-np.inf, *((values[:-1] + values[1:]) / 2), np.inf]
    return float(max(between, key=lambda at: how(scores >= at, truth) or 0.0))


def _figures(found: dict[str, Judged], truth: Flags, here: Flags) -> dict[str, Any]:
    ours = found[FAST].scores[here]
    return {
        "n": int(here.sum()),
        "share_supported": round(float(truth[here].mean()), 4),
        "detectors": {
            name: {
                "auroc": _round(auroc(one.scores[here], truth[here])),
                **{m: _round(how(one.passed[m][here], truth[here])) for m, how in MEASURES.items()},
                "auroc_behind": _behind(ours, one.scores[here], truth[here]),
            }
            for name, one in found.items()
        },
    }


def _behind(ours: Scores, theirs: Scores, truth: Flags) -> list[float] | None:
    """The AUROC of the fast tier minus theirs: the 95 % interval of a paired bootstrap. `None` for
    the fast tier itself, or if a class is missing."""
    if np.array_equal(ours, theirs) or truth.all() or not truth.any():
        return None
    apart = []
    for places in np.random.default_rng(0).integers(0, len(truth), (_DRAWS, len(truth))):
        own, other = (auroc(scores[places], truth[places]) for scores in (ours, theirs))
        if own is not None and other is not None:
            apart.append(own - other)
    return [round(float(one), 3) for one in np.quantile(apart, [0.025, 0.975])]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
