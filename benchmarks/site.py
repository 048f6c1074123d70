"""Measures the review site: the first page of the log over many records and over few, and what
people who browse cost the gateway's own requests.

Gateway and load generator are separate processes on loopback; the people are threads of this one.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from benchmarks.gateway_cases import cases
from benchmarks.servers import Running, load, start_gateway
from benchmarks.site_log import FEW, filled, milliseconds
from benchmarks.site_records import fill
from suffice.lab.eval.run_record import run_record
from suffice.lab.monitor.series import decision_index
from suffice.sql.database import Database

WANTED = {"log_times": 3.0, "p95_times": 1.2}
PAGES = (
    "/ui/overview",
    "/ui/log",
    "/ui/log?action=REVIEW",
    "/ui/log?text=laptop",
    "/ui/documents",
    "/ui/health",
)
_CASES = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """How many records and people, and for how long each of the rounds runs. Each person opens a
    page, looks at it for `looks` seconds, and opens the next one."""

    records: int = 100_000
    people: int = 10
    looks: float = 2.0
    seconds: float = 20.0
    rounds: int = 3
    clients: int = 2


@dataclass(slots=True)
class Browsed:
    """The pages that people opened: times in seconds, and statuses."""

    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


def bench_site(plan: Plan, progress: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    figures: dict[str, Any] = {"run": run_record(), "wanted": WANTED, "records": plan.records}
    with TemporaryDirectory() as made:
        folder = Path(made)
        progress("log")
        figures["log"] = _log(folder, plan)
        progress("browsing")
        figures["browsing"] = _browsing(folder, plan)
    return figures


def _log(folder: Path, plan: Plan) -> dict[str, Any]:
    """The first page by filter: milliseconds over few and over many records, and their ratio."""
    few, many = (
        filled(folder / f"log-{records}.db", records)
        for records in (min(FEW, plan.records), plan.records)
    )
    before, after = milliseconds(few), milliseconds(many)
    for store in (few, many):
        store.database.close()
    return {
        "write_s": round(many.write_s, 1),
        "index_s": round(many.index_s, 1),
        "pages": {
            name: {
                "few_ms": round(before[name], 2),
                "many_ms": round(after[name], 2),
                "times": round(after[name] / before[name], 2),
            }
            for name in before
        },
    }


def _browsing(folder: Path, plan: Plan) -> dict[str, Any]:
    """p95 of checks without people and with them, in turns."""
    database = Database.open(folder / "site.db", create=True)
    fill(database, plan.records, datetime.now(UTC), group=max(plan.records // 200, 1))
    decision_index(database, 0.3).catch_up()
    database.close()
    bodies = [
        json.dumps(
            {
                "question": case.question,
                "answer": case.answer,
                "evidence": [{"text": text} for text in case.passages],
            }
        )
        for case in cases(_CASES)
    ]
    alone: list[float] = []
    beside: list[float] = []
    browsed = Browsed()
    with start_gateway(folder, "site", {}) as gateway:

        def p95() -> float:
            found = load(gateway, bodies, plan.seconds, path="/v1/check", clients=plan.clients)
            return float(found["p95_ms"])

        for _ in range(plan.rounds):
            alone.append(p95())
            with browsing(gateway, plan, browsed):
                beside.append(p95())
    quiet, busy = statistics.median(alone), statistics.median(beside)
    return {
        "people": plan.people,
        "looks_s": plan.looks,
        "clients": plan.clients,
        "alone_p95_ms": alone,
        "beside_p95_ms": beside,
        "p95_times": round(busy / quiet, 3) if quiet else None,
        "pages": len(browsed.times),
        "page_p50_ms": round(1e3 * statistics.median(browsed.times), 1) if browsed.times else None,
        "statuses": {str(status): n for status, n in sorted(browsed.statuses.items())},
    }


@contextmanager
def browsing(gateway: Running, plan: Plan, browsed: Browsed) -> Iterator[None]:
    """People who open pages until the block ends."""
    done = threading.Event()
    people = [
        threading.Thread(target=_person, args=(gateway.root, plan, n, done, browsed))
        for n in range(plan.people)
    ]
    for person in people:
        person.start()
    try:
        yield
    finally:
        done.set()
        for person in people:
            person.join()


def _person(root: str, plan: Plan, number: int, done: threading.Event, browsed: Browsed) -> None:
    done.wait(plan.looks * number / max(plan.people, 1))  # they do not all click at once
    with httpx2.Client(base_url=root, timeout=60) as client:
        for path in _endless(PAGES, number):
            if done.is_set():
                return
            begin = time.perf_counter()
            found = client.get(path)
            browsed.times.append(time.perf_counter() - begin)
            browsed.statuses[found.status_code] += 1
            done.wait(plan.looks)


def _endless(paths: Sequence[str], first: int) -> Iterator[str]:
    place = first
    while True:
        yield paths[place % len(paths)]
        place += 1
