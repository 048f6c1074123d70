"""What all pages share: templates, static files, threads for queries, and sign-in."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any, Final, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from suffice import __version__
from suffice.access.accounts import Accounts
from suffice.access.keys import Principals
from suffice.access.sign_in import Attempts, Sessions
from suffice.access.visibility import Reader
from suffice.lab.monitor.gaps import Topic
from suffice.server.auth import needs_no_role
from suffice.server.gateway import Gateway
from suffice.server.ui.security import BASE, PageError, busy, secured
from suffice.settings import Settings
from suffice.sql.database import Database

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_KEEP = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """The files and their digests, by name."""

    files: dict[str, bytes]
    digests: dict[str, str]

    @classmethod
    def load(cls) -> StaticFiles:
        folder = resources.files("suffice.server.ui") / "static"
        files = {
            entry.name: entry.read_bytes()
            for entry in folder.iterdir()
            if entry.name.rpartition(".")[2] in _TYPES
        }
        digests = {name: hashlib.sha256(body).hexdigest()[:12] for name, body in files.items()}
        return cls(files, digests)

    def url(self, name: str) -> str:
        """The URL of a file, for templates: `static("site.css")`."""
        return f"{BASE}/static/{name}?v={self.digests[name]}"

    @needs_no_role
    async def serve(self, request: Request) -> Response:
        name = request.path_params["name"]
        body = self.files.get(name)
        if body is None:
            return secured(Response("Not found.", 404, media_type="text/plain"))
        current = request.query_params.get("v") == self.digests[name]
        response = Response(body, media_type=_TYPES[name.rpartition(".")[2]])
        response.headers["Cache-Control"] = _KEEP if current else "no-cache"
        return secured(response)


def percent(value: float | None, digits: int = 0) -> str:
    """0.914 → "91 %"; a missing value is a dash."""
    return "–" if value is None else f"{value * 100:.{digits}f} %"


def score(value: float | None) -> str:
    """0.91432 → "0.914"."""
    return "–" if value is None else f"{value:.3f}".rstrip("0").rstrip(".") or "0"


def count(value: float | None) -> str:
    """12345 → "12,345"."""
    return "–" if value is None else f"{value:,.10g}"


def moment(iso: str) -> str:
    """A log time for browsers without JavaScript: "2026-01-31 12:00 UTC"."""
    day, _, rest = iso.partition("T")
    return f"{day} {rest[:5]} UTC" if rest else day


def ticks(text: str) -> Markup:
    """Words between backticks as code; everything is escaped."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if odd % 2 else part
        for odd, part in enumerate(parts)
    )


def lit(text: str, sentences: Sequence[str]) -> Markup:
    """The text with these sentences in bold; everything is escaped."""
    shown = escape(text)
    for sentence in map(escape, sentences):
        shown = Markup(shown.replace(sentence, Markup("<strong>{}</strong>").format(sentence), 1))
    return shown


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "percent": percent,
    "score": score,
    "count": count,
    "moment": moment,
    "ticks": ticks,
    "lit": lit,
    "pair": lambda value: (value, value),
}


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


T = TypeVar("T")
_THREADS = 4
"""Threads for page queries: only a few, so that the site does not slow down the gateway."""
_WAITING = 64
_PASSWORDS = 2


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
    def settings(self) -> Settings:
        """The settings in force, which a reload may change."""
        return self.gateway.state.settings

    @property
    def database(self) -> Database:
        return self.gateway.library.store.database

    @property
    def sessions(self) -> Sessions:
        site, record = self.settings.server.site, self.settings.record
        return Sessions(self.database, site, settings=record)

    @property
    def accounts(self) -> Accounts:
        return Accounts(self.database, settings=self.settings.record)

    @property
    def principals(self) -> Principals:
        return Principals(self.database, settings=self.settings.record)

    @property
    def attempts(self) -> Attempts:
        return Attempts(self.database, self.settings.server.site.sign_in_attempts)

    @asynccontextmanager
    async def checking_passwords(self) -> AsyncIterator[None]:
        """A password check takes much memory and time on purpose: few at once, and not many may
        wait."""
        if self._password_checks >= _WAITING:
            raise _overloaded()
        self._password_checks += 1
        try:
            async with self._passwords:
                yield
        finally:
            self._password_checks -= 1

    async def run(self, call: Callable[[], T]) -> T:
        """Run blocking work in a thread of the site."""
        if self._waiting >= _WAITING:
            raise _overloaded()
        job = self._pool.submit(contextvars.copy_context().run, call)
        self._waiting += 1
        # Count the work until its thread is done, even if the page stops waiting.
        job.add_done_callback(partial(self._done, asyncio.get_running_loop()))
        return await asyncio.wrap_future(job)

    def _done(self, loop: asyncio.AbstractEventLoop, job: object) -> None:
        with suppress(RuntimeError):  # the event loop is already closed
            loop.call_soon_threadsafe(self._one_less)

    def _one_less(self) -> None:
        self._waiting -= 1

    async def run_long(self, call: Callable[[], T]) -> T:
        """Run work that reads the whole log in a thread of its own, one job at a time. It goes on
        if the page stops waiting. Raise if another job has not ended."""
        if self._long_job is not None and not self._long_job.done():
            raise busy("Another job is reading the whole log, such as a verification.")
        job = self._long_pool.submit(contextvars.copy_context().run, call)
        self._long_job = job
        return await asyncio.shield(asyncio.wrap_future(job))

    def close(self) -> None:
        for pool in (self._pool, self._long_pool):
            pool.shutdown(wait=False, cancel_futures=True)


def _overloaded() -> PageError:
    """Too many pages are waiting for a thread."""
    return PageError(503, "Busy", "Too many pages are being loaded.", "Try again shortly.")


def _environment(static: StaticFiles) -> Environment:
    environment = Environment(
        loader=PackageLoader("suffice.server.ui"),
        autoescape=True,  # documents and drafts are untrusted
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(static=static.url, version=__version__)
    environment.filters.update(FILTERS)
    return environment
