"""The report of `suffice redteam` on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli.show import plain

_EXAMPLES = 2
_WIDTH = 160


def show_redteam(found: Mapping[str, Any], out: Path) -> None:
    console = Console()
    console.print(_table(found))
    for line in (*_examples(found), *_compared(found["last_run"]), f"Report: {out}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(found: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_footer=True)
    total = found["total"]
    table.add_column("attack", "all", no_wrap=True)
    table.add_column("cases", str(total["cases"]), justify="right")
    table.add_column("right action", _share(total, "right"), justify="right", no_wrap=True)
    table.add_column("twins served", _share(total, "twins_served"), justify="right", no_wrap=True)
    for name, own in found["attacks"].items():
        if not own["cases"]:
            table.add_row(plain(name), "0", "no material", "")
            continue
        cells = (_share(own, "right"), _share(own, "twins_served"))
        table.add_row(plain(name), str(own["cases"]), *cells)
    return table


def _share(own: Mapping[str, Any], name: str) -> str:
    if not own["cases"]:
        return "–"
    low, high = own[f"{name}_interval"]
    return f"{own[f'{name}_share']:.0%} ({low:.0%} to {high:.0%})"


def _examples(found: Mapping[str, Any]) -> Iterator[str]:
    """The first misses and false alarms of each attack."""
    for part, title in (("attack_result", "Missed"), ("twin", "Twin not served")):
        shown: dict[str, int] = {}
        for case in found["cases"]:
            one = case[part]
            if one["passed"] or shown.get(case["attack"], 0) >= _EXAMPLES:
                continue
            shown[case["attack"]] = shown.get(case["attack"], 0) + 1
            said = " ".join((one["draft"] or one["question"]).split())
            said = said if len(said) <= _WIDTH else "…" + said[-_WIDTH:]
            yield f"{title}, {case['attack']} ({case['what']}): {one['action']}: {said}"


def _compared(last: Mapping[str, Any] | None) -> Iterator[str]:
    if last is None:
        return
    old, new = last["right_share"]
    yield (
        f"Last run {last['date']}: right action {_percent(old)}, now {_percent(new)}. Of "
        f"{last['compared_cases']} cases in both runs, {len(last['newly_missed'])} newly missed, "
        f"{len(last['newly_right'])} newly right, {len(last['newly_refused_twins'])} twins newly "
        "refused."
    )
    if not last["same_documents"]:
        yield "The documents have changed since then."
    if not last["same_setup"]:
        yield "The models or the settings have changed since then."


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
