"""`/ui/overview`: verdicts, metrics and durations over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.lab.monitor.metrics import Metric
from suffice.lab.monitor.series import Bucket, Series, Span, means, series
from suffice.log.chain import now
from suffice.log.index import DAY, HOUR
from suffice.log.trace import TOTAL
from suffice.server.ui.charts import Band, Chart, percent, seconds, whole
from suffice.server.ui.page import PageContext, limits_of, log_of, page, refreshed
from suffice.types import Action

PERIODS = {
    "24h": ("24 hours", 24, HOUR),
    "7d": ("7 days", 7, DAY),
    "30d": ("30 days", 30, DAY),
    "90d": ("90 days", 90, DAY),
}
DEFAULT = "30d"
_METRICS = (
    (Metric.WITHHOLD_RATE, "Withhold rate", "Share of questions without a released answer."),
    (Metric.FAITHFULNESS, "Faithfulness", "Share of the claims of a draft that are backed."),
    (Metric.FACT_SCORE, "Fact score", "Share of the atomic facts of the claims that are backed."),
    (
        Metric.RETRIEVAL_NULL,
        "Retrieval-null rate",
        "Share of searches that found no passage similar to the question.",
    ),
    (
        Metric.FABRICATED,
        "Fabricated-citation rate",
        "Share of answers with a draft that cited a source that does not exist.",
    ),
    (Metric.CORRECTIONS, "Correction rate", "“Down” ratings per served answer."),
)
_HIGH = (Metric.FAITHFULNESS, Metric.FACT_SCORE)
"""Metrics that are usually near 1, so their axis need not begin at 0."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure of the period, with the one of the period before."""

    name: str
    value: str
    note: str = ""
    link: str = ""


async def overview(context: PageContext) -> Response:
    log = log_of(context)
    chosen = context.request.query_params.get("period", DEFAULT)
    chosen = chosen if chosen in PERIODS else DEFAULT
    _, count, width = PERIODS[chosen]
    behind = await refreshed(context)
    moment, reader = now(), context.person.reader
    before = moment - timedelta(seconds=count * width)

    def read() -> tuple[Series, Series]:
        spans = [Span.last(count, width, end) for end in (moment, before)]
        first, second = (series(log.database, span, reader) for span in spans)
        return first, second

    current, earlier = await context.run(read)
    return context.render(
        "overview.html",
        found=current,
        tiles=_tiles(current, earlier, chosen),
        verdicts=_verdicts(current),
        metrics=[_metric(current, *item) for item in _METRICS],
        stages=_stages(current),
        spread=_spread(current),
        periods=[(key, text) for key, (text, _, _) in PERIODS.items()],
        chosen=chosen,
        behind=behind,
        collections=limits_of(context),
        actions=[
            (item, current.whole.verdicts[item], log_link(item.value, current)) for item in Action
        ],
    )


def log_link(action: str, period: Series) -> str:
    """The log, filtered to an action within the period."""
    return f"/ui/log?action={action}&since={period.span.buckets[0][:10]}"


def _tiles(current: Series, earlier: Series, chosen: str) -> list[Tile]:
    before = f"{PERIODS[chosen][0]} before"
    now_, then = current.whole, earlier.whole
    served = (Action.SERVE, Action.CAVEAT, Action.CONFLICT)
    out = sum(now_.verdicts[action] for action in served)
    tiles = [
        Tile("Verdicts", whole(now_.count), f"{whole(then.count)} in the {before}", "/ui/log"),
        Tile(
            "Released",
            percent(out / now_.count) if now_.count else "–",
            f"{whole(out)} of {whole(now_.count)}",
        ),
    ]
    for metric, name, _ in _METRICS[:3]:
        value, was = _mean(now_, metric), _mean(then, metric)
        note = f"{percent(was)} in the {before}" if was is not None else "no earlier data"
        tiles.append(Tile(name, "–" if value is None else percent(value), note))
    p95 = now_.p95
    note = f"median {seconds(now_.p50)}" if now_.p50 is not None else ""
    tiles.append(Tile("Time to a verdict (p95)", "–" if p95 is None else seconds(p95), note))
    return tiles


def _mean(bucket: Bucket, metric: Metric) -> float | None:
    return bucket.metrics[metric].value if metric in bucket.metrics else None


def _chart(
    period: Series,
    id: str,
    title: str,
    about: str,
    bands: Sequence[Band],
    shown: Callable[[float], str],
    **more: Any,
) -> Chart:
    """A chart over the buckets of a period."""
    times, ticks = _times(period), _ticks(period)
    return Chart(id, title, about, times, bands, shown, ticks=ticks, **more)


def _verdicts(period: Series) -> Chart:
    bands = [
        Band(
            action.value,
            f"s-{action.value.lower()}",
            [bucket.verdicts[action] for bucket in period.buckets],
        )
        for action in Action
    ]
    per = "hour" if period.span.width == HOUR else "day"
    about = f"Number of verdicts in each {per}."
    return _chart(period, "verdicts", "Verdicts", about, bands, whole, stacked=True)


def _metric(period: Series, metric: Metric, name: str, about: str) -> Chart:
    values = means(period.buckets, metric)
    measured = [value for value in values if value is not None]
    high = metric in _HIGH
    return _chart(
        period,
        f"metric-{metric.value}",
        name,
        about,
        [Band(name, "s-c1", values)],
        percent,
        floor=max(0.0, int((min(measured) - 0.05) * 10) / 10) if high and measured else 0.0,
        ceiling=1.0 if high or max(measured, default=0.0) > 0.5 else None,
        least=0.05,
        small=True,
    )


def _stages(period: Series) -> Chart:
    bands = [
        Band(
            stage.capitalize(),
            f"s-c{n % 7 + 1}",
            [_share(bucket, stage) for bucket in period.buckets],
        )
        for n, stage in enumerate(period.stages)
    ]
    about = "Mean time of a verdict in each stage; together they are the mean time to a verdict."
    return _chart(period, "stages", "Mean time by stage", about, bands, seconds, stacked=True)


def _share(bucket: Bucket, stage: str) -> float | None:
    """The mean over all verdicts, also those without the stage."""
    timed = bucket.stages[TOTAL].count if TOTAL in bucket.stages else 0
    return bucket.stages[stage].total / timed if timed and stage in bucket.stages else None


def _spread(period: Series) -> Chart:
    bands = [
        Band("Median", "s-c2", [bucket.p50 for bucket in period.buckets]),
        Band("95th percentile", "s-c4", [bucket.p95 for bucket in period.buckets]),
    ]
    about = (
        "Half of the verdicts take no longer than the median, 95 % no longer than the 95th "
        "percentile (estimated from counts by duration)."
    )
    return _chart(period, "spread", "Time to a verdict", about, bands, seconds)


def _times(period: Series) -> list[str]:
    """The buckets in full: "5 Jan 2026", or "5 Jan 2026, 14:00". The last one is not over yet."""
    times = [
        _day(bucket.start, "%-d %b %Y") + _hour(bucket.start, ", ") for bucket in period.buckets
    ]
    return [*times[:-1], f"{times[-1]} (so far)"]


def _ticks(period: Series) -> list[str]:
    if period.span.width == HOUR:
        return [_hour(bucket.start, "") for bucket in period.buckets]
    return [_day(bucket.start, "%-d %b") for bucket in period.buckets]


def _day(start: str, form: str) -> str:
    return date.fromisoformat(start[:10]).strftime(form)


def _hour(start: str, before: str) -> str:
    return f"{before}{start[11:13]}:00" if len(start) > 10 else ""


ROUTES = [Route("/overview", page(overview, Role.VIEWER))]
