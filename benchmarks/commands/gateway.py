"""`python -m benchmarks gateway`: measure the gateway under load."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import click

from suffice.cli.figures import print_figures
from suffice.cli.options import Options, shared

_PARTS = ("plain", "checked", "overload")


@click.command()
@click.option(
    "--seconds", type=click.FloatRange(1), default=10, help="Duration of each measurement."
)
@click.option(
    "--overload", type=click.FloatRange(1), default=600, help="Duration of the overload in seconds."
)
@click.option(
    "--hostile",
    type=click.FloatRange(0, 1),
    default=0.01,
    help="Hostile requests for each ordinary request in the overload.",
)
@click.option("--clients", type=click.IntRange(1, 1000), default=16, help="Concurrent clients.")
@click.option("--litellm", metavar="COMMAND", help="LiteLLM executable (default: litellm on PATH).")
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(_PARTS),
    help="Run only this part (repeatable).",
)
@shared("as_json")
def gateway(
    options: Options,
    seconds: float,
    overload: float,
    hostile: float,
    clients: int,
    litellm: str | None,
    parts: tuple[str, ...],
) -> int:
    """Measure the gateway under load on loopback; a second process generates the load.

    Three parts: a plain proxy in front of a canned upstream, compared with LiteLLM's proxy if it is
    installed; gate and all checks (fast tier) on 5 passages and answers of 3 sentences; and
    overload at twice the checked throughput, with hostile requests. Takes about 15 minutes on
    an otherwise idle machine.
    """
    from benchmarks.gateway import Plan, bench_gateway

    command = litellm or shutil.which("litellm") or ""
    plan = Plan(seconds, overload, clients, command, hostile=hostile, parts=parts or _PARTS)
    figures = bench_gateway(plan)
    print_figures(figures, _lines(figures), as_json=options.as_json)
    return 0


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    wanted = figures["wanted"]
    for way, label in (("whole", "not streamed"), ("stream", "streamed")):
        if "plain" not in figures:
            continue
        row = figures["plain"][f"{way}_compared"]
        added = f"{row['added_ms']} ms added (p50)"
        yield f"Plain proxy, {label}: {row['per_s']:,} requests/s, {added}."
        if "litellm_per_s" in row:
            yield (
                f"  LiteLLM: {row['litellm_per_s']:,} requests/s, {row['litellm_added_ms']} ms"
                f" added. Suffice has {row['throughput_times']} times the throughput (target:"
                f" {wanted['plain_throughput_times']:g} or more) and {row['added_share']} of the"
                f" added latency (target: {wanted['plain_added_share']:.2f} or less)."
            )
    if "checked" in figures:
        row = figures["checked"]
        yield (
            f"Gate and all checks, {figures['clients']} clients: {row['per_s']} requests/s; p95"
            f" {row['p95_ms']:,} ms, {row['p95_times_fair']} times clients/throughput (target:"
            f" {wanted['p95_times_fair']:g} or less); {row['share_of_bare']} of the throughput of"
            f" the bare models (target: {wanted['share_of_bare']:g} or more); statuses"
            f" {row['statuses']}."
        )
    if "overload" in figures:
        row = figures["overload"]
        yield from _overload(row, wanted)


def _overload(row: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    memory, health = row["memory_mb"], row["healthz"]
    yield (
        f"Overload, {row['rate']} requests/s for {row['seconds']:.0f} s: statuses"
        f" {row['statuses']}, {row['unchecked']} unchecked answers,"
        f" {row['server_errors']} server errors other than 503 (target:"
        f" {wanted['server_errors']}), {'alive' if row['alive'] else 'CRASHED'}."
    )
    yield (
        f"  Memory: {memory['first_third']} MB in the first third, {memory['last_third']} MB in the"
        f" last ({memory['growth_percent']} % more; target: {wanted['memory_growth_percent']:g} or"
        f" less), {memory['peak']} MB at most."
    )
    yield (
        f"  /healthz: p50 {health['p50_ms']} ms, p99 {health['p99_ms']} ms (target:"
        f" {wanted['healthz_p99_ms']:g} or less), {health['max_ms']} ms at most;"
        f" {health['failed']} of {health['probes']} probes failed."
    )
    for kind, statuses in sorted(row["hostile"].items()):
        yield f"  Hostile, {kind}: {statuses}"
