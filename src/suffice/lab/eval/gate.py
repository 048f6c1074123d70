"""Compares all policies of the gate on the same labelled questions, with plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import numpy as np

from suffice.errors import ExtraMissing
from suffice.evidence.ingest import Progress
from suffice.gate.policies.learned import blend_for, features_of
from suffice.gate.policies.policy import Policy, open_policy
from suffice.lab.eval.figures import (
    Flags,
    Scores,
    area_under_risk,
    auroc,
    balanced_accuracy,
    coverage_at_risk,
    mean_of,
    risk_coverage,
    rounded,
)
from suffice.lab.eval.run_record import run_record
from suffice.lab.eval.verifiers import RISK, Row, choose, passages, read_questions
from suffice.models.embedder import Embedder
from suffice.models.verifier import Verifier
from suffice.settings import GateSettings
from suffice.types import Evidence, GateDecision, Level, Passage, Retrieved

NAMES: tuple[str, ...] = tuple(
    name for name in get_args(get_type_hints(GateSettings)["policy"]) if name != "none"
)
WITHOUT = "learned without the verifier"
EVEN = 0.5
_DRAWS = 500
_ROWS_A_CALL = 64


@dataclass(frozen=True, slots=True)
class Decided:
    """The decisions of one policy, in the order of the rows."""

    scores: Scores
    opened: Flags


class _Without:
    """The learned blend without the verifier, to measure its contribution."""

    def decide(self, evidence: Evidence, /) -> GateDecision:
        features = features_of(evidence, None)
        blend = blend_for("", features)
        chance = blend.probability(features) if evidence else 0.0
        level = Level.SUFFICIENT if chance >= EVEN else Level.INSUFFICIENT
        return GateDecision(level, chance, WITHOUT)


def policies(names: Sequence[str], settings: GateSettings, verifier: Verifier) -> dict[str, Policy]:
    """The policies by name. The review band is disabled, so that each policy decides every row."""
    learned = replace(settings.learned, review_band=0.0)
    made: dict[str, Policy] = {}
    for name in names:
        chosen = replace(settings, policy=cast(Any, name), learned=learned)
        made[name] = open_policy(chosen, verifier)
        if name == "learned":
            made[WITHOUT] = _Without()
    return made


def bench_gate(
    data: Path,
    judges: Mapping[str, Policy],
    embedder: Embedder,
    limit: int | None,
    progress: Progress,
) -> tuple[dict[str, Any], dict[str, Decided], list[Row]]:
    """The figures by policy and set, and all decisions, for the plots."""
    rows = choose(read_questions(data), limit)
    evidence = evidence_of(rows, embedder, progress)
    decided = {name: _decided(name, judge, evidence, progress) for name, judge in judges.items()}
    sets = np.array([row["set"] for row in rows])
    positive = np.array([bool(row["sufficient"]) for row in rows])
    figures = {}
    for name, found in decided.items():
        by_set = _by_set(found, decided.get("learned"), positive, sets)
        means = {figure: mean_of(by_set.values(), figure) for figure in _MEANS}
        figures[name] = {"sets": by_set, "means": means}
    report = {"limit": limit, "embedder": embedder.id, "policies": figures, "run": run_record(data)}
    return report, decided, rows


def evidence_of(rows: Sequence[Row], embedder: Embedder, progress: Progress) -> list[Evidence]:
    """The rows' passages as evidence, with their similarity to the question."""
    found: list[Evidence] = []
    progress("similarities", 0, len(rows))
    for first in range(0, len(rows), _ROWS_A_CALL):
        chunk = rows[first : first + _ROWS_A_CALL]
        texts = list(dict.fromkeys(t for row in chunk for t in (row["question"], *passages(row))))
        vectors = dict(zip(texts, embedder.embed(texts), strict=True))
        for row in chunk:
            asked = vectors[row["question"]]
            items = tuple(
                Retrieved(Passage(str(n), text, str(n)), float(vectors[text] @ asked))
                for n, text in enumerate(passages(row))
            )
            found.append(Evidence(row["question"], items))
        progress("similarities", len(found), len(rows))
    return found


def _decided(name: str, judge: Policy, rows: Sequence[Evidence], progress: Progress) -> Decided:
    decisions = []
    for number, evidence in enumerate(rows, 1):
        decisions.append(judge.decide(evidence))
        if number % 8 == 0 or number == len(rows):
            progress(name, number, len(rows))
    return Decided(
        np.array([decision.score for decision in decisions], dtype=np.float64),
        np.array([decision.open for decision in decisions], dtype=np.bool_),
    )


