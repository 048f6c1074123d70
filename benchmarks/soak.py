"""The soak: many requests over many kinds of upstream fault, and `kill -9` under load.

Counted are texts that reach the client unchecked, anywhere in a reply, and acknowledged records
that the log does not hold afterwards. Both must be 0.
"""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from benchmarks.faults import ASIDE, FALSE, FAULTS, SAID, fault_of
from benchmarks.gateway import Running, start_gateway
from suffice.record.log import Log
from suffice.testing.upstream import ScriptedUpstream, says

MODES = ("buffer", "signal", "ungrounded")
_CLIENTS = 6
_QUESTION = "How many extra days of leave does an employee receive?"
_EVIDENCE = [{"text": "Every employee receives 2 extra days of leave per year."}]
_PATIENCE = 120.0
_NOT_RELEASED = ("WITHHOLD", "REVIEW", "CONFLICT")


def soak(requests: int, kills: int) -> dict[str, Any]:
    """Both parts; each with what it counted."""
    figures: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        if requests:
            figures["faults"] = faults(Path(folder), requests)
        if kills:
            figures["kills"] = killed(Path(folder), kills)
    return figures


def faults(folder: Path, requests: int) -> dict[str, Any]:
    """Requests over every fault in every mode, whole and streamed; with what came of them."""
    with ScriptedUpstream([fault_of]) as upstream, _serving(folder, upstream) as gateway:
        kinds = [*product(FAULTS, MODES, (False, True))]
        plan = [kinds[n % len(kinds)] for n in range(requests)]
        random.Random(7).shuffle(plan)
        statuses: Counter[str] = Counter()
        leaks: Counter[str] = Counter()
        start = time.perf_counter()

        def ask(kind: tuple[str, str, bool]) -> None:
            fault, mode, stream = kind
            status, text = _asked(gateway, fault, mode, stream)
            statuses[str(status)] += 1
            if unchecked(mode, stream, text):
                leaks[f"{fault}, {mode}, {'stream' if stream else 'whole'}"] += 1

        with ThreadPoolExecutor(_CLIENTS) as pool:
            list(pool.map(ask, plan))
        return {
            "requests": requests,
            "kinds": len(FAULTS),
            "seconds": round(time.perf_counter() - start, 1),
            "statuses": dict(sorted(statuses.items())),
            "unchecked": sum(leaks.values()),
            "where": dict(leaks),
            "alive": gateway.process.poll() is None,
        }


def unchecked(mode: str, stream: bool, text: str) -> bool:
    """Whether a reply contains text of the upstream that the mode does not allow to leave. In
    signal mode a text leaves before it is checked, and the end of the stream must take it back;
    without grounding it must be labelled."""
    if ASIDE in text:
        return True
    if SAID not in text:
        return False
    if mode == "ungrounded":
        labelled = "Unverified" in text or "longer than 100,000 characters" in text
        return not labelled and '"error"' not in text
    if mode == "signal" and stream:
        verdicts = [f'"verdict":"{one}"' for one in _NOT_RELEASED]
        return not any(one in text for one in verdicts) and '"error"' not in text
    return True


def killed(folder: Path, kills: int) -> dict[str, Any]:
    """Kill the gateway again and again under load; then compare the log with what was
    acknowledged."""
    acknowledged: list[str] = []
    with ScriptedUpstream([says(FALSE)]) as upstream:
        for _ in range(kills):
            before = len(acknowledged)
            with _serving(folder, upstream, "kills") as gateway:
                done = threading.Event()
                with ThreadPoolExecutor(_CLIENTS) as pool:
                    for _ in range(_CLIENTS):
                        pool.submit(_load, gateway, acknowledged, done)
                    _until(lambda: len(acknowledged) >= before + 20)  # noqa: B023
                    time.sleep(random.uniform(0, 0.5))
                    gateway.process.kill()
                    done.set()
    log = Log.open(str(folder / "kills.db"))
    try:
        found = log.verify(deep=True)
        kept = {entry.id for entry in log.entries()}
    finally:
        log.close()
        log.database.close()
    return {
        "kills": kills,
        "sqlite": sqlite3.sqlite_version,
        "acknowledged": len(acknowledged),
        "lost": len(set(acknowledged) - kept),
        "chain": found.whole,
        "records": len(kept),
    }


def _load(gateway: Running, acknowledged: list[str], done: threading.Event) -> None:
    while not done.is_set():
        try:
            with httpx2.Client(timeout=_PATIENCE) as client:
                reply = client.post(
                    f"{gateway.root}/ungrounded/v1/chat/completions", json=_body("false", False)
                )
        except httpx2.HTTPError:
            continue  # the process was killed, or is not there yet
        if record := reply.headers.get("x-suffice-record"):
            acknowledged.append(record)


def _asked(gateway: Running, fault: str, mode: str, stream: bool) -> tuple[int | str, str]:
    url = f"{gateway.root}/{mode}/v1/chat/completions"
    try:
        reply = httpx2.post(url, json=_body(fault, stream), timeout=_PATIENCE)
    except httpx2.HTTPError as problem:
        return type(problem).__name__, ""
    headers = " ".join(f"{name}: {value}" for name, value in reply.headers.items())
    return reply.status_code, _decoded(f"{headers}\n{reply.text}")


def _decoded(text: str) -> str:
    """The reply with the pieces of a stream joined, so that words split over events are found."""
    joined = []
    for line in text.splitlines():
        if line.startswith("data: {"):
            choices = json.loads(line[6:]).get("choices") or ()
            joined += [str(one.get("delta", {}).get("content") or "") for one in choices]
    return f"{text}\n{''.join(joined)}"


def _body(fault: str, stream: bool) -> dict[str, Any]:
    messages = [{"role": "user", "content": _QUESTION}]
    carried = {"evidence": _EVIDENCE, "from": "request"}
    return {"messages": messages, "user": fault, "stream": stream, "suffice": carried}


@contextmanager
def _serving(folder: Path, upstream: ScriptedUpstream, name: str = "soak") -> Iterator[Running]:
    route = {"upstream": upstream.url, "timeout": 2.0, "draft": {"retries": 0}}
    routes = {
        "buffer": route,
        "signal": {**route, "streaming": "signal"},
        "ungrounded": {**route, "grounding": False},
    }
    settings = {"server": {"routes": routes}}
    with start_gateway(folder, name, settings) as gateway:
        yield gateway


def _until(true: Any) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
