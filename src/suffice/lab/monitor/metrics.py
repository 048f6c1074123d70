"""The six metrics: what each measures, and its published alarm."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum, StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.log.decision import GATE, VERDICT
from suffice.log.record import UNREADABLE, Entry, values
from suffice.review.case import FEEDBACK, Rating
from suffice.settings import MonitorSettings
from suffice.types import Action, Code, Level

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
CELLS = 240
"""The number of grid cells for ranking scores. Ties are broken at random, so the grid costs a
little power but no validity, and the size of the state does not depend on the number of scores."""
_SURE = 6.0
"""Log-odds beyond which scores are not distinguished."""
_HALF = 500.0
"""Half of the capital is reserved for changes after this many scores."""
_SLOPES = (0.5, 1.0, 1.6)
_TAILS = ((0.5, 0.5), (0.2, 1.0), (0.1, 1.0), (0.05, 1.0), (0.05, 3.0), (0.02, 3.0))
"""Bets (probability, gain): scores fall into this tail 1 + gain times as often as expected."""


class Side(Enum):
    """The changes that a test looks for."""

    UP = (1,)
    DOWN = (-1,)
    BOTH = (1, -1)

    @property
    def bets(self) -> int:
        return len(self.value) * (len(_SLOPES) + len(_TAILS))


@dataclass(frozen=True, slots=True, eq=False)
class Martingale:
    """The state of one test, or of many equally long tests along the leading dimensions. `counts`
    holds the earlier scores by cell, `capital` what each bet has won, `steps` the bets made."""

    side: Side
    counts: Counts
    capital: Array
    steps: int = 0

    @classmethod
    def of(cls, side: Side, reference: Any = ()) -> Martingale:
        """A new test. The first live score is ranked among the `reference` scores."""
        scores = np.asarray(reference, dtype=float)
        lead = scores.shape[:-1]
        counts = np.zeros((*lead, CELLS), dtype=np.int64)
        cells = cells_of(scores)
        for n in range(scores.shape[-1]):
            _count(counts, cells[..., n])
        return cls(side, counts, np.zeros((*lead, side.bets)))

    def after(self, scores: Any, ties: Any) -> tuple[Martingale, Array]:
        """The state after more scores, and the capital after each. `ties` are random numbers in
        [0, 1), one for each score."""
        cells, uniform = cells_of(scores), np.asarray(ties, dtype=float)
        counts, capital = self.counts.copy(), self.capital
        seen = counts.sum(axis=-1)
        wealth = np.empty(cells.shape)
        for n in range(cells.shape[-1]):
            rank = _rank(counts, cells[..., n], uniform[..., n], seen + n)
            step = self.steps + n + 1
            entering = _reserve(step - 1) - _reserve(step)
            capital = (capital + entering / self.side.bets) * _payoffs(rank, self.side)
            wealth[..., n] = capital.sum(axis=-1) + _reserve(step)
            _count(counts, cells[..., n])
        return Martingale(self.side, counts, capital, self.steps + cells.shape[-1]), wealth

    @property
    def wealth(self) -> Array:
        return np.asarray(self.capital.sum(axis=-1) + _reserve(self.steps))

    def restarted(self) -> Martingale:
        """The test with the same earlier scores and fresh capital."""
        return Martingale(self.side, self.counts, np.zeros_like(self.capital))


def cells_of(scores: Any) -> Counts:
    """The cell of each score in [0, 1], on a grid that is even in log-odds."""
    clipped = np.clip(np.asarray(scores, dtype=float), 1e-9, 1 - 1e-9)
    odds = np.clip(np.log(clipped / (1 - clipped)), -_SURE, _SURE)
    cells: Counts = np.rint((odds + _SURE) / (2 * _SURE) * (CELLS - 1)).astype(np.int64)
    return cells


def _reserve(steps: int) -> float:
    """The share of the initial capital that is reserved for changes after this many steps."""
    return _HALF / (_HALF + steps)


def _rank(counts: Counts, cell: Counts, tie: Array, seen: Any) -> Array:
    """The smoothed conformal p-value: the share of scores below this one, itself included."""
    lower = np.where(np.arange(CELLS) < cell[..., None], counts, 0).sum(axis=-1)
    same = np.take_along_axis(counts, cell[..., None], axis=-1)[..., 0] + 1
    ranked: Array = (lower + tie * same) / (seen + 1)
    return ranked


def _count(counts: Counts, cell: Counts) -> None:
    place = cell[..., None]
    np.put_along_axis(counts, place, np.take_along_axis(counts, place, axis=-1) + 1, axis=-1)


def _payoffs(rank: Array, side: Side) -> Array:
    """The payoff of each bet; its mean over uniform ranks is 1."""
    paid: list[Array] = []
    for sign in side.value:
        high = rank if sign > 0 else 1 - rank
        paid += [1 + slope * (high - 0.5) for slope in _SLOPES]
        paid += [
            np.where(high > 1 - tail, 1 + gain, 1 - gain * tail / (1 - tail))
            for tail, gain in _TAILS
        ]
    return np.stack(paid, axis=-1)


class Metric(StrEnum):
    """The metrics, with the names under which they are exported."""

    FAITHFULNESS = "faithfulness"
    """Share of an answer's claims that are backed."""
    FACT_SCORE = "fact_score"
    """Share of the atomic facts in an answer's claims that are backed."""
    WITHHOLD_RATE = "withhold_rate"
    """Share of questions without a released answer (WITHHOLD or REVIEW)."""
    FABRICATED = "fabricated_citation_rate"
    """Share of answers whose draft cited a source that does not exist."""
    RETRIEVAL_NULL = "retrieval_null_rate"
    """Share of searches that found no passage similar to the question."""
    CORRECTIONS = "user_correction_rate"
    """`down` ratings per served answer."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over some days; `value` is `None` if there were no observations."""

    count: int = 0
    total: float = 0.0

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


