"""Samples a server's memory and the latency of its `/healthz` while something else loads it."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Sequence
from statistics import median
from types import TracebackType
from typing import Any, Self

from benchmarks.servers import HOST, Running

_EVERY = 0.1
_MEMORY_EVERY = 5
"""Memory is read once in so many probes."""
_LATE = 30.0


class Watch:
    """Probes a server from a thread, from entry to exit."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._sizes: list[int] = []
        self._times: list[float] = []
        self._failed = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def memory(self) -> dict[str, Any]:
        return grown(self._sizes)

    def health(self) -> dict[str, Any]:
        return latency(self._times, self._failed)

    def _look(self) -> None:
        probe = 0
        while not self._done.is_set():
            if probe % _MEMORY_EVERY == 0:
                self._sizes.append(self._server.memory())
            probe += 1
            start = time.perf_counter()
            if self._healthy():
                self._times.append(time.perf_counter() - start)
            else:
                self._failed += 1
            self._done.wait(_EVERY)

    def _healthy(self) -> bool:
        """Ask over a new connection, as an orchestrator does."""
        connection = http.client.HTTPConnection(HOST, self._server.port, timeout=_LATE)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def grown(sizes: Sequence[int]) -> dict[str, Any]:
    """How memory grew: the median of the last third against that of the first third."""
    third = max(len(sizes) // 3, 1)
    first, last = (median(part or [0]) for part in (sizes[:third], sizes[-third:]))
    return {
        "first_third": round(first),
        "last_third": round(last),
        "growth_percent": round(100 * (last - first) / first, 1) if first else None,
        "peak": max(sizes, default=0),
    }


def latency(times: Sequence[float], failed: int) -> dict[str, Any]:
    """Percentiles in milliseconds; `failed` counts probes that got no reply, or another status."""
    ordered = sorted(times)

    def at(share: float) -> float | None:
        if not ordered:
            return None
        return round(1e3 * ordered[min(int(share * len(ordered)), len(ordered) - 1)], 1)

    return {
        "probes": len(ordered) + failed,
        "failed": failed,
        "p50_ms": at(0.5),
        "p99_ms": at(0.99),
        "max_ms": at(1.0),
    }
