"""Calibrates the thresholds of gate and verdict: labels → scores → select → certificate."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from suffice.bounds import Flags
from suffice.errors import LabelsError
from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.calibrate.labels import Label, Scores, data_digest, groups_of
from suffice.lab.calibrate.scores import DECIMALS, Grid, Table
from suffice.lab.calibrate.select import (
    Costs,
    Family,
    Promise,
    Run,
    Selected,
    bonferroni,
    fixed_sequence,
    level_of,
    needed,
    of_series,
)
from suffice.log.chain import timestamp
from suffice.log.decision import plain
from suffice.log.setup import versions
from suffice.settings import CollectionSettings
from suffice.types import Action
from suffice.verdict.thresholds import (
    SERVE_ONLY,
    WITH_CAVEAT,
    WRITTEN,
    Thresholds,
    in_force,
    policy_of,
)

_BINS = 10
_STEPS = (*(round(0.05 * step, 2) for step in range(20)), 0.97, 0.99)
Tree = dict[str, Any]


def served_by(table: Table, thresholds: Thresholds) -> Flags:
    """Which rows are served with these thresholds."""
    gate = np.array([thresholds.gate or 0.0])
    served: Flags = table.served(Grid(gate, np.array([thresholds.confidence])))[0]
    return served


def rates(table: Table, served: Flags) -> Tree:
    """Coverage, the error rate of served answers, and the share of correct answers withheld."""
    return {
        "coverage": table.rate(served),
        "served_error": table.rate(table.wrong, served),
        "false_withhold": table.rate(~served, ~table.wrong),
    }


def outcome(table: Table, thresholds: Thresholds) -> Tree:
    """The thresholds and the rates they give."""
    numbers = {"gate": thresholds.gate, "confidence": thresholds.confidence}
    return {"thresholds": numbers, **rates(table, served_by(table, thresholds))}


def all_figures(
    table: Table,
    labels: Sequence[Label],
    scores: Sequence[Scores],
    thresholds: Thresholds,
    settings: CollectionSettings,
) -> Tree:
    """Everything that the report shows besides the certificate itself."""
    served = served_by(table, thresholds)
    return {
        "groups": groups(table, labels, served),
        "sensitivity": sensitivity(table, thresholds),
        "risk_coverage": risk_coverage(table),
        "reliability": reliability(table),
        "gate": gate_rates(table, labels, thresholds),
        "kinds": kinds(table, labels, scores, served),
        "published": outcome(table, in_force(CollectionSettings(), thresholds.served)),
        "configured": outcome(table, in_force(settings, thresholds.served)),
    }


def groups(table: Table, labels: Sequence[Label], served: Flags) -> Tree:
    """The rates of each collection and kind. The guarantee holds for all rows together, not for
    each group."""
    found: Tree = {"collection": {}, "kind": {}}
    for group, name, rows in groups_of(labels):
        found[group][name] = {"n": len(rows), **rates(table.rows(rows), served[rows])}
    return found


def sensitivity(table: Table, thresholds: Thresholds) -> Tree:
    """The rates as one threshold varies and the other stays fixed."""
    gate, own, served = thresholds.gate or 0.0, thresholds.confidence, thresholds.served
    lines = {"confidence": [Thresholds(gate, at, served) for at in sorted({*_STEPS, own})]}
    if thresholds.gate is not None:
        lines["gate"] = [Thresholds(at, own, served) for at in sorted({*_STEPS, gate})]
    return {
        name: [{"at": getattr(one, name), **_brief(table, one)} for one in line]
        for name, line in lines.items()
    }


def _brief(table: Table, thresholds: Thresholds) -> Tree:
    found = rates(table, served_by(table, thresholds))
    error = found["served_error"]
    return {
        "coverage": found["coverage"]["rate"],
        "served_error": error["rate"],
        "low": error["low"],
        "high": error["high"],
        "false_withhold": found["false_withhold"]["rate"],
    }


def risk_coverage(table: Table) -> list[Tree]:
    """The error rate among the most confident share of the answers that the other rules allow."""
    thresholds = np.unique(np.quantile(table.confidence, np.linspace(0, 1, 101)))
    served = table.served(Grid(np.zeros_like(thresholds), thresholds))
    coverage, error = table.share(served), table.share(table.wrong & served, served)
    return [
        {"confidence": float(at), "coverage": float(share), "served_error": float(wrong)}
        for at, share, wrong in zip(thresholds, coverage, error, strict=True)
        if share > 0
    ]


def reliability(table: Table) -> list[Tree]:
    """How often answers of each confidence are correct, in bins of equal width."""
    place = np.minimum((table.confidence * _BINS).astype(int), _BINS - 1)
    found = []
    for bin in range(_BINS):
        inside = np.asarray(place == bin)
        if inside.any():
            mean = float(table.confidence[inside].mean())
            found.append({"confidence": mean, "correct": table.rate(~table.wrong, inside)})
    return found


def gate_rates(table: Table, labels: Sequence[Label], thresholds: Thresholds) -> Tree | None:
    """How often the gate is wrongly closed and wrongly open. The truth is “sufficient” if every row
    has this field, otherwise whether the answer is correct."""
    if thresholds.gate is None:
        return None
    told = [label.sufficient for label in labels]
    known = all(one is not None for one in told)
    should = np.array(told, np.bool_) if known else ~table.wrong
    opens = np.asarray(table.gate >= thresholds.gate)
    return {
        "truth": "sufficient" if known else "correct",
        "false_negative": table.rate(~opens, should),
        "false_positive": table.rate(opens, ~should),
    }


def kinds(
    table: Table, labels: Sequence[Label], scores: Sequence[Scores], served: Flags
) -> list[Tree]:
    """For each labelled kind of error: how many are served, and which kind the checks found in the
    others. Correct answers count as a separate kind."""
    rows: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        name = "correct" if not table.wrong[number] else label.kind or "wrong"
        rows.setdefault(name, []).append(number)
    return [
        {
            "kind": name,
            "rows": len(own),
            "served": int(served[own].sum()),
            "found": dict(Counter(scores[n].found or "none" for n in own if not served[n])),
        }
        for name, own in sorted(rows.items(), key=lambda item: (item[0] != "correct", item[0]))
    ]


_SCORES = ("gate", "confidence")
SELECTION = 0.3
"""The share of the rows used to order the tests."""
FEWEST = 30
"""With fewer rows than this for ordering, fixed pairs are tested instead."""
_STRICT = (0.8, 0.9)
"""With few rows, these stricter thresholds (gate, confidence) are tested besides those in force."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The guarantee to certify, and how to choose among the thresholds that meet it."""

    alpha: float = 0.05
    delta: float = 0.05
    served: tuple[Action, ...] = SERVE_ONLY
    false_withhold: float | None = None
    costs: Costs = field(default_factory=Costs)
    family: Family | None = None
    """`None`: fixed sequence, or Bonferroni if rows are few."""
    final: bool = False
    """Spend all that remains of δ."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The decision rule that is calibrated: settings, and the ids of the models."""

    settings: CollectionSettings
    models: Mapping[str, str]
    gated: bool
    """Whether the gate's score has a threshold that can be tuned."""