Days = Mapping[str, Mean]
"""The observations of each day, by its ISO date."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The recent mean of a metric, and the baseline it is compared with."""

    window: Mean
    baseline: Mean

    @property
    def change(self) -> float | None:
        now, before = self.window.value, self.baseline.value
        return None if now is None or before is None else now - before


Exceeded = Callable[[Figures, MonitorSettings], bool]


@dataclass(frozen=True, slots=True)
class Definition:
    """The alarm of a metric. `alarm` describes it in words, and `exceeded` tells whether the limit
    is crossed. The test for a change in the direction `side` must reject too; `None`: no test."""

    alarm: Callable[[MonitorSettings], str]
    exceeded: Exceeded
    side: Side | None = None


def _dropped(limit: Callable[[MonitorSettings], float]) -> Exceeded:
    def exceeded(figures: Figures, settings: MonitorSettings) -> bool:
        return figures.change is not None and figures.change < -limit(settings)

    return exceeded


def _multiplied(figures: Figures, settings: MonitorSettings) -> bool:
    now, before = figures.window.value, figures.baseline.value
    return now is not None and before is not None and now > settings.withhold_ratio * before


def _risen(figures: Figures, settings: MonitorSettings) -> bool:
    return figures.change is not None and figures.change > 0


def _any(figures: Figures, settings: MonitorSettings) -> bool:
    return figures.window.total > 0


METRICS: Mapping[Metric, Definition] = {
    Metric.FAITHFULNESS: Definition(
        lambda settings: f"drop > {settings.faithfulness_drop:g} in {settings.window_days} days",
        _dropped(lambda settings: settings.faithfulness_drop),
        Side.DOWN,
    ),
    Metric.FACT_SCORE: Definition(
        lambda settings: f"drop > {settings.fact_score_drop:g} in {settings.window_days} days",
        _dropped(lambda settings: settings.fact_score_drop),
        Side.DOWN,
    ),
    Metric.WITHHOLD_RATE: Definition(
        lambda settings: f"> {settings.withhold_ratio:g} × baseline", _multiplied, Side.UP
    ),
    Metric.FABRICATED: Definition(lambda settings: "any", _any),
    Metric.RETRIEVAL_NULL: Definition(lambda settings: "rising trend", _risen, Side.UP),
    Metric.CORRECTIONS: Definition(lambda settings: "rising trend", _risen, Side.UP),
}


def figures(days: Days, today: date, settings: MonitorSettings) -> Figures:
    """The means over the newest days and over the days before them."""
    begin = today - timedelta(days=settings.window_days - 1)
    first = begin - timedelta(days=settings.baseline_days)
    return Figures(
        _mean(days, begin.isoformat(), "9999"), _mean(days, first.isoformat(), begin.isoformat())
    )


def _mean(days: Days, since: str, until: str) -> Mean:
    means = [mean for day, mean in days.items() if since <= day < until]
    return Mean(sum(mean.count for mean in means), sum(mean.total for mean in means))


DEEP_CHECK = "deep_check"
KINDS = (VERDICT, GATE, FEEDBACK, DEEP_CHECK)
"""The kinds of records that are observed."""
_FIELDS = ("outcome", "gate", "evidence", "findings", "drafts", "thresholds")
SERVED = (Action.SERVE.value, Action.CAVEAT.value, Action.CONFLICT.value)
"""The actions that release an answer, as records name them."""
_OPEN = (Level.SUFFICIENT.value, Level.PARTIAL.value)


@dataclass(frozen=True, slots=True)
class Observation:
    """One value of a metric. `counts` says whether it adds to the number of observations. A
    correction does not: its answer was already counted."""

    metric: Metric
    value: float
    counts: bool = True


