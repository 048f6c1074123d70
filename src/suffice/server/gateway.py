"""The gateway: what is opened once per process, and the routes of the current settings.

A reload opens the new routes, then replaces the old ones at once. Requests in progress keep theirs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import httpx2

from suffice.access.identity import Identities
from suffice.access.keys import ALL, Principal, Principals
from suffice.access.quotas import Ledger, Usage
from suffice.engine import Engine
from suffice.errors import SettingsError, SufficeError
from suffice.evidence.library import Library
from suffice.lab.monitor.monitor import Monitor
from suffice.lab.monitor.series import decision_index
from suffice.lab.monitor.worker import (
    DeepChecks,
    MonitorWorker,
    open_deep_verifier,
    stronger_tier,
)
from suffice.log.index import Indexing
from suffice.log.log import Log
from suffice.log.suspension import Guarantee, Status
from suffice.server.auth import Authenticator, is_local
from suffice.server.errors import ApiError, bad, busy
from suffice.server.inference_pool import InferencePool
from suffice.server.openai.verdict_cache import VerdictCache
from suffice.server.rate_limiter import RateLimiter
from suffice.server.route import Route, open_route
from suffice.server.telemetry.stats import RequestStats, StatsListener
from suffice.settings import Settings
from suffice.settings.server import DEFAULT
from suffice.webhooks import Outbox, Webhook, WebhookWorker, gap_webhooks, open_webhooks

_WAITING = 32
"""Maximum number of queued jobs. Their files are held in memory."""
Step = tuple[str, int, int]
Work = Callable[[Callable[[str, int, int], None]], Any]
"""A job's function. It receives a progress callback."""


class Stopped(SufficeError):
    """The gateway is shutting down. Committed changes are kept, and a later run continues."""


class Job:
    """A job in progress. `steps` yields its progress, each step once, then `None`; `result` is the
    outcome."""

    def __init__(self) -> None:
        self.steps: asyncio.Queue[Step | None] = asyncio.Queue()
        self.result: Future[Any]


class DocumentJobs:
    """Runs jobs one at a time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="documents")
        self._waiting = 0
        self._closing = False

    def start(self, work: Work) -> Job:
        """Start or queue a job; raise 429 if the queue is full. A disconnect does not cancel it."""
        if self._waiting >= _WAITING:
            raise busy("Too many document changes are queued. Try again later.", 10)
        job, loop = Job(), asyncio.get_running_loop()

        def say(step: Step | None) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(job.steps.put_nowait, step)

        last: Step | None = None

        def progress(what: str, done: int, total: int) -> None:
            nonlocal last
            if self._closing:
                raise Stopped("The gateway stopped before the change was complete.")
            if (what, done, total) != last:
                last = (what, done, total)
                say(last)

        def ended(_: Future[Any]) -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._one_less)
            say(None)

        self._waiting += 1
        job.result = self._thread.submit(work, progress)
        job.result.add_done_callback(ended)
        return job

    def _one_less(self) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Stop the running job at its next step and drop the queued jobs."""
        self._closing = True
        self._thread.shutdown(wait=False, cancel_futures=True)


NOT_RELOADED = "The settings were not reloaded; the old ones stay in effect"
_NOT_BY_RELOAD = (
    "store",
    "index",
    "index_engine",
    "qdrant",
    "store_wait_seconds",
    "embedder",
    "verifier",
    "record",
    "monitor.enabled",
    "server.host",
    "server.port",
    "server.site.enabled",
    "server.workers",
    "server.limits.header_bytes",
    "server.limits.head_seconds",
)
"""Settings that need a restart. A reload that changes them is refused."""


@dataclass(frozen=True, slots=True)
class State:
    """The part of the gateway that a reload replaces."""

    settings: Settings
    routes: dict[str, Route]


