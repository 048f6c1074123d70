"""What all pages share: templates, static files, threads for queries, and sign-in."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from suffice import __version__
from suffice.access.accounts import Accounts
from suffice.access.attempts import Attempts
from suffice.access.sessions import Sessions
from suffice.server.gateway import Gateway
from suffice.server.ui import filters
from suffice.server.ui.static import StaticFiles
from suffice.server.ui.topic_cache import TopicCache

T = TypeVar("T")
_THREADS = 4
"""Threads for page queries: only a few, so that the site does not slow down the gateway."""
_WAITING = 64
_PASSWORDS = 2


class Overloaded(Exception):
    """Too many pages are waiting for a thread."""


class LongJobRunning(Exception):
    """Another long job is running."""


@dataclass(frozen=True, slots=True)
class NavItem:
    """A navigation entry, shown to people with this role."""

    title: str
    path: str
    role: str


class Site:
    """The site of a gateway. `close` stops its threads."""

    def __init__(self, gateway: Gateway, nav: tuple[NavItem, ...]) -> None:
        self.gateway = gateway
        self.nav = nav
        self.static = StaticFiles.load()
        self.templates = _environment(self.static)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="suffice-site")
        self._waiting = 0
        self._long_pool = ThreadPoolExecutor(1, thread_name_prefix="suffice-site-long")
        self._long_job: Future[Any] | None = None
        self.topics = TopicCache()
        self.checking_gaps = threading.Lock()
        self._passwords = asyncio.Semaphore(_PASSWORDS)
        self._password_checks = 0

    @property
    def sessions(self) -> Sessions:
        """The sessions, with the current settings, which a reload may change."""
        settings = self.gateway.state.settings
        database = self.gateway.library.store.database
        return Sessions(database, settings.server.site, settings=settings.record)

    @property
    def accounts(self) -> Accounts:
        settings = self.gateway.state.settings
        return Accounts(self.gateway.library.store.database, settings=settings.record)

    @property
    def attempts(self) -> Attempts:
        allowed = self.gateway.state.settings.server.site.sign_in_attempts
        return Attempts(self.gateway.library.store.database, allowed)

    @asynccontextmanager
    async def checking_passwords(self) -> AsyncIterator[None]:
        """A password check takes much memory and time on purpose: few at once, and not many may
        wait."""
        if self._password_checks >= _WAITING:
            raise Overloaded
        self._password_checks += 1
        try:
            async with self._passwords:
                yield
        finally:
            self._password_checks -= 1

    async def run(self, call: Callable[[], T]) -> T:
        """Run blocking work in a thread of the site."""
        if self._waiting >= _WAITING:
            raise Overloaded
        made = self._pool.submit(contextvars.copy_context().run, call)
        self._waiting += 1
        # Count the work until its thread is done, even if the page stops waiting.
        made.add_done_callback(partial(self._done, asyncio.get_running_loop()))
        return await asyncio.wrap_future(made)

    def _done(self, loop: asyncio.AbstractEventLoop, made: object) -> None:
        with suppress(RuntimeError):  # the event loop is already closed
            loop.call_soon_threadsafe(self._one_less)

    def _one_less(self) -> None:
        self._waiting -= 1

    async def run_long(self, call: Callable[[], T]) -> T:
        """Run work that reads the whole log in a thread of its own, one job at a time. It goes on
        if the page stops waiting. Raise `LongJobRunning` if another job has not ended."""
        if self._long_job is not None and not self._long_job.done():
            raise LongJobRunning
        made = self._long_pool.submit(contextvars.copy_context().run, call)
        self._long_job = made
        return await asyncio.shield(asyncio.wrap_future(made))

    def close(self) -> None:
        for pool in (self._pool, self._long_pool):
            pool.shutdown(wait=False, cancel_futures=True)


def _environment(static: StaticFiles) -> Environment:
    environment = Environment(
        loader=PackageLoader("suffice.server.ui"),
        autoescape=True,  # documents and drafts are untrusted
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(static=static.url, version=__version__)
    environment.filters.update(filters.FILTERS)
    return environment
