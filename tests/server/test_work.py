"""A job is counted as long as a thread has it, and yields to the event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable

import pytest

from suffice.server.inference_pool import InferencePool
from suffice.settings import WorkSettings


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def test_what_nobody_waits_for_still_has_its_thread() -> None:
    async def left_behind() -> None:
        work, free = InferencePool(WorkSettings(threads=2, max_queued=1)), threading.Event()
        calls = [asyncio.create_task(work.run(free.wait)) for _ in range(3)]
        await until(lambda: work.jobs == 3)
        assert work.full
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await until(lambda: work.jobs == 2)  # the third never had a thread
        free.set()
        await until(lambda: work.jobs == 0)
        work.close()

    asyncio.run(left_behind())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no priority for a thread")
def test_inference_yields_to_the_event_loop() -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, 0)

    async def both() -> tuple[int, int]:
        work = InferencePool(WorkSettings(threads=1))
        found = await work.run(priority)
        work.close()
        return found, priority()

    inference, loop = asyncio.run(both())
    assert inference > loop