@dataclass(frozen=True, slots=True)
class DeepCheck:
    """The result of a deep check: faithfulness as first decided and as rechecked, and whether the
    action changed."""

    released: float
    again: float
    changed: bool


@dataclass(frozen=True, slots=True)
class Covered:
    """An answer under certified thresholds: the id of the certificate, and both scores."""

    certificate: str
    gate: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Observed:
    """The observations in one record, the scores that the guarantee is tested on, and whether there
    is a draft for a deep check."""

    id: str
    sequence: int
    time: str
    observations: tuple[Observation, ...] = ()
    covered: Covered | None = None
    drafted: bool = False
    deep: DeepCheck | None = None

    def tie(self, purpose: str) -> float:
        """A reproducible pseudo-random number in [0, 1), derived from this record alone."""
        digest = hashlib.sha256(f"{self.id} {purpose}".encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48


def observe(entry: Entry, similar: float) -> Observed:
    """Read a record, skipping parts that were erased or not stored. A search counts as empty if no
    passage reaches the similarity `similar`. A damaged record has no observations; verifying the
    log reports it."""
    try:
        return _observed(entry, similar)
    except UNREADABLE:
        return Observed(entry.id, entry.sequence, entry.time)


def _observed(entry: Entry, similar: float) -> Observed:
    if entry.kind == FEEDBACK:
        down = values(entry.payload, ("rating",)).get("rating") == Rating.DOWN.value
        made = (Observation(Metric.CORRECTIONS, 1.0, counts=False),) if down else ()
        return Observed(entry.id, entry.sequence, entry.time, made)
    if entry.kind == DEEP_CHECK:
        return Observed(entry.id, entry.sequence, entry.time, deep=_deep(entry))
    fields: dict[str, Any] = dict(values(entry.payload, _FIELDS))
    gate, outcome = fields.get("gate") or {}, fields.get("outcome") or {}
    gated = gate.get("policy", "none") != "none"
    made = (
        *_searched(fields, gated, similar),
        *(_decided(fields, outcome, gated) if outcome else ()),
    )
    # A verdict that repeats another or was written by a reviewer is not a new sample.
    new = not outcome.get("repeats") and (not gated or gate.get("level") in _OPEN)
    drafted = (fields.get("drafts") or {}).get("draft") is not None
    return Observed(
        entry.id,
        entry.sequence,
        entry.time,
        made if not outcome.get("repeats") else (),
        _covered(fields, gate, outcome) if new and gated else None,
        drafted and new,
    )


def _covered(
    fields: Mapping[str, Any], gate: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Covered | None:
    certificate = (fields.get("thresholds") or {}).get("certificate")
    score, confidence = gate.get("score"), outcome.get("confidence")
    if not certificate or score is None or confidence is None:
        return None
    return Covered(certificate, score, confidence)


def _searched(fields: Mapping[str, Any], gated: bool, similar: float) -> Iterator[Observation]:
    evidence = fields.get("evidence")
    if not gated or evidence is None:
        return
    items = (evidence.get("found") or evidence.get("counted") or {}).get("items", ())
    near = [one.get("relevance") for one in items]
    nothing = all(one is not None and one < similar for one in near)
    yield Observation(Metric.RETRIEVAL_NULL, float(nothing))


def _decided(
    fields: Mapping[str, Any], outcome: Mapping[str, Any], gated: bool
) -> Iterator[Observation]:
    served = outcome.get("action") in SERVED
    for metric, name in (
        (Metric.FAITHFULNESS, "faithfulness"),
        (Metric.FACT_SCORE, "fact_score"),
    ):
        if outcome.get(name) is not None:
            yield Observation(metric, float(outcome[name]))
    if gated:  # a refused answer of another system is not a question that was withheld
        yield Observation(Metric.WITHHOLD_RATE, float(not served))
    if "findings" in fields and "drafts" in fields:
        yield Observation(Metric.FABRICATED, float(_fabricated(fields)))
    if served:
        yield Observation(Metric.CORRECTIONS, 0.0)


def _fabricated(fields: Mapping[str, Any]) -> bool:
    """Whether a draft cited a source that does not exist, whatever was released."""
    attempts: Sequence[Mapping[str, Any]] = (fields.get("drafts") or {}).get("attempts", ())
    every = [*fields["findings"], *(one for item in attempts for one in item.get("findings", ()))]
    return any(one.get("code") == Code.FABRICATED.value for one in every)


def _deep(entry: Entry) -> DeepCheck | None:
    fields: dict[str, Any] = dict(values(entry.payload, ("was", "now")))
    was, again = fields.get("was") or {}, fields.get("now") or {}
    if was.get("faithfulness") is None or again.get("faithfulness") is None:
        return None
    changed = was.get("action") != again.get("action")
    return DeepCheck(was["faithfulness"], again["faithfulness"], changed)
