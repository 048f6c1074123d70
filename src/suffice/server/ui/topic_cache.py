"""Keeps the topics of the knowledge gaps: grouping them runs the embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from suffice.access.visibility import Reader
from suffice.learn.monitor.gaps import Topic

_READERS = 32

Position = tuple[int, str]
"""The last record that changes the topics, and the hour: topics are counted by time."""


class TopicCache:
    """The topics of each reader at one position of the log. They are computed for one reader at a
    time; the others wait without holding a thread."""

    def __init__(self) -> None:
        self._position: Position | None = None
        self._topics: dict[Reader, list[Topic]] = {}
        self._computing = asyncio.Lock()

    async def get(
        self, position: Position, reader: Reader, compute: Callable[[], Awaitable[list[Topic]]]
    ) -> list[Topic]:
        async with self._computing:
            if position != self._position or len(self._topics) >= _READERS:
                # Drop everything: what was erased from the log must not stay here either.
                self._position = position
                self._topics.clear()
            if reader not in self._topics:
                self._topics[reader] = await compute()
            return self._topics[reader]
