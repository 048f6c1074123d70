"""The state of the monitor, and how the cursor of the monitor stores it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.monitor.metrics import METRICS, Days, Martingale, Mean, Metric, Side
from suffice.log.decision import plain, value_of
from suffice.log.follower import Cursor
from suffice.log.suspension import Guarantee, suspended_in


@dataclass(frozen=True, slots=True)
class Tracked:
    """A metric: its observations by day, its test, and when the test rejected (empty: not yet)."""

    days: Days = field(default_factory=dict)
    test: Martingale | None = None
    rejected: str = ""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A raised alarm: since when, the record that raised it, and the figures at that time."""

    metric: Metric
    since: str
    sequence: int
    value: float | None
    baseline: float | None


@dataclass(frozen=True, slots=True)
class DeepCounts:
    """Deep checks so far: answers, answers whose action changed, and the sums of faithfulness as
    released and as rechecked."""

    count: int = 0
    changed: int = 0
    released: float = 0.0
    again: float = 0.0


@dataclass(frozen=True, slots=True)
class Tested:
    """A certificate: its guarantee, the test of its live answers, and its threshold of the gate:
    only answers that reach it are tested."""

    guarantee: Guarantee
    test: Martingale | None
    gate: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """Everything that the monitor knows. `sequence` and `time` belong to the last record read."""

    sequence: int = 0
    time: str = ""
    tracked: Mapping[Metric, Tracked] = field(default_factory=dict)
    alarms: tuple[Alarm, ...] = ()
    certificates: Mapping[str, Tested] = field(default_factory=dict)
    """By id, the one that was seen first before the others."""
    deep: DeepCounts = field(default_factory=DeepCounts)
    suspended: tuple[Guarantee, ...] = ()
    """Every guarantee that was ever suspended: a certificate does not recover by itself."""

    def guarantee(self, certificate: Certificate | None) -> Guarantee:
        """The guarantee of a certificate."""
        if certificate is None or not certificate.certified:
            return Guarantee()
        id = certificate.id
        held = next((one for one in self.suspended if one.certificate == id), None)
        if held is not None:
            return held
        return self.certificates[id].guarantee if id in self.certificates else Guarantee()

    def test(self, certificate: Certificate | None) -> Martingale | None:
        """The test of the live answers under a certificate."""
        known = self.certificates.get(certificate.id) if certificate else None
        return known.test if known else None

    def of(self, metric: Metric) -> Tracked:
        side = METRICS[metric].side
        return self.tracked.get(metric) or Tracked(test=Martingale.of(side) if side else None)


def stored(state: State) -> str:
    """The state as JSON, without the number of the last record, which the cursor has."""
    return json.dumps(_tree(state), separators=(",", ":"))


def state_at(cursor: Cursor) -> State:
    """The state that is stored with a cursor."""
    return _state(cursor.sequence, json.loads(cursor.state)) if cursor.state else State()


def _tree(state: State) -> dict[str, Any]:
    return {
        "time": state.time,
        "tracked": {
            metric.value: {
                "days": {day: [one.count, one.total] for day, one in tracked.days.items()},
                "test": _test_tree(tracked.test),
                "rejected": tracked.rejected,
            }
            for metric, tracked in state.tracked.items()
        },
        "alarms": plain(state.alarms, whole=True),
        "certificates": {
            id: {
                "guarantee": plain(one.guarantee, whole=True),
                "test": _test_tree(one.test),
                "gate": one.gate,
            }
            for id, one in state.certificates.items()
        },
        "deep": plain(state.deep, whole=True),
        "suspended": plain(state.suspended, whole=True),
    }


def _state(sequence: int, tree: Mapping[str, Any]) -> State:
    return State(
        sequence,
        tree["time"],
        {
            Metric(name): Tracked(
                {day: Mean(*one) for day, one in raw["days"].items()},
                _test(raw["test"]),
                raw["rejected"],
            )
            for name, raw in tree["tracked"].items()
        },
        value_of(tuple[Alarm, ...], tree["alarms"]),
        _certificates(tree),
        value_of(DeepCounts, tree["deep"]),
        suspended_in(tree),
    )


def _certificates(tree: Mapping[str, Any]) -> dict[str, Tested]:
    listed = tree.get("certificates")
    if listed is None:  # states of older versions have one certificate at most
        found = value_of(Guarantee, tree["guarantee"])
        known = Tested(found, _test(tree["exchangeability"]), tree.get("gate", 0.0))
        return {found.certificate: known} if found.certificate else {}
    return {
        id: Tested(value_of(Guarantee, raw["guarantee"]), _test(raw["test"]), raw["gate"])
        for id, raw in listed.items()
    }


def _test_tree(test: Martingale | None) -> dict[str, Any] | None:
    if test is None:
        return None
    return {
        "side": test.side.name,
        "counts": test.counts.tolist(),
        "capital": test.capital.tolist(),
        "steps": test.steps,
    }


def _test(tree: Mapping[str, Any] | None) -> Martingale | None:
    if tree is None:
        return None
    counts, capital = np.array(tree["counts"], dtype=np.int64), np.array(tree["capital"])
    return Martingale(Side[tree["side"]], counts, capital, tree["steps"])
