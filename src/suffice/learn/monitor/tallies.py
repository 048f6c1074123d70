"""Computes what each decision adds to the tallies by hour and day: verdicts, metrics and
seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from suffice.learn.monitor.observe import observe
from suffice.log.entry import Entry
from suffice.record.digest import ONLY_GATE, Digest
from suffice.record.index import DecisionIndex, Tally
from suffice.review.case import FEEDBACK
from suffice.sql.database import Database

VERDICT, METRIC, STAGE, SPREAD = "verdict.", "metric.", "stage.", "spread."
"""Prefixes of names: counts of verdicts, means of metrics, seconds by stage, and counts of
decisions by duration."""
TOTAL, OTHER = "total", "other"
_STEPS = 4
"""Durations are counted in steps of a factor of 2 ** (1 / 4), about 19 %."""


def decision_index(database: Database, similar: float) -> DecisionIndex:
    """The index of the decisions of a store. A search counts as empty if no passage reaches the
    similarity `similar`."""

    def tallies(entry: Entry, found: Digest | None) -> Iterator[Tally]:
        if found is not None:
            yield from _decided(found)
        for one in observe(entry, similar).observations:
            yield f"{METRIC}{one.metric.value}", int(one.counts), one.value

    return DecisionIndex(database, tallies, frozenset({FEEDBACK}))


def _decided(found: Digest) -> Iterator[Tally]:
    if found.action:
        yield f"{VERDICT}{found.action}", 1, 0.0
    if found.action == ONLY_GATE:
        return  # its time is no time to an answer
    for stage, seconds in found.timings:
        yield f"{STAGE}{stage}", 1, seconds
    if found.seconds is not None:
        yield f"{SPREAD}{step_of(found.seconds)}", 1, found.seconds


def step_of(seconds: float) -> int:
    """The number of the duration class for this many seconds.

    >>> step_of(1.0), step_of(2.0), step_of(0.5)
    (0, 4, -4)
    """
    return math.ceil(_STEPS * math.log2(max(seconds, 1e-6)) - 1e-9)


def seconds_of(step: int) -> float:
    """The longest duration of a class."""
    return float(2 ** (step / _STEPS))


def quantile(counts: dict[int, int], share: float) -> float | None:
    """The duration that a share of the decisions does not exceed, interpolated within a class."""
    wanted, below = share * sum(counts.values()), 0
    for step in sorted(counts):
        if below + counts[step] >= wanted:
            inside = (wanted - below) / counts[step]
            return float(2 ** ((step - 1 + inside) / _STEPS))
        below += counts[step]
    return None
