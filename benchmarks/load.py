"""Load generator in a separate process: clients over plain sockets, with little overhead.

Run: python -m benchmarks.load, with a `Job` as JSON on standard input; it prints the results as
JSON. Closed load: a fixed number of clients, each sending its next request when the last is
answered. Open load (`rate`): a fixed number of requests per second, regardless of responses.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from benchmarks.hostile import hostile_requests, send_hostile

_IDLE = 5.0
_SERVED = ("SERVE", "CAVEAT", "CONFLICT")


@dataclass(frozen=True, slots=True)
class Job:
    host: str
    port: int
    path: str
    bodies: list[str]
    seconds: float
    clients: int = 1
    rate: float = 0.0
    warm: float = 0.0
    checked: bool = False
    """Each answer must carry a verdict on a draft that was read in full."""
    most: int = 4096
    """Limit of concurrent requests in an open load; further requests are not sent, but counted."""
    hostile: float = 0.0
    """Hostile requests for each ordinary request, in addition to them, in an open load."""


@dataclass(slots=True)
class LoadResult:
    """The results of a job."""

    times: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    unchecked: int = 0
    unsent: int = 0
    waits: int = 0
    """Number of 429 responses without a Retry-After."""
    hostile: dict[str, Counter[str]] = field(default_factory=dict)
    """Replies to hostile requests by kind and status."""

    @property
    def server_errors(self) -> int:
        """Number of 5xx responses except 503, which refuses a request for lack of capacity."""
        counted = sum((*self.hostile.values(), self.statuses), Counter[str]())
        return sum(n for status, n in counted.items() if status[0] == "5" and status != "503")

    def as_json(self, seconds: float) -> dict[str, Any]:
        ordered = sorted(self.times)

        def share(part: float) -> float:
            place = min(int(part * len(ordered)), len(ordered) - 1)
            return round(1e3 * ordered[place], 3) if ordered else 0.0

        return {
            "seconds": round(seconds, 3),
            "answered": len(ordered),
            "per_s": round(len(ordered) / seconds, 2),
            "p50_ms": share(0.5),
            "p95_ms": share(0.95),
            "p99_ms": share(0.99),
            "statuses": dict(sorted(self.statuses.items())),
            "verdicts": dict(sorted(self.verdicts.items())),
            "unchecked": self.unchecked,
            "unsent": self.unsent,
            "no_retry_after": self.waits,
            "hostile": {kind: dict(found) for kind, found in self.hostile.items()},
            "server_errors": self.server_errors,
        }


class Connection:
    """One keep-alive connection, reopened if it breaks."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, body: bytes) -> tuple[int, bytes, bytes]:
        """Status, head and body of the reply."""
        job = self._job
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                job.host, job.port, limit=1 << 24
            )
        assert self._reader is not None
        head = (
            f"POST {job.path} HTTP/1.1\r\nhost: {job.host}:{job.port}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        headers = await self._reader.readuntil(b"\r\n\r\n")
        lower = headers.lower()
        if b"transfer-encoding: chunked" in lower:
            reply = await self._chunks()
        else:
            length = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0])
            reply = await self._reader.readexactly(length)
        if b"connection: close" in lower:
            self.close()
        return int(headers.split(b" ", 2)[1]), lower, reply

    async def _chunks(self) -> bytes:
        assert self._reader is not None
        parts = []
        while size := int((await self._reader.readline()).partition(b";")[0], 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readline()
        return b"".join(parts)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


async def send(job: Job, result: LoadResult, connection: Connection, body: bytes) -> None:
    """Send one request and record the result."""
    start = time.perf_counter()
    try:
        status, head, reply = await connection.post(body)
    except (OSError, asyncio.IncompleteReadError, ValueError) as problem:
        connection.close()
        result.statuses[type(problem).__name__] += 1
        return
    result.statuses[str(status)] += 1
    if status == 429 and b"retry-after:" not in head:
        result.waits += 1
    if status == 200:
        result.times.append(time.perf_counter() - start)
        if job.checked:
            _count_verdict(reply, result)


def _count_verdict(reply: bytes, result: LoadResult) -> None:
    suffice = json.loads(reply).get("suffice") or {}
    verdict = str(suffice.get("verdict"))
    result.verdicts[verdict] += 1
    if verdict in _SERVED and suffice.get("share_read") != 1.0:
        result.unchecked += 1
    if verdict == "None":
        result.unchecked += 1


async def closed_loop(job: Job, result: LoadResult, seconds: float) -> float:
    start = time.perf_counter()
    end = start + seconds
    bodies = [body.encode() for body in job.bodies]

    async def client(n: int) -> None:
        connection, place = Connection(job), n
        while time.perf_counter() < end:
            await send(job, result, connection, bodies[place % len(bodies)])
            place += job.clients
        connection.close()

    await asyncio.gather(*(client(n) for n in range(job.clients)))
    return time.perf_counter() - start


async def open_loop(job: Job, result: LoadResult, seconds: float) -> float:
    """Open load: each request uses a free connection or a new one."""
    kinds, attacks = cycle(hostile_requests().items() if job.hostile else ()), 0
    start, place = time.perf_counter(), 0
    bodies = [body.encode() for body in job.bodies]
    free: list[tuple[Connection, float]] = []
    tasks: set[asyncio.Task[None]] = set()

    def begin(work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def attack() -> None:
        kind, request = next(kinds)
        found = await send_hostile(job.host, job.port, job.path, request)
        result.hostile.setdefault(kind, Counter())[found] += 1

    async def one(body: bytes) -> None:
        connection, used = free.pop() if free else (Connection(job), 0.0)
        if time.perf_counter() - used > _IDLE:
            connection.close()  # reopened, as clients do after a long idle time
        await send(job, result, connection, body)
        free.append((connection, time.perf_counter()))

    while (now := time.perf_counter() - start) < seconds:
        while place < now * job.rate:
            if len(tasks) < job.most:
                begin(one(bodies[place % len(bodies)]))
            else:
                result.unsent += 1
            place += 1
            while attacks < place * job.hostile:
                begin(attack())
                attacks += 1
        await asyncio.sleep(min(0.005, 1 / job.rate))
    if tasks:
        await asyncio.wait(tasks, timeout=120)
    result.statuses["unanswered"] += len(tasks)
    for connection, _ in free:
        connection.close()
    return time.perf_counter() - start


async def run(job: Job) -> dict[str, Any]:
    way = open_loop if job.rate else closed_loop
    if job.warm:
        await way(job, LoadResult(), job.warm)
    result = LoadResult()
    return result.as_json(await way(job, result, job.seconds))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Job(**json.load(sys.stdin))))))
