"""`suffice monitor`: show the metrics, their alarms and whether the guarantee holds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from suffice.cli import as_json as to_json
from suffice.cli.options import Options, of_store
from suffice.errors import SettingsError
from suffice.lab.monitor.monitor import Monitor
from suffice.lab.monitor.report import report_of
from suffice.lab.monitor.worker import MonitorWorker
from suffice.log.log import Log
from suffice.log.suspension import Status
from suffice.settings import MonitorSettings, Settings

Tree = Mapping[str, Any]
_STYLE = {"none": "dim", "active": "green", "suspended": "bold red"}
_NAMES = {
    Status.NONE.value: "No guarantee",
    Status.ACTIVE.value: "Guarantee active",
    Status.SUSPENDED.value: "Guarantee SUSPENDED",
}


@click.command()
@click.option("--deep", is_flag=True, help="Also run deep checks on new sampled answers.")
@click.option("--watch", is_flag=True, help="Update the display until interrupted.")
@of_store
def monitor(options: Options, deep: bool, watch: bool) -> int:
    """Read new log records and show the metrics, their alarms and the guarantee.

    A gateway does this in the background. Without one, run this command regularly: it also sends
    alarms by e-mail and draws the weekly sample.

    Exit code 2: an alarm has been raised, or the guarantee is suspended.
    """
    settings = options.settings
    log = options.log()
    worker, watched = _opened(log, settings, deep=deep)
    worker.round()
    found = report_of(watched)
    if options.as_json:
        to_json.show(found)
    elif watch:
        _watch(worker, watched, found)
    else:
        Console().print(shown(found, settings.monitor))
    held = any(one["status"] == Status.SUSPENDED for one in found["certificates"])
    return 2 if found["alarms"] or held else 0


def _opened(log: Log, settings: Settings, *, deep: bool) -> tuple[MonitorWorker, Monitor]:
    if not deep:
        watched = Monitor.of(log, settings)
        return MonitorWorker(watched), watched
    from suffice.lab.monitor.worker import DeepChecks, open_deep_verifier, stronger_tier
    from suffice.models.catalog import open_embedder

    if not stronger_tier(settings):
        raise SettingsError(
            "There is no verifier stronger than the configured one.",
            remedy="Run: pip install 'suffice[strong]', or set verifier.llm.",
        )
    watched = Monitor.of(log, settings, deep=True)

    def open_deep() -> DeepChecks:
        return DeepChecks(log, open_embedder(settings.embedder), open_deep_verifier(settings))

    return MonitorWorker(watched, open_deep), watched


def _watch(worker: MonitorWorker, watched: Monitor, found: Tree) -> None:
    own = watched.settings.monitor
    with Live(shown(found, own), auto_refresh=False) as live:
        while True:
            time.sleep(own.every_seconds)
            worker.round()
            live.update(shown(report_of(watched), own), refresh=True)


def shown(found: Tree, settings: MonitorSettings) -> RenderableType:
    """The report for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for title in (f"{settings.window_days} days", "n", "baseline"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("alarm if")
    table.add_column("state", no_wrap=True)
    for name, one in found["metrics"].items():
        value, baseline = _number(one["value"]), _number(one["baseline"])
        table.add_row(name, value, f"{one['count']:,}", baseline, one["alarm"], _state(one))
    return Group(*_guaranteed(found), table, *_below(found))


def _guaranteed(found: Tree) -> list[Text]:
    if not _named(found):
        return _guarantee(found["guarantee"])
    listed = found["certificates"]
    return [line for one in listed for line in (Text(one["file"], "bold"), *_guarantee(one))]


def _named(found: Tree) -> bool:
    """Whether certificates are shown with their files: there are others than the main one."""
    others = {one["certificate"] for one in found["certificates"]}
    return bool(others - {found["guarantee"]["certificate"]})


def _guarantee(own: Tree) -> list[Text]:
    since = f" since {_moment(own['since'])}" if own["since"] else ""
    head = f"{_NAMES[own['status']]}{since}."
    lines = [Text(head, style=_STYLE[own["status"]]), Text(own["why"])]
    if own["status"] == Status.SUSPENDED:
        numbers = ", ".join(
            f"{name} {value:.2f}" for name, value in own["thresholds"].items() if value is not None
        )
        told = "Until then, the stricter of the certified and default thresholds apply"
        lines.append(Text(f"{told}: {numbers}."))
    return lines


def _below(found: Tree) -> list[Text]:
    deep, named = found["deep_checks"], _named(found)
    lines = [
        Text(f"Alarm since {_moment(one['since'])}: {name} ({one['alarm']}).", style="bold red")
        for name, one in found["metrics"].items()
        if one["raised"]
    ]
    for one in found["certificates"]:
        test, of = one["exchangeability"], f" of {one['file']}" if named else ""
        if test is not None:
            told = f"Drift test{of}: evidence {test['evidence']:.3g}, rejects at"
            told = f"{told} {test['rejects_at']:g}; {test['observations']:,} live answers."
            lines.append(Text(told, style="dim"))
    if deep["count"]:
        was, again = _number(deep["faithfulness"]), _number(deep["faithfulness_again"])
        told = f"Deep checks: {deep['count']:,}, of which {deep['changed']:,} decide differently"
        lines.append(Text(f"{told}; faithfulness {was}, rechecked {again}.", style="dim"))
    if found["waiting"]:
        jobs = ", ".join(f"{count} × {kind}" for kind, count in found["waiting"].items())
        lines.append(Text(f"Pending jobs: {jobs}.", style="dim"))
    last = f"up to {_moment(found['time'])}" if found["time"] else "none yet"
    lines.append(Text(f"Records read: {last}.", style="dim"))
    return lines


def _state(one: Tree) -> Text:
    if one["raised"]:
        return Text("RAISED", style="bold red")
    if one["value"] is None:
        return Text("no data", style="dim")
    known = one["baseline"] is not None or one["test"] is None
    return Text("ok", style="green") if known else Text("–", style="dim")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _moment(time: str) -> str:
    return time[:16].replace("T", " ")
