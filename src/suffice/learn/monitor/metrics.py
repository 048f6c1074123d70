"""The six metrics: what each measures, and its published alarm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from suffice.learn.monitor.martingale import Side
from suffice.settings import MonitorSettings


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
    def exceeded(found: Figures, settings: MonitorSettings) -> bool:
        return found.change is not None and found.change < -limit(settings)

    return exceeded


def _multiplied(found: Figures, settings: MonitorSettings) -> bool:
    now, before = found.window.value, found.baseline.value
    return now is not None and before is not None and now > settings.withhold_ratio * before


def _risen(found: Figures, settings: MonitorSettings) -> bool:
    return found.change is not None and found.change > 0


def _any(found: Figures, settings: MonitorSettings) -> bool:
    return found.window.total > 0


METRICS: Mapping[Metric, Definition] = {
    Metric.FAITHFULNESS: Definition(
        lambda one: f"drop > {one.faithfulness_drop:g} in {one.window_days} days",
        _dropped(lambda one: one.faithfulness_drop),
        Side.DOWN,
    ),
    Metric.FACT_SCORE: Definition(
        lambda one: f"drop > {one.fact_score_drop:g} in {one.window_days} days",
        _dropped(lambda one: one.fact_score_drop),
        Side.DOWN,
    ),
    Metric.WITHHOLD_RATE: Definition(
        lambda one: f"> {one.withhold_ratio:g} × baseline", _multiplied, Side.UP
    ),
    Metric.FABRICATED: Definition(lambda one: "any", _any),
    Metric.RETRIEVAL_NULL: Definition(lambda one: "rising trend", _risen, Side.UP),
    Metric.CORRECTIONS: Definition(lambda one: "rising trend", _risen, Side.UP),
}


def figures(days: Days, today: date, settings: MonitorSettings) -> Figures:
    """The means over the newest days and over the days before them."""
    begin = today - timedelta(days=settings.window_days - 1)
    first = begin - timedelta(days=settings.baseline_days)
    return Figures(
        _mean(days, begin.isoformat(), "9999"), _mean(days, first.isoformat(), begin.isoformat())
    )


def _mean(days: Days, since: str, until: str) -> Mean:
    chosen = [one for day, one in days.items() if since <= day < until]
    return Mean(sum(one.count for one in chosen), sum(one.total for one in chosen))