class Gateway:
    """The state of a gateway process. `host` is the address it listens on: on a loopback address,
    keys are optional unless the settings require them."""

    def __init__(self, library: Library, settings: Settings, host: str) -> None:
        self.library = library
        self._local = is_local(host)
        self.work = InferencePool(settings.server.capacity)
        self.limits = RateLimiter(Usage(library.store.database))
        self.document_jobs = DocumentJobs()
        self.ledger = Ledger(library.store.database)
        self.cache = VerdictCache(library)
        self.watches: list[StatsListener] = []
        self.log = None if settings.record.enabled == "never" else self._log(settings)
        similar = settings.search.min_dense_similarity
        self.indexing = Indexing(decision_index(library.store.database, similar))
        self.client = httpx2.AsyncClient(
            timeout=None,
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=100),
        )
        self.engine = Engine(settings, library, self.log, shared=True)
        self.authenticator = self._authenticator(settings)
        self._changing = threading.Lock()
        self.monitor = self._monitor(settings)
        self.guarantees = _guarantees(self.monitor)
        self.state = self._opened(settings)
        self.webhooks = WebhookWorker(
            Outbox(library.store.database), self._webhooks(settings, self.state)
        )
        self.monitoring = self._monitoring(settings)

    def _authenticator(self, settings: Settings) -> Authenticator:
        """Open to all callers only if the address is local and the settings require no keys."""
        needed = settings.server.keys == "required" or not self._local
        principals = Principals(self.library.store.database)
        forwarded = settings.server.keyless_forwarded
        return Authenticator(principals, not needed, forwarded, Identities.of(settings))

    def _log(self, settings: Settings) -> Log:
        return Log(self.library.store.database, settings.record)

    def _opened(self, settings: Settings) -> State:
        routes = {
            name: open_route(name, route, settings, self.engine, self.client)
            for name, route in settings.server.routes.items()
        }
        return State(settings, routes)

    # Monitoring

    def _monitor(self, settings: Settings) -> Monitor | None:
        if not settings.monitor.enabled or self.log is None:
            return None
        return Monitor.of(self.log, settings, deep=bool(stronger_tier(settings)))

    def _monitoring(self, settings: Settings) -> MonitorWorker | None:
        if self.monitor is None:
            return None
        log, embedder = self.monitor.log, self.engine.embedder

        def open_deep() -> DeepChecks:
            return DeepChecks(log, embedder, open_deep_verifier(settings))

        deep = open_deep if stronger_tier(settings) else None
        return MonitorWorker(self.monitor, deep, lambda: not self.work.jobs, self._monitored)

    def _monitored(self, monitor: Monitor) -> None:
        """Called after each update, in any of the processes: apply a changed guarantee, and index
        new decisions."""
        self._guaranteed(monitor)
        self.indexing.catch_up()

    def _guaranteed(self, monitor: Monitor) -> None:
        guarantees = _guarantees(monitor)
        with self._changing:
            if monitor is not self.monitor or guarantees == self.guarantees:
                return
            if _suspended(guarantees) != _suspended(self.guarantees):
                settings = self.state.settings
                state = self._opened(settings)
                self.webhooks.change(self._webhooks(settings, state))
                self.state = state
            # Last: if the routes could not be opened, the next update tries again.
            self.guarantees = guarantees

    def _webhooks(self, settings: Settings, state: State) -> dict[str, Webhook]:
        """The configured webhooks, including the `verdict.gap_webhook` of each route."""
        named = open_webhooks(settings.server.webhooks)
        if self.log is None:
            if named or settings.server.cache.enabled:
                raise SettingsError(
                    "server.webhooks and server.cache need records in the log.",
                    remedy="Set record.enabled to auto, or remove them.",
                )
            return {}
        setups: dict[str, set[str]] = {}
        for route in state.routes.values():
            url, recorder = route.own.verdict.gap_webhook, route.recorder
            if url and recorder and recorder.filing.setup:
                setups.setdefault(url, set()).add(recorder.filing.setup.id)
        return {**named, **gap_webhooks(setups)}

    def reload(self, read: Callable[[], Settings]) -> str:
        """Apply new settings and return a status message. Invalid settings change nothing."""
        with self._changing:
            return self._reloaded(read)

    def _reloaded(self, read: Callable[[], Settings]) -> str:
        old = self.state.settings
        try:
            new = read()
            for group in _NOT_BY_RELOAD:
                value = attrgetter(group)
                if value(new) != value(old):
                    raise SettingsError(f"'{group}' cannot be changed without a restart.")
            monitor = self._monitor(new)
            guarantees = _guarantees(monitor)
            state = self._opened(new)
            authenticator = self._authenticator(new)
            webhooks = self._webhooks(new, state)
            if monitor and self.monitoring:
                self.monitoring.change(monitor)
        except SufficeError as problem:
            return f"{NOT_RELOADED}: {problem}"
        self.state, self.authenticator, self.monitor = state, authenticator, monitor
        self.guarantees = guarantees
        self.work.change(new.server.capacity)
        self.webhooks.change(webhooks)
        return f"The settings were reloaded: {len(self.state.routes)} routes."

    def route(self, named: str, model: object, caller: Principal) -> Route:
        """The route of a request: the one named in its path, else the one that maps its model, else
        the default. A forbidden route gives the same error as a missing one."""
        routes = self.state.routes
        if not isinstance(model, str | None):
            raise bad("'model' must be a string.", "model")
        if named and named not in routes and ALL in caller.routes:
            raise ApiError(404, f"There is no route '{named}'.", "route_not_found")
        by_model = (name for name, one in routes.items() if model in one.settings.models)
        name = named or next((one for one in by_model if caller.may_call(one)), DEFAULT)
        route = routes.get(name)
        # A key for some routes must not reveal which other routes exist.
        if route is None or not self.may(caller, route):
            raise ApiError(403, f"This key may not call the route '{name}'.", "no_right")
        return route

    def may(self, caller: Principal, route: Route) -> bool:
        return caller.may_call(route.name) and caller.may_use(route.settings.collection)

    @property
    def breakers(self) -> dict[str, dict[str, str]]:
        """The state of each circuit breaker, by route and upstream."""
        return {name: states for name, one in self.state.routes.items() if (states := one.states)}

    def tell(self, stats: RequestStats) -> None:
        """Pass the statistics of a finished request to all listeners."""
        stats.end()
        for watch in self.watches:
            watch(stats)
        if stats.verdicts or stats.gates:
            self.webhooks.wake()

    async def close(self) -> None:
        self.document_jobs.close()
        self.library.reader.close()
        self.indexing.close()
        await asyncio.to_thread(self.webhooks.close)
        if self.monitoring is not None:
            await asyncio.to_thread(self.monitoring.close)
        await self.client.aclose()
        self.work.close()
        await asyncio.to_thread(self.limits.close)
        await asyncio.to_thread(self.ledger.close)
        if self.log is not None:
            self.log.close()


def _guarantees(monitor: Monitor | None) -> Mapping[str, Guarantee]:
    """The guarantees of the certificates in the settings, by file, as the store has them now."""
    if monitor is None or not monitor.certificates:
        return {}
    state = monitor.state
    return {path: state.guarantee(one) for path, one in monitor.certificates.items()}


def _suspended(guarantees: Mapping[str, Guarantee]) -> frozenset[str]:
    """The files whose guarantee is suspended."""
    return frozenset(path for path, state in guarantees.items() if state.status is Status.SUSPENDED)
