"""The state of the monitor as a JSON tree, for the command line, the API and the metrics."""

from __future__ import annotations

from datetime import date
from typing import Any

from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.monitor.metrics import METRICS, Martingale, Metric, figures
from suffice.lab.monitor.monitor import Jobs, Monitor, Weekly, in_force
from suffice.lab.monitor.state import DeepCounts, State
from suffice.log.suspension import Guarantee, Status
from suffice.settings import MonitorSettings

Tree = dict[str, Any]


def report_of(monitor: Monitor) -> Tree:
    """Everything that the monitor knows now."""
    state, today = monitor.state, monitor.clock().date()
    settings, main = monitor.settings.monitor, monitor.certificate
    return {
        "time": state.time or None,
        "records": state.sequence,
        "guarantee": guarantee(state.guarantee(main), main),
        "exchangeability": _test(state.test(main), settings),
        "certificates": [
            {
                "file": path,
                **guarantee(state.guarantee(one), one),
                "exchangeability": _test(state.test(one), settings),
            }
            for path, one in monitor.certificates.items()
        ],
        "metrics": {metric.value: _metric(state, metric, settings, today) for metric in Metric},
        "alarms": [alarm.metric.value for alarm in state.alarms],
        "deep_checks": _deep(state.deep),
        "waiting": Jobs(monitor.database).waiting(),
        "sampled": Weekly(monitor.log, monitor.settings).cursor.state or None,
    }


def guarantee(found: Guarantee, certificate: Certificate | None) -> Tree:
    """The state of the guarantee, and the thresholds in force."""
    applied = in_force(certificate, found)
    return {
        "status": found.status.value,
        "since": found.since or None,
        "why": found.why,
        "certificate": found.certificate or None,
        "promise": certificate.promise if certificate else None,
        "holds": found.status is Status.ACTIVE,
        "thresholds": {"gate": applied.gate, "confidence": applied.confidence},
    }


def _metric(state: State, metric: Metric, settings: MonitorSettings, today: date) -> Tree:
    tracked, definition = state.of(metric), METRICS[metric]
    found = figures(tracked.days, today, settings)
    raised = next((alarm for alarm in state.alarms if alarm.metric is metric), None)
    return {
        "value": found.window.value,
        "count": found.window.count,
        "baseline": found.baseline.value,
        "baseline_count": found.baseline.count,
        "alarm": definition.alarm(settings),
        "raised": raised is not None,
        "since": raised.since if raised else None,
        "test": _test(tracked.test, settings),
    }


def _test(test: Martingale | None, settings: MonitorSettings) -> Tree | None:
    """The evidence of a test, and the evidence at which it rejects."""
    if test is None:
        return None
    evidence = float(test.wealth)
    return {"observations": test.steps, "evidence": evidence, "rejects_at": 1 / settings.level}


def _deep(counts: DeepCounts) -> Tree:
    def mean(total: float) -> float | None:
        return total / counts.count if counts.count else None

    return {
        "count": counts.count,
        "changed": counts.changed,
        "faithfulness": mean(counts.released),
        "faithfulness_again": mean(counts.again),
    }
