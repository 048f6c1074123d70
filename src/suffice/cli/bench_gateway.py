"""`suffice bench gateway`: the gateway under load."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console

from suffice.cli import as_json as to_json

_PARTS = ("plain", "checked", "overload")


@click.command()
@click.option("--seconds", type=click.FloatRange(1), default=10, help="Of each measurement.")
@click.option("--overload", type=click.FloatRange(1), default=600, help="Seconds of overload.")
@click.option("--clients", type=click.IntRange(1, 1000), default=16, help="Clients at once.")
@click.option("--litellm", metavar="COMMAND", help="LiteLLM's command (default: where found).")
@click.option("--only", "parts", multiple=True, type=click.Choice(_PARTS), help="Only this part.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gateway(
    seconds: float,
    overload: float,
    clients: int,
    litellm: str | None,
    parts: tuple[str, ...],
    as_json: bool,
) -> int:
    """The gateway under load, on loopback, with the load from a second process.

    As a plain proxy before a canned upstream, beside LiteLLM's proxy where that is installed; with
    gate and all checks (fast tier) on 5 passages and answers of 3 sentences; and at twice the load
    it sustained so. Takes a quarter of an hour; nothing else should run.
    """
    from suffice.bench.gateway import Plan, bench_gateway

    command = litellm or shutil.which("litellm") or ""
    figures = bench_gateway(Plan(seconds, overload, clients, command, parts=parts or _PARTS))
    if as_json:
        to_json.show(figures)
    else:
        for line in _lines(figures):
            Console().print(line, markup=False, highlight=False)
    return 0


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    wanted = figures["wanted"]
    for way, label in (("whole", "not streamed"), ("stream", "streamed")):
        if "plain" not in figures:
            continue
        row = figures["plain"][f"{way}_compared"]
        yield f"Plain proxy, {label}: {row['per_s']:,} a second, {row['added_ms']} ms added (p50)."
        if "litellm_per_s" in row:
            yield (
                f"  LiteLLM: {row['litellm_per_s']:,} a second, {row['litellm_added_ms']} ms added:"
                f" {row['throughput_times']} times the throughput"
                f" ({wanted['plain_throughput_times']:g} or more wanted), {row['added_share']} of"
                f" the latency ({wanted['plain_added_share']:.2f} or less)."
            )
    if "checked" in figures:
        row = figures["checked"]
        yield (
            f"Gate and all checks, {figures['clients']} clients: {row['per_s']} a second, p95"
            f" {row['p95_ms']:,} ms, {row['p95_times_fair']} times clients/throughput"
            f" ({wanted['p95_times_fair']:g} or less); {row['share_of_bare']} of what the bare"
            f" models allow ({wanted['share_of_bare']:g} or more); {row['statuses']}."
        )
    if "overload" in figures:
        row = figures["overload"]
        yield (
            f"{row['rate']} a second for {row['seconds']:.0f} s: {row['statuses']}, unchecked"
            f" {row['unchecked']}, memory {row['memory_mb']} MB,"
            f" {'alive' if row['alive'] else 'CRASHED'}."
        )
