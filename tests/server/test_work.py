"""What is under way is counted for as long as a thread has it."""

from __future__ import annotations

import asyncio
import threading

from suffice.server.work import Work
from suffice.settings import WorkSettings


def test_what_nobody_waits_for_still_has_its_thread() -> None:
    async def left_behind() -> None:
        work, free = Work(WorkSettings(threads=2, queue=1)), threading.Event()
        calls = [asyncio.create_task(work.run(free.wait)) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert work.waiting == 3
        assert work.full
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.sleep(0.1)
        assert work.waiting == 2  # the third never had one
        free.set()
        await asyncio.sleep(0.1)
        assert work.waiting == 0
        work.close()

    asyncio.run(left_behind())