def calibrate(
    labels: Sequence[Label],
    scores: Sequence[Scores],
    rule: Rule,
    wish: Wish,
    now: datetime,
    earlier: Certificate | None = None,
    data: str = "",
) -> Certificate:
    """The certificate for these labels, with the history of the `earlier` one."""
    table = Table.of(labels, scores, wish.served)
    floors = _floor(labels, wish.served)
    if floors and wish.false_withhold is not None:
        raise LabelsError(
            "The labels contain served answers only, so false withholding cannot be measured.",
            remedy="Leave out --max-false-withhold, or label withheld answers as well.",
        )
    digests = tuple(label.digest for label in labels)
    selection = split(digests)
    floor = _raised_floor(floors or (0.0, 0.0), rule, wish)
    family, grid = _tests(table, selection, floor, rule, wish)
    run = _run(labels, rule, wish, now, earlier, (family, floor, grid.pairs))
    promise = Promise(wish.alpha, run.level, wish.false_withhold)
    if family is Family.FIXED_SEQUENCE:
        found = fixed_sequence(table, selection, grid, promise, wish.costs)
    else:
        found = bonferroni(table, grid, promise, wish.costs)
    pair = found.thresholds
    made = Certificate(
        wish.alpha,
        wish.delta,
        _numbers(pair, rule) if pair else None,
        tuple(action.value for action in wish.served),
        level=run.level,
        method=_method(found, table, selection, wish),
        created=run.time,
        n=len(labels),
        data={"file": data, "sha256": run.data},
        models=dict(rule.models),
        policy=policy_of(rule.settings),
        versions=dict(versions()),
        drafts=WRITTEN if any(label.scores is None for label in labels) else "recorded",
        reference=_reference(table, pair[0] if pair else 0.0),
    )
    shown = made.applied or in_force(rule.settings, wish.served)
    made = replace(
        made,
        **_measured(table, selection, found, shown),
        figures=all_figures(table, labels, scores, shown, rule.settings),
        needed=() if pair else _needed(table, floor, rule, wish, run, earlier),
    )
    return made.after(earlier, replace(run, certified=pair is not None), digests)


def _reference(table: Table, gate: float) -> tuple[float, ...]:
    """The confidences of the rows that pass the gate, to compare live answers with. Scores of
    exactly 0 or 1 are not probabilities and are left out."""
    known = (table.confidence > 0) & (table.confidence < 1)
    return tuple(round(float(one), 6) for one in table.confidence[known & (table.gate >= gate)])


def split(digests: Sequence[str]) -> Flags:
    """The rows used to order the tests. The choice for a row depends neither on the other rows nor
    on the judgement."""
    sides = [hashlib.sha256(f"selection {one}".encode()).digest()[0] for one in digests]
    return np.array(sides) < SELECTION * 256


