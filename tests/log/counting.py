"""What a process of its own does in a test: make requests that count against a limit."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing import Queue

from suffice.access.quotas import Over, Usage
from suffice.sql.database import Database


def taken(desk: Usage, holder: str, limits: Mapping[str, float]) -> Over | None:
    return desk.take({holder: limits}).over


def take(place: str, times: int, limits: Mapping[str, float], told: Queue[int]) -> None:
    """Tell how many of the requests were within the limits."""
    desk = Usage(Database.open(place))
    told.put(sum(taken(desk, "a", limits) is None for _ in range(times)))
