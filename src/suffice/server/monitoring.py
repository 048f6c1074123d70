"""The monitor in the gateway: `GET /v1/guarantee` and `/v1/monitor`, and its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from suffice.access.keys import ALL
from suffice.errors import StoreError
from suffice.learn.monitor import report
from suffice.learn.monitor.monitor import Monitor
from suffice.server.errors import ApiError
from suffice.server.request import RequestContext, as_response
from suffice.server.route import settings_of_route
from suffice.settings import Settings

_STATES = {"none": 0, "active": 1, "suspended": 2}


async def guarantee(context: RequestContext) -> Response:
    """Whether the guarantee of the thresholds holds, since when and why; under the path of a route,
    that of its own certificate if it has one."""
    gateway = context.gateway
    found, path = gateway.guarantees, gateway.guarantees.main
    if named := context.request.path_params.get("route", ""):
        route = gateway.route(named, None, context.caller)
        path = settings_of_route(route.settings, gateway.state.settings).verdict.thresholds_file
    return as_response(report.guarantee(found[path], found.certificates.get(path)))


async def monitor(context: RequestContext) -> Response:
    """The metrics and their alarms. They cover all routes, so the key must too."""
    if ALL not in context.caller.routes:
        raise ApiError(403, "The monitor needs a key that may call all routes.", "no_right")
    found = context.gateway.monitor
    if found is None:
        raise ApiError(404, "The monitor is off (monitor.enabled).", "not_found")
    return as_response(await asyncio.to_thread(report.report_of, found))


class MonitorCollector(Collector):
    """Exports the monitor's metrics from the store, so every worker reports the same values."""

    def __init__(self, monitor: Callable[[], Monitor | None]) -> None:
        self._monitor = monitor

    def collect(self) -> Iterator[Metric]:
        monitor = self._monitor()
        if monitor is None:
            return
        try:
            found = report.report_of(monitor)
        except StoreError:  # still report the other metrics while the store is down
            return
        alarm = GaugeMetricFamily("suffice_alarm", "1 while an alarm is raised.", labels=["metric"])
        for name, one in found["metrics"].items():
            alarm.add_metric([name], float(one["raised"]))
            if one["value"] is not None:
                days = monitor.settings.monitor.window_days
                about = f"Mean over {days} days. Alarm: {one['alarm']}."
                yield GaugeMetricFamily(f"suffice_{name}", about, one["value"])
        yield alarm
        status = found["guarantee"]["status"]
        about = "The guarantee of the thresholds: 0 none, 1 active, 2 suspended."
        yield GaugeMetricFamily("suffice_guarantee", about, _STATES[status])
        yield _by_route(monitor.settings, found)
        if found["exchangeability"] is not None:
            evidence = found["exchangeability"]["evidence"]
            about = "Evidence that live answers differ from those of the calibration."
            yield GaugeMetricFamily("suffice_drift_evidence", about, evidence)
        deep = found["deep_checks"]
        about = "Answers that were checked again by the strongest verifier."
        yield GaugeMetricFamily("suffice_deep_checks", about, deep["count"])
        about = "Deep checks that would have decided otherwise."
        yield GaugeMetricFamily("suffice_deep_checks_changed", about, deep["changed"])


def _by_route(settings: Settings, found: Mapping[str, Any]) -> Metric:
    """The guarantee of each route: a route may have a certificate of its own."""
    status = {one["file"]: _STATES[one["status"]] for one in found["certificates"]}
    about = "The guarantee of the thresholds of a route: 0 none, 1 active, 2 suspended."
    metric = GaugeMetricFamily("suffice_route_guarantee", about, labels=["route"])
    for name, route in settings.server.routes.items():
        path = settings_of_route(route, settings).verdict.thresholds_file
        metric.add_metric([name], status.get(path, _STATES["none"]))
    return metric