def _tests(
    table: Table, selection: Flags, floor: tuple[float, float], rule: Rule, wish: Wish
) -> tuple[Family, Grid]:
    """The pairs of thresholds to test, and the method."""
    family = wish.family
    if family is None:
        few = len(table) * SELECTION < FEWEST
        family = Family.BONFERRONI if few else Family.FIXED_SEQUENCE
    if family is Family.FIXED_SEQUENCE:
        return family, Grid.of(table.rows(selection), floor, gated=rule.gated)
    now = in_force(rule.settings, wish.served)
    gate = max(round(now.gate or 0.0, DECIMALS), floor[0]) if rule.gated else 0.0
    own = max(round(now.confidence, DECIMALS), floor[1])
    strict = (max(gate, _STRICT[0]) if rule.gated else gate, max(own, _STRICT[1]))
    return family, Grid.product((gate, strict[0]), (own, strict[1]))


def _floor(labels: Sequence[Label], served: Sequence[Action]) -> tuple[float, float] | None:
    """The loosest thresholds that can be certified: the rows contain no answers below the
    thresholds that were in force when the rows were selected."""
    name = "caveat" if Action.CAVEAT in served else "serve"
    floors = [label.floor[name] for label in labels if label.floor]
    if not floors:
        return None
    gate, own = ([float(one.get(key) or 0.0) for one in floors] for key in _SCORES)
    return max(gate), max(own)


def _raised_floor(floor: tuple[float, float], rule: Rule, wish: Wish) -> tuple[float, float]:
    """The floor, raised so that the gate does not let through more answers with a caveat if the
    guarantee does not cover them."""
    if not rule.gated or Action.CAVEAT in wish.served:
        return floor
    opens = in_force(rule.settings, WITH_CAVEAT).gate or 0.0
    return max(floor[0], round(opens, DECIMALS)), floor[1]


def _run(
    labels: Sequence[Label],
    rule: Rule,
    wish: Wish,
    now: datetime,
    earlier: Certificate | None,
    tests: tuple[Any, ...],
) -> Run:
    """This calibration, with the part of δ that it may spend. Repeating a calibration on the same
    rows spends nothing, as the result is the same. The digest includes the tested thresholds,
    because they depend on those in force."""
    history = earlier.history if earlier else ()
    parts = (rule.models, policy_of(rule.settings), wish.served, wish.false_withhold, tests)
    name = hashlib.sha256(repr((*parts, wish.final)).encode()).hexdigest()[:16]
    run = Run(
        timestamp(now), data_digest(labels), len(labels), wish.alpha, wish.delta, 0.0, False, True,
        name,
    )  # fmt: skip
    for same in (one for one in history if one.repeats(run)):
        return replace(run, level=same.level, fresh=same.fresh, series=same.series)
    digests = [label.digest for label in labels]
    used = earlier.rows if earlier else ()
    level, series = level_of(wish.delta, history, used, digests, final=wish.final)
    return replace(run, level=level, fresh=series == (len(used),), series=series)


def _numbers(pair: tuple[float, float], rule: Rule) -> dict[str, float | None]:
    return {"gate": pair[0] if rule.gated else None, "confidence": pair[1]}


def _method(found: Selected, table: Table, selection: Flags, wish: Wish) -> dict[str, Any]:
    weighted = table.weights is not None
    divided = found.family is Family.FIXED_SEQUENCE
    return {
        "test": "betting" if weighted else "binomial",
        "family": found.family.value,
        "pairs": len(found.grid),
        "passed": int(found.passed.sum()),
        "p": None if found.best is None else float(found.pvalues[found.best]),
        "selection_rows": int(selection.sum()) if divided else 0,
        "testing_rows": int((~selection).sum()) if divided else len(table),
        "max_false_withhold": wish.false_withhold,
        "costs": {"wrong": wish.costs.wrong, "withheld": wish.costs.withheld},
    }


def _measured(
    table: Table, selection: Flags, found: Selected, thresholds: Thresholds
) -> dict[str, Any]:
    """The rates of the chosen thresholds on the rows used for testing."""
    if found.family is Family.FIXED_SEQUENCE:
        table = table.rows(~selection)
    return rates(table, served_by(table, thresholds))


def _needed(
    table: Table,
    floor: tuple[float, float],
    rule: Rule,
    wish: Wish,
    run: Run,
    earlier: Certificate | None,
) -> tuple[Mapping[str, Any], ...]:
    """How many more labels are needed, tested at the level of the next calibration."""
    past = [one for one in earlier.history if not one.repeats(run)] if earlier else []
    runs = 1 + max(len(of_series(past, number)) for number in run.series)
    level = wish.delta / ((runs + 1) * (runs + 2))
    grid = Grid.of(table, floor, gated=rule.gated)
    found = needed(table, grid, Promise(wish.alpha, level), 1 - SELECTION)
    return tuple(plain(one, whole=True) for one in found)
