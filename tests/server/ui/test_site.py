"""The threads of the site: work counts until it has ended, and long jobs have their own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from suffice.server.ui import site as site_module
from suffice.server.ui.security import PageError
from suffice.server.ui.site import Site
from tests.waiting import PATIENCE


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site(cast(Any, None), ())
    yield made
    made.close()


class Slow:
    """Work that ends when it is told to."""

    def __init__(self) -> None:
        self.started, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.started.set()
        assert self.go_on.wait(PATIENCE)


async def abandoned(run: Callable[[Slow], Any], work: Slow) -> None:
    """Start work and stop waiting for it."""
    task = asyncio.ensure_future(run(work))
    await asyncio.to_thread(work.started.wait, PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_abandoned_work_counts_until_its_thread_is_done(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_module, "_WAITING", 1)

    async def scenario() -> None:
        work = Slow()
        await abandoned(site.run, work)
        with pytest.raises(PageError, match="Too many pages"):
            await site.run(lambda: None)
        work.go_on.set()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await site.run(lambda: None)
                except PageError:
                    await asyncio.sleep(0.01)

    asyncio.run(scenario())


def test_one_long_job_runs_at_a_time_and_holds_no_thread_of_the_pages(site: Site) -> None:
    async def scenario() -> None:
        work = Slow()
        await abandoned(site.run_long, work)
        with pytest.raises(PageError, match="Another job"):
            await site.run_long(lambda: 1)
        assert await site.run(lambda: 2) == 2
        work.go_on.set()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    assert await site.run_long(lambda: 3) == 3
                    return
                except PageError:
                    await asyncio.sleep(0.01)

    asyncio.run(scenario())
