"""The figures of a certificate: rates with intervals, by group, and by threshold. Each is a tree of
plain values for the JSON file and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.learn.calibrate.labels import Label, Scores, groups_of
from suffice.learn.calibrate.table import Grid, Table
from suffice.pvalues import Flags
from suffice.settings import CollectionSettings
from suffice.verdict.thresholds import Thresholds, in_force

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
    for field, name, rows in groups_of(labels):
        found[field][name] = {"n": len(rows), **rates(table.rows(rows), served[rows])}
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
