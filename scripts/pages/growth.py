"""What a million answers cost, and how cost grows."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.tables import Figures, cores, head, line, result


def scale_cost() -> Iterator[str]:
    """Core hours of a million answers, and the machines for two rates."""
    found = result("scale")
    measured, assumed = found["measured"], found["assumed"]
    seconds = measured["cores"] / measured["per_s"]
    yield (
        f"One machine with {measured['cores']} cores checks {measured['per_s']} requests a second, "
        f"so a request takes {seconds:.2f} seconds of one core. Assumed: {assumed['price']} "
        f"dollars for a core hour, and machines that are {assumed['busy']:.0%} busy at the "
        f"peak. One log chain takes {measured['chain_per_s']} records a second, of "
        f"{measured['record_bytes'] / 1000:.1f} kB each."
    )
    yield ""
    yield from head("a million answers", "core hours", "dollars")
    for tier, cost in found["million"].items():
        yield line(f"{tier} tier", f"{cost['core_hours']:,}", f"{cost['dollars']:.2f}")
    yield ""
    names = ("cores", "machines of 16 cores", "load of one log chain", "log chains", "log a day")
    yield from head("requests a second", *names)
    for row in found["rates"]:
        yield line(
            f"{row['rate']:,}", f"{row['cores']:,}", f"{row['machines']:,}",
            f"{row['chain_load']:.0%}", str(row["chains"]), f"{row['log_gb_a_day']:,} GB",
        )  # fmt: skip


def scale_queue() -> Iterator[str]:
    """Response times of the simulated queue."""
    found = result("scale")
    machines = [name for name in found["queue"][0] if name != "load"]
    labels = [f"{name} machine{'s' if name != '1' else ''}: p50, p95" for name in machines]
    yield from head("load", *labels, "refused by one machine")
    for row in found["queue"]:
        times = [f"{row[name]['p50']:.1f}, {row[name]['p95']:.1f}" for name in machines]
        yield line(f"{row['load']:.0%}", *times, f"{row['1']['refused']:.1%}")
    over = found["overload"]
    yield ""
    yield (
        f"At a load of {over['load']:.0%}, the simulation refuses {over['refused']:.0%}; the "
        f"gateway refused {over['refused_measured']:.0%} in the overload run of "
        "`docs/results/gateway.json`."
    )


def cost(found: Figures | None = None) -> Iterator[str]:
    """How each cost grows, as multiples of the smallest size of its series."""
    found = result("cost") if found is None else found
    if not found:
        return
    yield from head("by", "measured", "size: times the smallest", "grows with the power")
    for series in found["series"].values():
        points = ", ".join(f"{one['size']:,}: {one['ratio']:g}" for one in series["points"])
        size = f"{series['title'].lower()} ({series['size']})"
        yield line(size, series["value"], points, f"{series['exponent']:.2f}")
    if index := found["series"].get("index"):
        sizes = (
            f"{one['memory_mb']:,} MB of memory and {one['disk_mb']:,} MB of disk for "
            f"{one['size']:,} passages"
            for one in index["points"]
        )
        yield f"\nA process that searches the index takes {', '.join(sizes)}."
    if workers := found["series"].get("workers"):
        had = " and ".join(f"{one['cores']:g}" for one in workers["points"])
        yield f"The workers had {had} cores: fewer than workers means that the machine was busy."
    loads = [series["load"] for series in found["series"].values()]
    yield (
        f"{found['model']}, {cores(found)}, load average {min(loads):g} to {max(loads):g}, from "
        "`docs/results/cost.json`.\n"
    )
    yield "![How cost grows](../images/cost.svg)"
