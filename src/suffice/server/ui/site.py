"""What all pages share: templates, static files, threads for queries, and sign-in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from suffice import __version__
from suffice.access.accounts import Accounts
from suffice.access.attempts import Attempts
from suffice.access.sessions import Sessions
from suffice.server.gateway import Gateway
from suffice.server.ui import filters
from suffice.server.ui.static import StaticFiles

T = TypeVar("T")
_THREADS = 4
"""Threads for page queries: only a few, so that the site does not slow down the gateway."""
_WAITING = 64
_PASSWORDS = 2


class Overloaded(Exception):
    """Too many pages are waiting for a thread."""


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
        self._waiting += 1
        context = contextvars.copy_context()
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, partial(context.run, call))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


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
