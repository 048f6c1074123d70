"""`process_…` metrics: CPU time, memory and open files, summed over all workers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_EARLIEST = "process_start_time_seconds"
_LIVE_WORKER = re.compile(r"gauge_live\w+_(\d+)\.db")


def live_processes(shared: str | None) -> set[int]:
    """The process ids of the workers that share the folder; without it, this process."""
    if not shared:
        return {os.getpid()}
    files = (_LIVE_WORKER.fullmatch(file.name) for file in Path(shared).glob("gauge_live*.db"))
    return {int(found[1]) for found in files if found} | {os.getpid()}


class Processes(Collector):
    """Sums the metrics of several processes. The start time is that of the oldest process. There
    are no metrics if there is no `/proc`."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids

    def collect(self) -> Iterator[Metric]:
        about: dict[str, Metric] = {}
        values: dict[str, list[float]] = {}
        for pid in self._pids():
            for metric in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                about[metric.name] = metric
                values.setdefault(metric.name, []).append(metric.samples[0].value)
        for name, metric in about.items():
            value = min(values[name]) if name == _EARLIEST else sum(values[name])
            family = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
            yield family(name, metric.documentation, value)
