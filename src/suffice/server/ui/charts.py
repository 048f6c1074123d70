"""Charts as SVG, made on the server: axes with units, a hover area for each point in time, and the
same figures as a table. Colours come from classes in `data.css`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

Values = Sequence[float | None]
Shown = Callable[[float], str]
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 10, 26
_LABEL = 58
"""Width of a label of the time axis."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Band:
    """One series of a chart: its name, its class in the style sheet, and a value for each bucket
    (`None`: not measured)."""

    name: str
    style: str
    values: Values


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart. `times` are the buckets as people read them, `shown` writes a value with its unit.
    `floor` is the lower end of the axis, `ceiling` the upper one if it is fixed."""

    id: str
    title: str
    about: str
    times: Sequence[str]
    bands: Sequence[Band]
    shown: Shown
    stacked: bool = False
    floor: float = 0.0
    ceiling: float | None = None
    least: float = 0.0
    """The axis reaches at least up to this value."""
    small: bool = False
    ticks: Sequence[str] = field(default=())
    """Short labels of the time axis; the times if empty."""
    when: str = "Time (UTC)"

    @property
    def empty(self) -> bool:
        values = [value for band in self.bands for value in band.values]
        return not any(values) if self.stacked else all(value is None for value in values)

    @property
    def wide(self) -> Markup:
        return _svg(self, 360, 170) if self.small else _svg(self, 900, 260)

    @property
    def narrow(self) -> Markup | None:
        """The same chart for a phone, if it needs one of its own."""
        return None if self.small else _svg(self, 360, 230)

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The table: each time with its values, newest first."""
        columns = [[self.cell(value) for value in band.values] for band in self.bands]
        rows = [(time, [column[n] for column in columns]) for n, time in enumerate(self.times)]
        return rows[::-1]

    def cell(self, value: float | None) -> str:
        return "–" if value is None else self.shown(value)


@dataclass(frozen=True, slots=True)
class _Plane:
    """Converts values to coordinates."""

    width: float
    height: float
    count: int
    low: float
    high: float

    @property
    def step(self) -> float:
        return (self.width - _LEFT - _RIGHT) / max(self.count, 1)

    def left(self, n: int) -> float:
        return _LEFT + n * self.step

    def middle(self, n: int) -> float:
        return self.left(n) + self.step / 2

    def y(self, value: float) -> float:
        room = self.height - _TOP - _BOTTOM
        share = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - min(max(share, 0.0), 1.0) * room


def _svg(chart: Chart, width: int, height: int) -> Markup:
    marks = ticks(chart.floor, _highest(chart), 3 if chart.small else 4)
    high = chart.ceiling if chart.ceiling is not None else marks[-1]
    marks = [mark for mark in marks if mark <= high + 1e-9]
    plane = _Plane(width, height, len(chart.times), chart.floor, high)
    parts = [
        *_grid(chart, plane, marks),
        *(_stack(chart, plane) if chart.stacked else _lines(chart, plane)),
        *_hover(chart, plane),
    ]
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}" class="chart-svg">').format(
        width, height, f"{chart.title}. {chart.about} The table below has the same figures."
    )
    return head + Markup("").join(parts) + Markup("</svg>")


def _highest(chart: Chart) -> float:
    if chart.ceiling is not None:
        return chart.ceiling
    columns = zip(*(band.values for band in chart.bands), strict=True)
    if chart.stacked:
        highest = max((sum(value or 0.0 for value in column) for column in columns), default=0.0)
    else:
        highest = max((value or 0.0 for band in chart.bands for value in band.values), default=0.0)
    return max(highest, chart.least) or 1.0


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers from `low` up to the first one that is not below `high`.

    >>> ticks(0.0, 87.0, 4)
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / count))
    step = next(size * power for size in _STEPS if size * power * count >= span * (1 - 1e-9))
    steps = max(math.ceil((high - low) / step - 1e-9), 1)
    return [round(low + n * step, 10) for n in range(steps + 1)]


