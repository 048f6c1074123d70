"""How many machines a load needs, from measured figures, and how a queue behaves before them.

The arithmetic uses gateway.json, record.json and speed.json of docs/results. The simulation draws
requests at random times (Poisson) and work of random size (log-normal), and refuses what exceeds
the queue.
"""

from __future__ import annotations

import heapq
import json
from collections import deque
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from suffice.lab.eval.run_record import run_record
from suffice.settings.server import WorkSettings

RATES = (100, 10_000)
LOADS = (0.5, 0.67, 0.8, 0.9, 0.95, 1.2)
MACHINES = (1, 10, 100)
BUSY = 2 / 3
"""The planned load at the peak, as a share of the capacity."""
CORES_A_MACHINE = 16
SPREAD = 1.0
"""An assumption: the standard deviation of the work of a request, divided by its mean."""
PRICE = 0.04
"""An assumption: dollars for an hour of one core."""
_REQUESTS = 100_000


@dataclass(frozen=True, slots=True)
class Measured:
    """What other benchmarks measured, for one store and one machine."""

    per_s: float
    cores: int
    strong_times: float
    chain_per_s: float
    record_bytes: int
    overload: dict[str, float]

    @classmethod
    def of(cls, results: Path) -> Measured:
        gateway, record, speed = (
            json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
            for name in ("gateway", "record", "speed")
        )
        statuses = gateway["overload"]["statuses"]
        return cls(
            per_s=gateway["checked"]["per_s"],
            cores=gateway["run"]["machine"]["cores"],
            strong_times=speed["strong_times_fast"],
            chain_per_s=record["postgresql"]["append_per_s"],
            record_bytes=record["record_bytes"],
            overload={
                "rate": gateway["overload"]["rate"],
                "per_s": gateway["overload"]["per_s"],
                "refused": statuses["429"] / (statuses["429"] + statuses["200"]),
            },
        )

    @property
    def per_core(self) -> float:
        return self.per_s / self.cores


def bench_scale(results: Path, requests: int = _REQUESTS) -> dict[str, Any]:
    found = Measured.of(results)
    queue = WorkSettings().max_queued
    over = found.overload["rate"] / found.overload["per_s"]
    predicted = simulate(over, 1, requests, queue)["refused"]
    return {
        "measured": {
            "per_s": found.per_s,
            "cores": found.cores,
            "chain_per_s": found.chain_per_s,
            "record_bytes": found.record_bytes,
        },
        "assumed": {"busy": round(BUSY, 3), "spread": SPREAD, "price": PRICE, "queue": queue},
        "million": {name: million(found, times) for name, times in
                    (("fast", 1.0), ("strong", found.strong_times))},
        "rates": [plan(found, rate) for rate in RATES],
        "queue": [
            {"load": load, **{str(count): simulate(load, count, requests, queue)
                              for count in MACHINES}}
            for load in LOADS
        ],
        "overload": {
            "load": round(over, 3),
            "refused": round(predicted, 3),
            "refused_measured": round(found.overload["refused"], 3),
        },
        "run": run_record(*(results / f"{name}.json" for name in ("gateway", "record", "speed"))),
    }  # fmt: skip


def million(found: Measured, times: float) -> dict[str, float]:
    """Core hours and price of a million checked answers; `times` the work of the fast tier."""
    hours = 1e6 * times / found.per_core / 3600
    return {"core_hours": round(hours), "dollars": round(hours * PRICE, 2)}


def plan(found: Measured, rate: float) -> dict[str, float]:
    """Cores, machines and log chains for a rate of requests."""
    cores = rate / found.per_core / BUSY
    return {
        "rate": rate,
        "cores": ceil(cores),
        "machines": ceil(cores / CORES_A_MACHINE),
        "cores_a_machine": CORES_A_MACHINE,
        "chains": ceil(rate / found.chain_per_s / BUSY),
        "chain_load": round(rate / found.chain_per_s, 3),
        "log_gb_a_day": round(rate * found.record_bytes * 86_400 / 1e9),
    }


def simulate(
    load: float, machines: int, requests: int, queue: int, seed: int = 1
) -> dict[str, float]:
    """Response times, in multiples of a request's mean work, and the share of requests refused.

    The machines take from one queue, as behind a balancer that knows who is free. `machines=1` is
    also what a balancer gives that sends each request to a machine at random."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / (load * machines), requests))
    sigma = np.sqrt(np.log(1 + SPREAD**2))
    work = rng.lognormal(-(sigma**2) / 2, sigma, requests)
    free = [0.0] * machines
    waiting: deque[float] = deque()
    took: list[float] = []
    for now, size in zip(arrivals.tolist(), work.tolist(), strict=True):
        while waiting and waiting[0] <= now:
            waiting.popleft()
        if len(waiting) >= queue * machines:
            continue
        start = max(now, free[0])
        heapq.heapreplace(free, start + size)
        if start > now:
            waiting.append(start)
        took.append(start + size - now)
    late = np.array(took[len(took) // 10 :])  # without the empty beginning
    p50, p95, p99 = np.percentile(late, [50, 95, 99])
    return {
        "mean": round(float(late.mean()), 2),
        "p50": round(float(p50), 2),
        "p95": round(float(p95), 2),
        "p99": round(float(p99), 2),
        "refused": round(1 - len(took) / requests, 4),
    }