def _by_set(
    found: Decided, learned: Decided | None, positive: Flags, sets: np.ndarray[Any, Any]
) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(sets.tolist()):
        here = sets == name
        scores, opened, truth = found.scores[here], found.opened[here], positive[here]
        values = {
            "auroc": auroc(scores, truth),
            "balanced_accuracy": balanced_accuracy(opened, truth),
            "open_rate": float(opened.mean()),
            "coverage_at_5": coverage_at_risk(scores, truth, RISK),
            "aurc": area_under_risk(scores, truth),
        }
        made[name] = {"n": int(here.sum()), **{k: rounded(v) for k, v in values.items()}}
        if learned is not None and learned is not found:
            made[name]["learned_minus"] = _paired(learned.scores[here], scores, truth)
    return made


def _paired(ours: Scores, theirs: Scores, positive: Flags) -> dict[str, float]:
    """The learned gate's AURC minus the other's, with the 95 % interval of a paired bootstrap. An
    interval entirely above 0 means that the learned gate is worse."""
    draw = np.random.default_rng(0)
    places = draw.integers(0, len(positive), (_DRAWS, len(positive)))
    apart = [_area(ours[p], positive[p]) - _area(theirs[p], positive[p]) for p in places]
    low, high = np.quantile(apart, [0.025, 0.975])
    mean = _area(ours, positive) - _area(theirs, positive)
    return {"aurc": round(mean, 4), "low": round(float(low), 4), "high": round(float(high), 4)}


def _area(scores: Scores, positive: Flags) -> float:
    return area_under_risk(scores, positive) or 0.0


_MEANS = ("auroc", "balanced_accuracy", "open_rate", "aurc")
_GRID = np.linspace(0, 1, 101)


def need_plots() -> None:
    """Fail early if matplotlib is missing, before minutes are spent on figures."""
    if find_spec("matplotlib") is None:
        raise ExtraMissing("A plot", "bench")


def plot_gate(
    decided: Mapping[str, Decided], positive: Flags, sets: Sequence[str], folder: Path
) -> list[Path]:
    """Plot risk against coverage, and balanced accuracy against the threshold: one line per policy,
    the unweighted mean of the sets."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = [np.flatnonzero(np.array(sets) == name) for name in dict.fromkeys(sets)]
    curves = {name: _risk(found, positive, groups) for name, found in decided.items()}
    made = _plot(
        curves,
        folder / "gate-risk-coverage",
        ("share of questions answered", "share of these without enough evidence"),
        "Risk against coverage, mean of the sets",
    )
    turns = {name: _sensitivity(found, positive, groups) for name, found in decided.items()}
    return made + _plot(
        turns,
        folder / "gate-threshold",
        ("threshold on the policy's own score", "balanced accuracy"),
        "What a threshold does, mean of the sets",
    )


def _risk(found: Decided, positive: Flags, groups: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The risk on a common grid of coverages; the curve of each set is extended at its ends."""
    lines = []
    for rows in groups:
        coverage, risk = risk_coverage(found.scores[rows], positive[rows])
        lines.append(np.interp(_GRID, coverage, risk))
    return np.asarray(np.mean(lines, axis=0))


def _sensitivity(found: Decided, positive: Flags, groups: Sequence[Any]) -> np.ndarray[Any, Any]:
    lines = [
        [balanced_accuracy(found.scores[rows] >= at, positive[rows]) or 0.5 for at in _GRID]
        for rows in groups
    ]
    return np.asarray(np.mean(lines, axis=0))


def _plot(
    curves: Mapping[str, np.ndarray[Any, Any]],
    path: Path,
    axes: tuple[str, str],
    title: str,
) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "suffice"  # deterministic output
    from matplotlib import pyplot

    figure, plot = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for name, curve in curves.items():
        first = name == "learned"
        plot.plot(
            _GRID,
            curve,
            label=name,
            linewidth=2.6 if first else 1.4,
            linestyle="--" if name == WITHOUT else "-",
            zorder=3 if first else 2,
        )
    plot.set_xlabel(axes[0])
    plot.set_ylabel(axes[1])
    plot.set_title(title, loc="left")
    plot.set_xlim(0, 1)
    plot.grid(alpha=0.25)
    plot.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    made = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    for file in made:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    pyplot.close(figure)
    return made
