"""Verdicts, metrics and durations over time, from the tallies of the index.

A reader gets the figures of the decisions that it may know about.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from suffice.access.visibility import Reader, readable_scopes
from suffice.lab.monitor.metrics import Mean, Metric, observe
from suffice.log.index import DAY, HOUR, ONLY_GATE, DecisionIndex, Digest, Tally
from suffice.log.record import Entry
from suffice.log.tables import TALLIES
from suffice.log.trace import OTHER, TOTAL
from suffice.review.case import FEEDBACK
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import number_in
from suffice.types import Action

VERDICT, METRIC, STAGE, SPREAD = "verdict.", "metric.", "stage.", "spread."
"""Prefixes of names: counts of verdicts, means of metrics, seconds by stage, and counts of
decisions by duration."""
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


_STAGES = ("search", "gate", "draft", "check", "verdict", "record")
_LENGTH = {HOUR: 13, DAY: 10}


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time in buckets of equal width (`HOUR` or `DAY`), oldest first."""

    width: int
    buckets: tuple[str, ...]

    @classmethod
    def last(cls, count: int, width: int, now: datetime) -> Span:
        """The last `count` buckets, up to the current one."""
        step = timedelta(seconds=width)
        times = (now.astimezone(UTC) - step * n for n in reversed(range(count)))
        return cls(width, tuple(time.isoformat()[: _LENGTH[width]] for time in times))


@dataclass(frozen=True, slots=True)
class Bucket:
    """The figures of one bucket. `stages` are mean seconds; `p50` and `p95` are quantiles of the
    total time to a verdict."""

    start: str
    verdicts: Mapping[Action, int]
    gates: int
    metrics: Mapping[Metric, Mean]
    stages: Mapping[str, Mean]
    p50: float | None = None
    p95: float | None = None

    @property
    def count(self) -> int:
        return sum(self.verdicts.values())


@dataclass(frozen=True, slots=True)
class Series:
    """Buckets in order, and the same figures over all of them."""

    span: Span
    buckets: tuple[Bucket, ...]
    whole: Bucket

    @property
    def empty(self) -> bool:
        return not self.whole.count and not self.whole.gates

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages in the order of a request."""
        named = [name for name in self.whole.stages if name != TOTAL]
        known = [name for name in _STAGES if name in named]
        rest = sorted(name for name in named if name not in known and name != OTHER)
        return (*known, *rest, *(name for name in named if name == OTHER))


Sums = Mapping[str, tuple[int, float]]


def series(database: Database, span: Span, reader: Reader | None) -> Series:
    """The figures of a span. With a reader of `None`, everything counts."""
    begin, end = span.buckets[0], span.buckets[-1]
    table = TALLIES.c
    query = sa.select(table.bucket, table.name, table.count, table.total).where(
        table.width == span.width, table.bucket >= begin, table.bucket <= end
    )
    by_bucket: dict[str, dict[str, tuple[int, float]]] = defaultdict(dict)
    whole: dict[str, tuple[int, float]] = {}
    with database.reading() as connection:
        scopes = readable_scopes(connection, reader)
        if scopes is not None:
            query = query.where(number_in(table.scope, scopes))
        for bucket, name, count, total in connection.execute(query):
            for sums in (by_bucket[bucket], whole):
                before = sums.get(name, (0, 0.0))
                sums[name] = (before[0] + count, before[1] + total)
    return Series(
        span,
        tuple(_bucket(start, by_bucket.get(start, {})) for start in span.buckets),
        _bucket(begin, whole),
    )


def _bucket(start: str, sums: Sums) -> Bucket:
    spread = {int(name): count for name, (count, _) in _under(sums, SPREAD).items()}
    counts = _under(sums, VERDICT)
    return Bucket(
        start,
        {action: counts.get(action.value, (0, 0.0))[0] for action in Action},
        counts.get(ONLY_GATE, (0, 0.0))[0],
        {Metric(name): Mean(*one) for name, one in _under(sums, METRIC).items()},
        {name: Mean(*one) for name, one in _under(sums, STAGE).items()},
        quantile(spread, 0.5),
        quantile(spread, 0.95),
    )


def _under(sums: Sums, prefix: str) -> dict[str, tuple[int, float]]:
    return {name[len(prefix) :]: one for name, one in sums.items() if name.startswith(prefix)}


def means(found: Sequence[Bucket], metric: Metric) -> list[float | None]:
    """A metric in each bucket."""
    return [one.metrics[metric].value if metric in one.metrics else None for one in found]
