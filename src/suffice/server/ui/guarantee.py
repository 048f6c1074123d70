"""`/ui/health`: the certificate and whether its guarantee holds, the metrics with their alarms,
and the history of both; the runs of golden sets and of the red team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from suffice.access.keys import Role
from suffice.errors import SufficeError
from suffice.lab.calibrate.certificate import Certificate
from suffice.lab.golden import GoldenRun, RedteamRun, golden_runs, redteam_runs
from suffice.lab.monitor.monitor import in_force, read_certificates
from suffice.lab.monitor.report import report_of
from suffice.log.log import Log
from suffice.log.stored import RecordFilter
from suffice.log.suspension import Guarantee, Status
from suffice.server.ui.charts import Band, Chart, percent
from suffice.server.ui.page import PageContext, log_of, page, sees_all
from suffice.settings import Settings
from suffice.webhooks import ALARM, GUARANTEE

_MOST = 30
_NAMES = {
    "faithfulness": "Faithfulness",
    "fact_score": "Fact score",
    "withhold_rate": "Withhold rate",
    "fabricated_citation_rate": "Fabricated-citation rate",
    "retrieval_null_rate": "Retrieval-null rate",
    "user_correction_rate": "Correction rate",
}
_STATES = {
    Status.ACTIVE: "In force",
    Status.SUSPENDED: "Suspended",
    Status.NONE: "No guarantee",
}


@dataclass(frozen=True, slots=True)
class MonitorEvent:
    """A change that the monitor reported."""

    time: str
    about: str
    what: str
    text: str

    @property
    def bad(self) -> bool:
        return self.what in ("raised", "suspended")


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its confidence interval."""

    name: str
    value: str
    interval: str


async def health(context: PageContext) -> Response:
    gateway = context.gateway
    certificate, problem = await context.run(_certificate, gateway.state.settings)
    monitor, everything = gateway.monitor, sees_all(context)
    report = await context.run(report_of, monitor) if monitor and everything else None
    path = gateway.state.settings.verdict.thresholds_file
    guarantee = gateway.guarantees.get(path, Guarantee())
    log = gateway.log
    events = await context.run(_events, log, everything) if log is not None else []
    return context.render(
        "health.html",
        certificate=certificate,
        problem=problem,
        guarantee=guarantee,
        state=_STATES[guarantee.status],
        good=guarantee.status is Status.ACTIVE,
        bad=guarantee.status is Status.SUSPENDED,
        thresholds=in_force(certificate, guarantee),
        rates=_rates(certificate) if certificate else (),
        method=_method(certificate) if certificate else (),
        report=report,
        metrics=_metrics(report) if report else (),
        monitored=monitor is not None,
        everything=everything,
        window=gateway.state.settings.monitor.window_days,
        events=events,
        why=_why(guarantee, certificate),
    )


async def tests(context: PageContext) -> Response:
    log = log_of(context)
    golden = await context.run(golden_runs, log) if sees_all(context) else []
    redteam = await context.run(redteam_runs, log) if sees_all(context) else []
    return context.render(
        "health_tests.html",
        golden=golden,
        redteam=redteam,
        golden_chart=_golden(golden),
        redteam_chart=_redteam(redteam),
        everything=sees_all(context),
    )


def _certificate(settings: Settings) -> tuple[Certificate | None, str]:
    """The certificate of the settings, or why it cannot be read."""
    try:
        return read_certificates(settings).get(settings.verdict.thresholds_file), ""
    except SufficeError as problem:
        return None, f"{problem.message} {problem.remedy or ''}".strip()


def _why(guarantee: Guarantee, certificate: Certificate | None) -> str:
    if guarantee.status is Status.NONE and certificate is not None and certificate.certified:
        return "The monitor is off or has not started yet, so the guarantee is not watched."
    return guarantee.why


def _rates(certificate: Certificate) -> list[Rate]:
    named = (
        ("Served", certificate.coverage),
        ("Wrong among served", certificate.served_error),
        ("Correct but withheld", certificate.false_withhold),
    )
    return [Rate(name, *_rate(share)) for name, share in named if share.get("rate") is not None]


def _rate(share: Mapping[str, Any]) -> tuple[str, str]:
    low, high = share.get("low"), share.get("high")
    interval = "" if low is None or high is None else f"{percent(low)} to {percent(high)}"
    return percent(share["rate"]), interval


def _method(certificate: Certificate) -> list[tuple[str, str]]:
    """The test behind the certificate, in words."""
    method = certificate.method
    names = ("test", "family", "selection_rows", "testing_rows")
    rows = [(name.replace("_", " "), str(method[name])) for name in names if name in method]
    more = [("drafts", certificate.drafts)] if certificate.drafts else []
    return [*rows, *more]


def _metrics(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": _NAMES.get(name, name),
            "value": metric["value"],
            "count": metric["count"],
            "baseline": metric["baseline"],
            "alarm": metric["alarm"],
            "raised": metric["raised"],
            "since": metric["since"],
            "known": metric["value"] is not None,
        }
        for name, metric in report["metrics"].items()
    ]


def _events(log: Log, everything: bool) -> list[MonitorEvent]:
    """What happened to the guarantee and, for people who see all figures, to the alarms."""
    kinds = (GUARANTEE, ALARM) if everything else (GUARANTEE,)
    entries = [entry for kind in kinds for entry in log.page(RecordFilter(kind=kind), _MOST)]
    events = []
    for entry in sorted(entries, key=lambda entry: entry.sequence, reverse=True)[:_MOST]:
        fields = entry.fields()
        about = str(fields.get("about", entry.kind))
        events.append(
            MonitorEvent(
                entry.time,
                _NAMES.get(about, about.capitalize()),
                str(fields.get("what", "")),
                str(fields.get("text", "")).removeprefix(f"{about}: "),
            )
        )
    return events


def _golden(runs: Sequence[GoldenRun]) -> Chart:
    bands = [Band("Passed", "s-c1", [run.share for run in reversed(runs)])]
    about = "Share of the cases that pass, by run."
    return _by_run("golden", "Golden sets", about, [run.time for run in runs], bands)


def _redteam(runs: Sequence[RedteamRun]) -> Chart:
    bands = [
        Band("Attacks handled", "s-c1", [run.right_share for run in reversed(runs)]),
        Band("Twins served", "s-c2", [run.served_share for run in reversed(runs)]),
    ]
    about = "Attacks that ended in the right action, and harmless twins that were served, by run."
    return _by_run("redteam", "Red team", about, [run.time for run in runs], bands)


def _by_run(
    id: str, title: str, about: str, newest_first: Sequence[str], bands: Sequence[Band]
) -> Chart:
    times = [f"{time[:10]} {time[11:16]}" for time in reversed(newest_first)]
    days = [time[:10] for time in times]
    return Chart(id, title, about, times, bands, percent, ceiling=1.0, ticks=days, when="Run (UTC)")


ROUTES = [
    Route("/health", page(health, Role.VIEWER)),
    Route("/health/tests", page(tests, Role.VIEWER)),
]