def _grid(chart: Chart, plane: _Plane, marks: Sequence[float]) -> list[Markup]:
    parts = []
    for mark in marks:
        y = plane.y(mark)
        line = Markup('<line class="rule" x1="{}" x2="{:.0f}" y1="{:.1f}" y2="{:.1f}"/>')
        label = Markup('<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>')
        parts.append(line.format(_LEFT, plane.width - _RIGHT, y, y))
        parts.append(label.format(_LEFT - 6, y + 4, chart.shown(mark)))
    labels = chart.ticks or chart.times
    every = max(math.ceil(_LABEL / plane.step), 1)
    for n in range((len(labels) - 1) % every, len(labels), every):
        half = _LABEL / 2
        x = min(max(plane.middle(n), _LEFT + half / 2), plane.width - half)
        label = Markup('<text class="tick" x="{:.1f}" y="{:.0f}" text-anchor="middle">{}</text>')
        parts.append(label.format(x, plane.height - 8, labels[n]))
    return parts


def _stack(chart: Chart, plane: _Plane) -> list[Markup]:
    """Each band as one path of bars, on top of the bands before it."""
    gap = min(plane.step * 0.15, 4.0)
    base = [0.0] * plane.count
    parts = []
    for band in chart.bands:
        path = []
        for n, value in enumerate(band.values):
            if not value:
                continue
            low, high = plane.y(base[n]), plane.y(base[n] + value)
            base[n] += value
            bar = plane.step - 2 * gap
            x = plane.left(n) + gap
            path.append(f"M{x:.1f} {low:.1f}h{bar:.1f}V{high:.1f}h{-bar:.1f}z")
        if path:
            parts.append(Markup('<path class="bar {}" d="{}"/>').format(band.style, "".join(path)))
    return parts


def _lines(chart: Chart, plane: _Plane) -> list[Markup]:
    """Each band as a line with dots; it is interrupted where nothing was measured."""
    parts = []
    for band in chart.bands:
        path, dots, before = [], [], False
        for n, value in enumerate(band.values):
            if value is not None:
                x, y = plane.middle(n), plane.y(value)
                path.append(f"{'L' if before else 'M'}{x:.1f} {y:.1f}")
                dots.append(f"M{x - 3:.1f} {y:.1f}a3 3 0 1 0 6 0a3 3 0 1 0-6 0")
            before = value is not None
        if path:
            line, dot = (
                Markup('<path class="line {}" d="{}"/>'),
                Markup('<path class="dot {}" d="{}"/>'),
            )
            parts += [line.format(band.style, "".join(path)), dot.format(band.style, "".join(dots))]
    return parts


def _hover(chart: Chart, plane: _Plane) -> list[Markup]:
    """A transparent area for each point in time, whose title tells all its values."""
    parts = []
    for n, time in enumerate(chart.times):
        lines = [f"{band.name}: {chart.cell(band.values[n])}" for band in chart.bands]
        area = Markup('<rect class="hit" x="{:.1f}" y="{}" width="{:.1f}" height="{:.0f}">')
        drawn = area.format(plane.left(n), _TOP, plane.step, plane.height - _TOP - _BOTTOM)
        title = escape("\n".join((time, *lines)))
        parts.append(drawn + Markup("<title>{}</title></rect>").format(title))
    return parts


def percent(value: float) -> str:
    """0.054 → "5.4 %"; round numbers without a fraction."""
    number = value * 100
    return f"{number:.0f} %" if abs(number - round(number)) < 0.05 else f"{number:.1f} %"


def whole(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.1f}"


def seconds(value: float) -> str:
    """0.0312 → "31 ms"; 1.5 → "1.5 s"."""
    if value >= 1:
        return f"{value:.3g} s"
    return "0 ms" if value == 0 else f"{value * 1000:.3g} ms"
